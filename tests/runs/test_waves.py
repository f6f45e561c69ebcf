"""Runs whose matrices do not all fit on the disk: a few operators after others, the same tables."""

import numpy as np
import pytest
from run_cohorts import OPERATORS, small_cohort
from test_budgeted import SETTINGS as BUDGETED, groups

from sclcs._core.errors import InputError
from sclcs.run_folder import RunFolder, collect_config, verify_path
from sclcs.runs import StoppedInStageError, carry_out, waves
from sclcs.runs.order import RunOrder

pytestmark = pytest.mark.usefixtures("quick_plan")

MORE = ["pdist_cosine", "pdist_chebyshev", "cov_LedoitWolf"]
EXACT = {
    "spis": [*OPERATORS, *MORE],
    "task": ["subject", "diagnosis"],
    "criteria": ["reliability", "sex"],
    "bootstrap": 20,
    "permutations": 50,
    "top_k": 1,
}
OF_ONE = 36 * 5 * 5 * 4  # bytes: samples, five regions


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return small_cohort().save(tmp_path_factory.mktemp("waves") / "c.zarr")


@pytest.fixture(scope="module")
def whole(cohort, tmp_path_factory):
    """The tables of a run that keeps everything."""
    return tables(run(cohort, tmp_path_factory.mktemp("whole") / "RUN", keep="all")[0])


def config(cohort, out, settings=EXACT, **changes):
    asked = {"cohort": str(cohort), "out": str(out), "keep": "none", "disk": "7500"}
    return collect_config(None, asked | settings | changes)


def run(cohort, out, settings=EXACT, **changes):
    return carry_out(config(cohort, out, settings, **changes))


def tables(folder):
    """Return the bytes of everything that a run found."""
    kinds = ("core", "ranking", "confirmed", "card", "answer", "geometry")
    files = [file for kind in kinds for file in sorted(folder.path.glob(f"{kind}*"))]
    assert any(file.name == "ranking.csv" for file in files)
    return {file.name: file.read_bytes() for file in files}


@pytest.fixture
def computed(monkeypatch):
    """Collect what is computed in waves."""
    seen, compute = [], waves.compute_matrices

    def watched(order, path, operators, *rest):
        seen.append(list(operators))
        return compute(order, path, operators, *rest)

    monkeypatch.setattr(waves, "compute_matrices", watched)
    return seen


@pytest.mark.parametrize("keep", ["winners", "none"])
def test_a_few_after_others_they_give_the_same_tables(cohort, whole, tmp_path, computed, keep):
    folder, _ = run(cohort, tmp_path / "RUN", keep=keep)
    assert computed == [
        ["cov_EmpiricalCovariance", "cov_LedoitWolf"],
        ["pec"],
        ["pdist_cityblock", "pdist_cosine"],
        ["pdist_chebyshev"],
    ]
    assert tables(folder) == whole
    assert not folder.scores_folder.exists()
    kept = folder.whole_matrices.operators
    assert kept == [] if keep == "none" else 1 <= len(kept) <= 2
    assert verify_path(folder.path).findings == []
    assert run(cohort, tmp_path / "RUN", keep=keep)[1] == []


def test_the_disk_never_holds_more_than_is_allowed(cohort, tmp_path, monkeypatch):
    held, drop = [], waves.drop_from

    def watched(store, operators):
        held.append(list(store.operators))
        return drop(store, operators)

    monkeypatch.setattr(waves, "drop_from", watched)
    run(cohort, tmp_path / "RUN")
    assert max(map(len, held)) == 7500 // OF_ONE == 2


def test_stopped_between_waves_nothing_is_computed_twice(
    cohort, whole, tmp_path, computed, monkeypatch
):
    ask = waves._ask

    def stopping(order, wave, inquiries):
        if len(computed) == 3:
            raise KeyboardInterrupt
        return ask(order, wave, inquiries)

    monkeypatch.setattr(waves, "_ask", stopping)
    with pytest.raises(StoppedInStageError):
        run(cohort, tmp_path / "RUN")
    folder = RunFolder(tmp_path / "RUN")
    assert sorted(file.stem for file in folder.scores_folder.iterdir()) == [
        "cov_EmpiricalCovariance",
        "cov_LedoitWolf",
        "pec",
    ]
    damaged = folder.scores_folder / "pec.npz"
    damaged.write_bytes(damaged.read_bytes()[:-40])
    computed.clear()
    monkeypatch.setattr(waves, "_ask", ask)
    folder, _ = run(cohort, tmp_path / "RUN")
    assert [name for wave in computed for name in wave] == [
        "pec",  # whose file is damaged
        "pdist_cityblock",
        "pdist_cosine",
        "pdist_chebyshev",
    ]
    assert tables(folder) == whole


def test_a_changed_question_asks_all_of_them_again(cohort, tmp_path, computed):
    run(cohort, tmp_path / "RUN")
    computed.clear()
    folder, done = run(cohort, tmp_path / "RUN", permutations=60)
    assert len(computed) == 4
    assert "compute-all" not in done
    fresh, _ = run(cohort, tmp_path / "FRESH", keep="all", permutations=60)
    assert tables(folder) == tables(fresh)


@pytest.mark.slow
def test_a_budget_buys_the_same(tmp_path, computed):
    cohort = groups().save(tmp_path / "c.zarr")
    whole, _ = run(cohort, tmp_path / "WHOLE", BUDGETED, keep="all")
    assert computed == []
    folder, _ = run(cohort, tmp_path / "RUN", BUDGETED, disk="20K")
    assert len(computed) > 2
    assert tables(folder) == tables(whole)
    cost = folder.confirmation()["costs"]
    assert cost["scoring"] > 0
    assert cost["estimate"] >= 0


def test_where_all_fits_or_stays_there_are_no_waves(cohort, tmp_path):
    for changes in ({"disk": "1G"}, {"keep": "all"}, {"full_benchmark": True}, {"ratio": 0.5}):
        order = RunOrder(
            RunFolder(tmp_path / "RUN"),
            config(cohort, tmp_path / "RUN", **changes),
            small_cohort(),
        )
        assert not waves.in_waves(order)


def test_too_little_disk_is_said_before_any_work(cohort, tmp_path):
    with pytest.raises(InputError, match=r"one operator take .* GB \(36 samples of 5 regions\)"):
        run(cohort, tmp_path / "RUN", disk="1K")
    with pytest.raises(InputError, match="amount of disk such as 4G"):
        run(cohort, tmp_path / "RUN", disk="much")
    assert not (tmp_path / "RUN").exists()


def test_what_was_found_out_is_read_as_it_was_written(cohort, tmp_path, monkeypatch):
    saved, save = [], waves.save_answers

    def watched(path, key, answers, seconds):
        save(path, key, answers, seconds)
        saved.append((answers, waves.load_answers(path, key)[0]))

    monkeypatch.setattr(waves, "save_answers", watched)
    run(cohort, tmp_path / "RUN")
    for wrote, read in saved:
        assert len(wrote) == len(read) == 2 + 3  # tasks; sex of both, reliability of diagnosis
        for one, other in zip(wrote, read, strict=True):
            assert one.operators == other.operators
            assert (one.status, one.reason) == (other.status, other.reason)
            for table in ("point", "drawn", "statistics", "cross_fit"):
                mine, theirs = getattr(one, table), getattr(other, table)
                assert mine.keys() == theirs.keys()
                for name, values in mine.items():
                    np.testing.assert_array_equal(values, theirs[name])
            assert [s and (s.ratio, s.widest) for s in one.scatter] == [
                s and (s.ratio, s.widest) for s in other.scatter
            ]
