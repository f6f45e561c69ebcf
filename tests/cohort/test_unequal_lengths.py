"""Scans of unequal length: one sample each, every operator at the sample's own length."""

import numpy as np
import pandas as pd
import pytest

import sclcs
from sclcs import Cohort
from sclcs._core import DamagedStoreError, InputError
from sclcs.cohort import check_cohort, describe_cohort
from sclcs.cohort.build import resample_scans
from sclcs.cohort.series import scans_of_series
from sclcs.cohort.windows import Seconds, Windowing, parse_extent
from sclcs.coresets import select
from sclcs.spi import compute_batch as compute
from sclcs.stats import rank
from sclcs.store import FCStore, compute_store

LENGTHS = [50, 64, 50, 71, 58, 90, 66, 50]
OPERATORS = [
    "cov_EmpiricalCovariance",
    "cov_EllipticEnvelope",
    "phase_multitaper_mean_fs-1_fmin-0_fmax-0-5",
]


def make_scans(lengths=LENGTHS, **more):
    rng = np.random.default_rng(5)
    subjects = [f"s{k // 2}" for k in range(len(lengths))]
    facts = {"diagnosis": [("MDD", "HC")[k // 2 % 2] for k in range(len(lengths))]}
    signals = [rng.normal(size=(3, n)).cumsum(axis=1) for n in lengths]
    table = pd.DataFrame({"subject": subjects} | facts | more)
    return scans_of_series([s.T for s in signals], table, tr=2.0 if not more else None)


def test_whole_scans_of_any_length_are_one_sample_each(tmp_path):
    scans = make_scans()
    cohort = scans.to_cohort()
    assert cohort.signals.shape == (8, 3, 90)
    assert cohort.lengths.tolist() == LENGTHS
    assert repr(cohort) == "Cohort(8 samples, 4 subjects, 3 regions, 50 to 90 time points)"
    for row, scan in enumerate(scans):
        np.testing.assert_array_equal(cohort.signals[row, :, : LENGTHS[row]], scan.signals())
        assert np.isnan(cohort.signals[row, :, LENGTHS[row] :]).all()
    stored = scans.to_cohort(out=tmp_path / "c.zarr")
    assert stored.fingerprint == cohort.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["c.zarr"]
    again = Cohort.open(tmp_path / "c.zarr")
    np.testing.assert_array_equal(again.signals[:], cohort.signals)
    assert again.lengths.tolist() == LENGTHS
    assert not [problem for problem in check_cohort(again) if problem.fatal]
    assert describe_cohort(again)["shortest"] == 50
    assert again.take([5, 0]).lengths.tolist() == [90, 50]


def test_scans_of_one_length_make_the_cohort_they_always_made(tmp_path):
    stored = make_scans([50, 50, 50, 50]).to_cohort(out=tmp_path / "c.zarr")
    assert "n_timepoints" not in stored.samples
    assert stored.equal_lengths
    windows = make_scans([50, 50, 50, 50]).to_cohort(window=50)
    assert windows.sample_ids == [f"{name}_w0" for name in stored.sample_ids]
    np.testing.assert_array_equal(windows.signals, stored.signals)


def test_a_value_lost_inside_a_sample_is_damage_and_padding_is_not(tmp_path):
    import zarr

    make_scans().to_cohort(out=tmp_path / "c.zarr")
    zarr.open_group(tmp_path / "c.zarr")["signals"][3, 1, 70] = np.nan
    with pytest.raises(DamagedStoreError, match="missing"):
        Cohort.open(tmp_path / "c.zarr").signals[:]


def test_lengths_that_do_not_fit_the_signals_are_refused():
    table = pd.DataFrame(
        {"subject": ["a", "b"], "window": [0, 0], "n_timepoints": [10, 12]}, index=["a0", "b0"]
    )
    signals = np.ones((2, 3, 12))
    with pytest.raises(InputError, match="1 samples hold NaN or infinite values: a0"):
        Cohort(signals, table)
    with pytest.raises(InputError, match="whole numbers from 2 to 12"):
        Cohort(signals, table.assign(n_timepoints=[13, 12]))


def test_every_operator_sees_a_sample_at_its_own_length(tmp_path):
    scans = make_scans()
    cohort = scans.to_cohort(out=tmp_path / "c.zarr")
    together = compute(cohort.signals[:], OPERATORS, lengths=cohort.lengths, seed=3)
    compute_store(cohort, tmp_path / "fc", OPERATORS, seed=3, block_size=3)
    store = FCStore.open(tmp_path / "fc")
    for row, scan in enumerate(scans):
        alone = compute(scan.signals(), OPERATORS, seed=3)
        np.testing.assert_array_equal(together[:, row], alone[:, 0])
        for place, name in enumerate(OPERATORS):
            np.testing.assert_array_equal(
                store.matrices(name)[row], alone[place, 0].to_numpy().astype(np.float32)
            )
    with pytest.raises(InputError, match="one length per sample"):
        compute(cohort.signals[:], OPERATORS, lengths=[50, 50])


def test_an_operator_skips_only_the_samples_that_are_too_short_for_it(tmp_path):
    cohort = make_scans([4, 64, 50, 71]).to_cohort()
    name = OPERATORS[2]  # at least five time points
    found = compute(cohort.signals, [name], lengths=cohort.lengths)
    assert found["status"].to_numpy()[0].tolist() == ["skipped", "ok", "ok", "ok"]
    compute_store(cohort, tmp_path / "fc", [name])
    assert np.isnan(FCStore.open(tmp_path / "fc").matrices(name)).all(axis=(1, 2)).tolist() == [
        True, False, False, False,
    ]  # fmt: skip


def test_ranking_a_cohort_and_its_store_agree(tmp_path):
    cohort = make_scans().to_cohort()
    compute_store(cohort, tmp_path / "fc", OPERATORS)
    options = {"task": "subject", "permutations": 0, "bootstrap": 0}
    by_store = rank(FCStore.open(tmp_path / "fc"), **options).table.set_index("spi")["score"]
    by_cohort = rank(cohort, spis=OPERATORS, **options).table.set_index("spi")["score"]
    pd.testing.assert_series_equal(by_store.sort_index(), by_cohort.sort_index(), atol=1e-6)


def test_methods_that_compare_matrices_choose_and_those_that_train_refuse():
    cohort = make_scans().to_cohort()
    assert len(select(cohort, method="kcenter", ratio=0.5)) == 4
    with pytest.raises(InputError, match="needs samples of one length, but this cohort's have 50"):
        select(cohort, method="kcenter", ratio=0.5, features="raw")
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="needs samples of one length"):
        select(cohort, method="sclcs", ratio=0.5, epochs=1)


@pytest.mark.slow
def test_a_run_from_end_to_end(tmp_path):
    lengths = [40 + 3 * (k % 5) for k in range(24)]
    make_scans(lengths).to_cohort(out=tmp_path / "c.zarr")
    result = sclcs.run(
        tmp_path / "c.zarr", task=["diagnosis"], spis="cov_*", ratio=0.5, method="stratified",
        top_k=2, bootstrap=20, out=tmp_path / "RUN",
    )  # fmt: skip
    assert (tmp_path / "RUN" / "report.html").exists()
    assert len(result.rankings["diagnosis"].table) > 3


def test_windows_in_seconds_are_cut_by_each_scan_s_repetition_time():
    scans = make_scans([60, 60, 90, 90], tr=[2.0, 2.0, 1.0, 1.0])
    cohort = scans.to_cohort(window="30s", stride="15s", drop_first="2s")
    lengths = cohort.samples.groupby("scan")["n_timepoints"].unique().map(list)
    assert lengths.to_dict() == {
        "s0_scan-1": [15], "s0_scan-2": [15], "s1_scan-1": [30], "s1_scan-2": [30],
    }  # fmt: skip
    first = cohort.samples[cohort.samples["scan"] == "s1_scan-1"]
    assert first["start"].tolist() == [2, 17, 32, 47]
    np.testing.assert_array_equal(cohort.signals[-1][:, :30], scans[3].signals()[:, 47:77])
    one = make_scans([60, 60, 90, 90]).to_cohort(window="30s", stride=10)
    assert one.equal_lengths
    assert one.n_timepoints == 15
    assert one.provenance["windowing"]["length"] == "30s"


def test_neighbouring_windows_of_a_short_window_do_not_overlap():
    from sclcs.stats.pairs import _places

    scans = make_scans([60, 60, 90, 90], tr=[2.0, 2.0, 1.0, 1.0])
    cohort = scans.to_cohort(window="30s", stride="30s")
    places = _places(cohort.samples, cohort.n_timepoints)
    same = cohort.samples["scan"].to_numpy()
    steps = np.diff(places)[same[1:] == same[:-1]]
    np.testing.assert_allclose(steps, 1.0)


def test_what_a_user_writes_for_a_length():
    assert parse_extent("70") == 70
    assert isinstance(parse_extent("140s"), Seconds)
    assert Windowing(parse_extent("140 s"), parse_extent("70s")).at(2.5) == Windowing(56, 28)
    for text in ("70m", "-5", "", "s", "1e3s", "7.5"):
        with pytest.raises(InputError, match=r"time points \(70\) or seconds \(140s\)"):
            parse_extent(text)
    with pytest.raises(InputError, match="repetition time of every scan"):
        Windowing(Seconds(140)).at(None)
    with pytest.raises(InputError, match="at least 2"):
        Windowing(Seconds(1), 1).at(2.0)


def test_mixed_repetition_times_are_an_error_with_ways_out():
    scans = make_scans([60, 60, 90, 90], tr=[2.0, 2.0, 2.0, 1.0])
    with pytest.raises(
        InputError, match=r"found 2: 1 s \(1 scans, such as s1_scan-2\), 2 s"
    ) as raised:
        scans.to_cohort(window=20, stride=10)
    for way in ("--resample 2", "--window 140s", "--mixed-tr keep"):
        assert way in str(raised.value)
    assert "bands in Hz differ" in scans.to_cohort().provenance["notes"][0]
    assert len(scans.to_cohort(window=20, stride=10, mixed_tr="keep")) == 5 + 5 + 8 + 8
    with pytest.raises(InputError, match="'error', 'keep'"):
        scans.to_cohort(window=20, stride=10, mixed_tr="yes")


def test_resampling_keeps_what_both_rates_hold():
    times = np.arange(300) * 1.0
    slow, fast = np.sin(2 * np.pi * 0.03 * times), np.sin(2 * np.pi * 0.4 * times)
    noise = np.random.default_rng(0).normal(size=(2, 150))
    both = {"a": np.stack([slow + fast, slow]).T, "b": noise.T}
    scans = scans_of_series(both, pd.DataFrame({"tr": [1.0, 2.0]}, index=["a", "b"]))
    scans = resample_scans(scans, 2.0)
    assert scans.tr == 2.0
    assert "tr" not in scans.table
    taken = scans[0].signals()
    assert taken.shape == (2, 150)
    expected = np.sin(2 * np.pi * 0.03 * np.arange(150) * 2.0)
    np.testing.assert_allclose(
        taken[:, 15:-15], np.stack([expected, expected])[:, 15:-15], atol=0.05
    )
    np.testing.assert_array_equal(scans[1].signals(), noise.astype(np.float32))
    assert scans[1:].to_cohort(window=50, stride=50).provenance["resampled_to"] == 2.0
    unknown = scans_of_series({"a": noise.T})
    with pytest.raises(InputError, match="it is not known for a"):
        resample_scans(unknown, 2.0)
