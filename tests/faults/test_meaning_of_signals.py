"""Dirty signals, finite and well-formed: read as they are meant, noted, or refused by name."""

import numpy as np
import pandas as pd
import pytest

from sclcs import Cohort
from sclcs._core import InputError
from sclcs.cohort import check_cohort, check_scans
from sclcs.cohort.check import Lookalikes
from sclcs.cohort.series import scans_of_series

N, REGIONS, TIMES = 9, 5, 83
NAMES = [f"r{k}" for k in range(REGIONS)]
IDS = [f"s{k}" for k in range(N)]


def make_scans(seed=0, n=N, times=TIMES):
    """Return smooth signals that share a time course, as regions do."""
    rng = np.random.default_rng(seed)
    white = rng.normal(size=(n, REGIONS, times + 20)) + rng.normal(size=(n, 1, times + 20))
    kernel = np.exp(-np.arange(20) / 2.0)
    smooth = np.apply_along_axis(np.convolve, 2, white, kernel, "valid")
    return [scan[:, :times] for scan in smooth]


def scans_of(arrays, regions=NAMES, tr=None):
    named = {name: scan.T for name, scan in zip(IDS, arrays, strict=False)}
    return scans_of_series(named, regions=regions, tr=tr)


def kinds_of(arrays, **options):
    """Return the kinds of problems of scans, as `check` and an import find them."""
    scans = scans_of(arrays, tr=2.0)
    found = [problem for problem in check_scans(scans) if problem.kind != "missing-value"]
    fatal = {problem.kind for problem in found if problem.fatal}
    if fatal:
        with pytest.raises(InputError) as caught:
            scans.to_cohort(**options)
        for problem in found:
            assert not problem.fatal or problem.where in str(caught.value)
    else:
        cohort = scans.to_cohort(**options)
        again = {problem.kind for problem in check_cohort(cohort)} - {"single-window"}
        assert again == {problem.kind for problem in found} - {"lost-digits"}  # centred since
    return {problem.kind for problem in found}


def dirty(change, seed=0, who=2):
    arrays = make_scans(seed)
    change(arrays, who)
    return arrays


def region(row, values):
    def change(arrays, who):
        arrays[who][row] = values(arrays[who], np.arange(TIMES))

    return change


def part(where, values):
    def change(arrays, who):
        arrays[who][:, where] = values(arrays[who])

    return change


WRONG = {
    "counter": (region(1, lambda _, t: t), "index-region"),
    "seconds": (region(0, lambda _, t: 2.0 * t + 0.5), "index-region"),
    "counting down": (region(4, lambda _, t: 100 - t), "index-region"),
    "a drift that only rises": (region(2, lambda _, t: t**1.5 / 7), "index-region"),
    "equal regions": (region(3, lambda x, _: x[1]), "equal-regions"),
    "a scaled copy of a region": (region(3, lambda x, _: -2 * x[1] + 40), "equal-regions"),
    "zeros at the end": (part(slice(-9, None), lambda _: 0.0), "repeated-frames"),
    "zeros at the start": (part(slice(0, 5), lambda _: 0.0), "repeated-frames"),
    "the last value goes on": (part(slice(-7, None), lambda x: x[:, -8:-7]), "repeated-frames"),
    "a stretch comes twice": (part(slice(40, 60), lambda x: x[:, 10:30]), "repeated-frames"),
    "a gap that was held": (part(slice(30, 36), lambda x: x[:, 29:30]), "repeated-frames"),
    "a spike": (part(17, lambda _: 1e6), "spike"),
    "a spike in one region": (region(2, lambda x, t: np.where(t == 5, -4e5, x[2])), "spike"),
    "a scan of another": (lambda a, who: a.__setitem__(who, a[5]), "same-scan"),
    "another, scaled": (lambda a, who: a.__setitem__(who, a[5] * 3 + 7), "same-scan"),
    "another with some noise": (
        lambda a, who: a.__setitem__(who, a[5] + make_scans(77)[0] * 0.02), "same-scan",
    ),
    "another, cut at the end": (lambda a, who: a.__setitem__(who, a[5][:, :-11]), "same-scan"),
    "another, cut at the start": (lambda a, who: a.__setitem__(who, a[5][:, 4:]), "same-scan"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize(("seed", "who"), [(1, 2), (2, 0), (3, 8)])
def test_what_would_make_an_answer_wrong_is_refused(name, seed, who):
    change, kind = WRONG[name]
    assert kind in kinds_of(dirty(change, seed, who))


DOUBTFUL = {
    "a large value": (region(2, lambda x, t: x[2] + (t == 5) * 300 * x[2].std()), "large-value"),
    "clipped": (region(2, lambda x, _: np.minimum(x[2], np.quantile(x[2], 0.5))), "flat-stretch"),
    "few digits": (region(2, lambda x, _: np.round(x[2] / x[2].std())), "flat-stretch"),
    "stairs": (region(2, lambda _, t: -(t // 2) + 0.0), "flat-stretch"),
    "half a copy": (
        lambda a, who: a.__setitem__(who, a[5] + make_scans(77)[0] * 0.35), "similar-scan",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DOUBTFUL)
@pytest.mark.parametrize(("seed", "who"), [(1, 2), (2, 0), (3, 8)])
def test_what_may_be_meant_is_noted(name, seed, who):
    change, kind = DOUBTFUL[name]
    assert kinds_of(dirty(change, seed, who)) == {kind}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "scale", [lambda x: x, lambda x: 1e4 + 50 * x, lambda x: 1e-6 * x, np.float32]
)
def test_clean_signals_raise_no_question(seed, scale):
    arrays = [scale(scan) for scan in make_scans(seed)]
    assert kinds_of(arrays) == set()
    assert kinds_of(arrays, window=40, stride=20) == set()


@pytest.mark.parametrize("offset", [1e5, 1e6, -1e7, 1e9])
def test_offsets_lose_no_digits(offset, caplog):
    clean = make_scans(4)
    arrays = [scan + offset for scan in clean]
    kept = scans_of(arrays).to_cohort().signals
    expected = scans_of(clean).to_cohort().signals
    for one, other in zip(np.asarray(kept), np.asarray(expected), strict=True):
        np.testing.assert_allclose(np.corrcoef(one), np.corrcoef(other), atol=2e-6)
    assert "were centred" in caplog.text
    table = pd.DataFrame({"subject": IDS, "window": 0})
    np.testing.assert_array_equal(Cohort(np.stack(arrays), table).signals, kept)


def test_digits_that_the_source_lost_are_noted():
    arrays = [(scan + 1e6).astype(np.float32) for scan in make_scans(4)]
    scans = scans_of(arrays)
    assert {problem.kind for problem in check_scans(scans)} == {"lost-digits"}


def test_equal_scans_are_all_left_out_on_request():
    arrays = make_scans(3)
    arrays[6] = arrays[1].copy()
    cohort = scans_of(arrays).to_cohort(on_bad="skip")
    assert [name for name in IDS if name not in cohort.sample_ids] == ["s1", "s6"]
    assert {entry["where"] for entry in cohort.provenance["excluded"]} == {"s1", "s6"}


def test_windows_of_one_scan_are_not_compared():
    cohort = scans_of(make_scans(3)).to_cohort(window=60, stride=2)
    assert not any("scan" in problem.kind for problem in check_cohort(cohort))


@pytest.mark.parametrize("tr", [2000.0, 720.0, 250.0])
def test_a_repetition_time_in_milliseconds_is_refused(tr, tmp_path):
    scans = scans_of(make_scans(3), tr=tr)
    assert "implausible-tr" in {problem.kind for problem in check_scans(scans)}
    with pytest.raises(InputError, match="milliseconds"):
        scans.to_cohort(tmp_path / "c.zarr")
    assert not (tmp_path / "c.zarr").exists()


def test_pairs_that_may_be_one_scan_are_told_with_how_alike_they_are():
    rng = np.random.default_rng(1)
    first, noise = rng.normal(size=(2, 33, 90))
    found = Lookalikes()
    for name, scan in (("a", first), ("b", first + 0.5 * noise), ("c", noise)):
        found.add(name, scan)
    (pair,) = found.problems()
    assert (pair.kind, pair.where) == ("similar-scan", "a and b")
    assert 0.85 < float(pair.detail.removeprefix("r = ")) < 0.95  # 1 / sqrt(1.25) is 0.894


def test_many_scans_of_few_regions_do_not_look_alike_by_chance():
    rng = np.random.default_rng(0)
    for regions, times in ((2, 12), (3, 40), (33, 70)):
        found = Lookalikes()
        for k in range(700):
            found.add(f"s{k}", np.cumsum(rng.normal(size=(regions, times)), axis=1)[:, ::2])
        assert found.problems() == []


@pytest.mark.parametrize(("copies", "kinds"), [(2, set()), (3, {"repeated-frames"})])
def test_few_frames_may_repeat(copies, kinds):
    assert kinds_of(dirty(part(slice(20, 20 + copies), lambda x: x[:, 19:20]))) == kinds


@pytest.mark.parametrize(("height", "kinds"), [(90, set()), (120, {"large-value"})])
def test_how_far_is_far(height, kinds):
    def change(arrays, who):
        middle = np.median(arrays[who][1])
        spread = 1.4826 * np.median(np.abs(arrays[who][1] - middle))
        arrays[who][1, 7] = middle + height * spread

    assert kinds_of(dirty(change)) == kinds


def test_what_is_short_or_slow_is_not_judged():
    short = [np.vstack([scan[:4, :19], np.arange(19.0)]) for scan in make_scans(6)]
    assert check_scans(scans_of(short)) == []
    assert check_scans(scans_of(make_scans(6), tr=29.0)) == []
    assert [one.kind for one in check_scans(scans_of(make_scans(6), tr=40.0))] == ["implausible-tr"]


def test_a_region_is_named_in_whatever_window_it_fails():
    arrays = make_scans(7)
    arrays[3][2, 45:] = 1.0
    arrays[4][1, 50] = np.nan
    found = {one.where: (one.kind, one.detail) for one in check_scans(scans_of(arrays), "20")}
    assert found == {"s3": ("constant-region", "r2"), "s4": ("non-finite", "r1")}
    table = pd.DataFrame({"subject": IDS[:4], "window": 0})
    flat = np.stack([np.where(np.arange(REGIONS)[:, None] == 2, 1.0, scan) for scan in arrays[:4]])
    problems = check_cohort(Cohort(flat, table))
    assert {one.kind for one in problems} == {"constant-region", "single-window"}


def test_labels_of_a_cohort_are_looked_at_unless_an_import_did():
    table = pd.DataFrame({"subject": IDS, "window": 0, "age": [*map(str, range(8)), "old"]})
    table["dx"] = ["HC", "MDD", "unknown"] * 3
    for settled, expected in (
        ({}, {"mixed-column", "vague-level"}),
        ({"age": {}}, {"vague-level"}),
    ):
        cohort = Cohort(np.stack(make_scans(8)), table, provenance={"columns": settled})
        found = {one.kind for one in check_cohort(cohort)}
        assert found - {"single-window", "single-member-class"} == expected
