import pytest
from encoder_cohorts import make_cohort

from sclcs._core.errors import InputError
from sclcs.coresets.encoder import train_encoder
from sclcs.report.encoder_figure import draw_attention, draw_head_weights, save_encoder_figures

QUICK = {"heads": 3, "dim": 4, "batch_subjects": 6}


@pytest.fixture(scope="module")
def cohort():
    return make_cohort({f"s{i}": 3 for i in range(6)})


@pytest.mark.parametrize(("preset", "epochs"), [("paper", 3), ("official", 40), ("mha", 3)])
def test_all_pictures_are_drawn(cohort, tmp_path, preset, epochs):
    run = train_encoder(cohort, preset, epochs=epochs, **QUICK)
    paths = save_encoder_figures(run, tmp_path / "deep" / "folder", cohort)
    assert [path.name for path in paths] == [
        "encoder_scores.png",
        "encoder_convergence.png",
        "encoder_heads.png",
        "encoder_attention.png",
    ]
    assert all(path.stat().st_size > 5000 for path in paths)


def test_scores_that_do_not_vary_can_be_drawn(cohort, tmp_path):
    run = train_encoder(cohort, epochs=2, learning_rate=0.0, **QUICK)
    assert len(save_encoder_figures(run, tmp_path)) == 3


def test_attention_shows_both_ends_over_epochs(cohort):
    run = train_encoder(cohort, epochs=5, **QUICK)
    figure = draw_attention(run, cohort)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == [f"epoch {epoch}" for epoch in (0, 1, 2, 5)]
    assert len(draw_head_weights(run).axes[0].lines) == 3 + 1
    with pytest.raises(InputError, match="another cohort"):
        draw_attention(run, cohort.take(range(10)))
