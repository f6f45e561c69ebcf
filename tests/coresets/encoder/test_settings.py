import pytest

from sclcs._core.errors import InputError, UnknownNameError
from sclcs.coresets.encoder import PRESETS, EncoderSettings, encoder_settings


def test_presets_are_those_of_the_method():
    paper, official = PRESETS["paper"], PRESETS["official"]
    assert (paper.attention, paper.scale, paper.qk_bias, paper.mlp) == (
        "softmax",
        "sqrt_dim",
        False,
        False,
    )
    assert (official.attention, official.scale, official.qk_bias, official.mlp) == (
        "logits",
        "sqrt_in",
        True,
        True,
    )
    assert (paper.denominator, official.denominator) == ("negatives", "negatives+self")
    assert (paper.power, official.power) == (2, 1)
    assert (paper.tracking, official.tracking) == ("every-epoch", "logged")
    assert (paper.epochs, official.epochs) == (200, 1000)
    assert {p.heads for p in PRESETS.values()} == {16}
    assert {p.dim for p in PRESETS.values()} == {32}


def test_mha_changes_nothing_but_the_fusion():
    assert PRESETS["mha"] == encoder_settings("paper", fusion="uniform")


def test_an_unknown_setting_names_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"Unknown encoder setting hedas; .*heads, dim"):
        encoder_settings("paper", hedas=4)


def test_an_unknown_preset_names_the_known_ones():
    with pytest.raises(UnknownNameError, match="paper, official, mha, mha-published"):
        encoder_settings("papr")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attention", "hard"),
        ("scale", "none"),
        ("denominator", "all"),
        ("heads", 0),
        ("dim", 2.5),
        ("epochs", True),
        ("batch_subjects", 1),
        ("temperature", 0),
        ("dropout", 1.0),
        ("power", 3),
        ("learning_rate", -1),
        ("learning_rate", "fast"),
        ("burn_in", 200),
        ("last_scored_epoch", 201),
    ],
)
def test_an_impossible_value_is_named(name, value):
    with pytest.raises(InputError, match=name):
        EncoderSettings(**{name: value})


def test_per_head_values_need_the_rest_of_the_ablation():
    with pytest.raises(InputError, match="published ablation"):
        encoder_settings("paper", values="per-head")


def test_settings_survive_json():
    official = PRESETS["official"]
    assert EncoderSettings(**official.to_dict()) == official


def test_which_epochs_count():
    settings = EncoderSettings(epochs=10, burn_in=3, last_scored_epoch=8)
    assert [e for e in range(1, 11) if settings.counts(e)] == [4, 5, 6, 7, 8]
