import numpy as np
import pytest

from sclcs._core import InputError, UnknownNameError, UnreadableFileError
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.problems import Problem
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.series import scans_of_series


def test_windows_carry_the_facts_of_their_scan(scans):
    cohort = scans.to_cohort(window=20, stride=10)
    assert cohort.sample_ids[:4] == ["a_w0", "a_w1", "a_w2", "b_scan-1_w0"]
    row = cohort.samples.loc["b_scan-2_w1"]
    assert row.to_dict() == {
        "subject": "b",
        "window": 1,
        "scan": "b_scan-2",
        "start": 10,
        "site": "y",
        "age": 30.0,
    }
    place = cohort.sample_ids.index("b_scan-2_w1")
    np.testing.assert_array_equal(cohort.signals[place], scans[2].signals()[:, 10:30])
    assert cohort.tr == 2.0


def test_windows_on_disk_equal_windows_in_memory(scans, tmp_path):
    memory = scans.to_cohort(window=20, stride=7, drop_first=2)
    disk = scans.to_cohort(window=20, stride=7, drop_first=2, out=tmp_path / "c.zarr")
    np.testing.assert_array_equal(memory.signals, disk.signals[:])
    assert memory.fingerprint == disk.fingerprint == Cohort.open(tmp_path / "c.zarr").fingerprint
    assert memory.provenance == disk.provenance


def test_whole_scans_are_cut_to_one_length_if_asked(scans):
    assert not scans.to_cohort().equal_lengths
    cohort = scans.to_cohort(truncate=41)
    assert cohort.signals.shape == (4, 5, 41)
    np.testing.assert_array_equal(cohort.signals[3], scans[3].signals()[:, :41])


def bad_scans(rng):
    def damaged():
        raise UnreadableFileError("broken.mat ends too early")

    nan, flat = rng.normal(size=(3, 30)), rng.normal(size=(3, 30))
    nan[1, 4] = np.inf
    flat[2] = 5.0
    arrays = {
        "good": lambda: rng.normal(size=(3, 30)),
        "nan": lambda: nan,
        "flat": lambda: flat,
        "short": lambda: rng.normal(size=(3, 9)),
        "wide": lambda: rng.normal(size=(4, 30)),
        "damaged": damaged,
    }
    return Scans(
        [Scan(name, name, load) for name, load in arrays.items()],
        ["r0", "r1", "r2"],
        problems=[Problem("missing-label", "unlabelled", "")],
    )


def test_every_bad_scan_is_named_in_one_message(rng):
    with pytest.raises(InputError) as caught:
        Scans(list(bad_scans(rng)), ["r0", "r1", "r2"]).to_cohort(window=10, stride=10)
    message = str(caught.value)
    for words in [
        "nan (r1)",
        "flat (r2)",
        "short (9 time points, 10 needed)",
        "wide (4 x 30, expected 3 regions)",
        "damaged (broken.mat ends too early)",
        "--on-bad skip",
    ]:
        assert words in message
    assert "good" not in message


def test_bad_scans_are_skipped_and_recorded(rng):
    cohort = bad_scans(rng).to_cohort(window=10, stride=10, on_bad="skip")
    assert set(cohort.samples["subject"]) == {"good"}
    kinds = {entry["where"]: entry["kind"] for entry in cohort.provenance["excluded"]}
    assert kinds == {
        "unlabelled": "missing-label",
        "nan": "non-finite",
        "flat": "constant-region",
        "short": "too-short",
        "wide": "region-count",
        "damaged": "unreadable",
    }


def test_what_the_reader_found_is_refused_before_any_signal_is_loaded():
    def load():
        pytest.fail("loaded a signal although the labels are wrong")

    scans = Scans(
        [Scan("a", "a", load)], ["r", "q"], problems=[Problem("missing-label", "ghost", "")]
    )
    with pytest.raises(InputError, match="ghost"):
        scans.to_cohort(window=10, stride=10)


def test_nothing_is_written_when_all_scans_are_bad(rng, tmp_path):
    scans = scans_of_series({"a": np.ones((30, 2))})
    for policy in ("error", "skip"):
        with pytest.raises(InputError, match="does not vary"):
            scans.to_cohort(window=10, stride=10, on_bad=policy, out=tmp_path / "c.zarr")
        assert list(tmp_path.iterdir()) == []


def test_a_region_constant_inside_one_window_only_is_bad(rng):
    signal = rng.normal(size=(2, 40))
    signal[1, 20:30] = 3.0
    with pytest.raises(InputError, match="region-1"):
        scans_of_series({"a": signal.T}).to_cohort(window=10, stride=10)
    assert len(scans_of_series({"a": signal.T}).to_cohort(window=10, stride=10, truncate=20)) == 2


def test_nan_outside_the_used_part_does_no_harm(rng):
    signal = rng.normal(size=(2, 40))
    signal[0, 0] = signal[1, 39] = np.nan
    assert (
        len(
            scans_of_series({"a": signal.T}).to_cohort(
                window=10, stride=10, truncate=30, drop_first=1
            )
        )
        == 3
    )


def test_duplicate_ids_are_refused_even_when_skipping(rng):
    scans = Scans(
        [Scan(name, "a", lambda: rng.normal(size=(2, 9))) for name in ["x", "x", "y"]], ["r", "q"]
    )
    for policy in ("error", "skip"):
        with pytest.raises(InputError, match=r"x \(2 scans\)"):
            scans.to_cohort(window=5, stride=5, on_bad=policy)


def test_an_existing_output_is_refused_before_reading(scans, tmp_path):
    (tmp_path / "c.zarr").mkdir()
    with pytest.raises(FileExistsError, match="already exists"):
        scans.to_cohort(window=20, stride=10, out=tmp_path / "c.zarr")


def test_regions_are_kept_by_name_and_order(scans):
    some = scans.keep_regions(["region-3", "region-0"])
    np.testing.assert_array_equal(some[1].signals(), scans[1].signals()[[3, 0]])
    assert some.regions == ("region-3", "region-0")
    with pytest.raises(UnknownNameError, match=r"region-9.*region-0"):
        scans.keep_regions(["region-9"])


def test_wrong_policies_and_columns_are_refused(scans, rng):
    with pytest.raises(InputError, match=r"`on_bad` must be one of 'error', 'skip', got 'ignore'"):
        scans.to_cohort(window=10, stride=10, on_bad="ignore")
    with pytest.raises(InputError, match="repeated: r"):
        Scans([], ["r", "r"])


def test_one_scan_is_in_memory_at_a_time(tmp_path):
    alive = []

    class Tracked(np.ndarray):
        def __del__(self):
            alive.remove(id(self))

    def loader(seed):
        def load():
            array = np.random.default_rng(seed).normal(size=(3, 30)).view(Tracked)
            alive.append(id(array))
            assert len(alive) <= 2  # the one before may still be bound in the loop
            return array

        return load

    scans = Scans([Scan(f"s{i}", f"s{i}", loader(i)) for i in range(6)], ["a", "b", "c"])
    assert len(scans.to_cohort(window=10, stride=10, out=tmp_path / "c.zarr")) == 18
