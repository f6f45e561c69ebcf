"""EEG through MNE-Python: recordings and epochs, and the rate that reaches the bands."""

import numpy as np
import pytest
from pipeline_trees import read_mne

from sclcs._core import InputError, NotFoundError

mne = pytest.importorskip("mne")

RATE = 100.0
CHANNELS = ["Fz", "Cz", "Pz", "Oz"]


def write_raw(path, seed, rate=RATE, names=CHANNELS, seconds=6):
    path.parent.mkdir(parents=True, exist_ok=True)
    info = mne.create_info([*names, "EOG"], rate, ["eeg"] * len(names) + ["eog"])
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(names) + 1, int(seconds * rate))) * 1e-5
    raw = mne.io.RawArray(values, info, verbose="ERROR")
    raw.save(path, fmt="double", verbose="ERROR")
    return values[:-1]


def test_recordings_with_names_of_bids_and_labels(tmp_path):
    folder = tmp_path / "eeg"
    written = [
        write_raw(folder / f"sub-{s}" / f"sub-{s}_ses-1_task-rest_raw.fif", k)
        for k, s in enumerate(("01", "02"))
    ]
    (tmp_path / "labels.tsv").write_text("participant_id\tgroup\nsub-01\tA\nsub-02\tB\n")
    scans = read_mne(folder, picks="eeg", labels=tmp_path / "labels.tsv")
    assert scans.regions == tuple(CHANNELS)
    assert scans.tr == pytest.approx(0.01), "one over the real sampling rate"
    assert [scan.metadata["group"] for scan in scans] == ["A", "B"]
    assert scans[0].metadata["session"] == "1"
    np.testing.assert_allclose(scans[1].signals(), written[1], rtol=1e-5)
    cohort = scans.to_cohort(window="2s")
    assert cohort.signals.shape == (6, 4, 200)


def test_the_rate_reaches_the_bands_of_spectral_operators(tmp_path):
    from sclcs.spi import bands

    write_raw(tmp_path / "a_raw.fif", 0)
    cohort = read_mne(tmp_path, rate=50.0).to_cohort()
    name = "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-25"
    row = bands([name], tr=cohort.tr).loc[name]
    assert (row["low_hz"], row["high_hz"]) == (0.0, pytest.approx(12.5))
    assert cohort.n_timepoints == 300


def test_epochs_are_scans_with_their_event(tmp_path):
    info = mne.create_info(CHANNELS, RATE, "eeg")
    values = np.random.default_rng(3).normal(size=(5, 4, 150)) * 1e-5
    events = np.array([[k * 200, 0, 1 + k % 2] for k in range(5)])
    epochs = mne.EpochsArray(values, info, events, event_id={"rest": 1, "task": 2}, verbose="ERROR")
    epochs.save(tmp_path / "s1-epo.fif", fmt="double", verbose="ERROR")
    scans = read_mne(tmp_path)
    assert [scan.scan_id for scan in scans] == [f"s1_epoch-{k}" for k in range(5)]
    assert {scan.subject for scan in scans} == {"s1"}
    assert [scan.metadata["event"] for scan in scans] == ["rest", "task", "rest", "task", "rest"]
    np.testing.assert_allclose(scans[3].signals(), values[3], rtol=1e-5)
    assert len(scans.to_cohort()) == 5


def test_filters_are_in_hz(tmp_path):
    write_raw(tmp_path / "a_raw.fif", 0, seconds=12)
    power = np.abs(np.fft.rfft(read_mne(tmp_path, high_pass=8, low_pass=13)[0].signals())) ** 2
    frequencies = np.fft.rfftfreq(1200, 1 / RATE)
    inside = (frequencies > 7) & (frequencies < 14.5)
    assert power[:, inside].sum() > 0.95 * power.sum()


def test_what_goes_wrong_is_named(tmp_path):
    with pytest.raises(NotFoundError, match="recordings"):
        read_mne(tmp_path)
    write_raw(tmp_path / "a_raw.fif", 0)
    with pytest.raises(InputError, match="choose others with --picks"):
        read_mne(tmp_path, picks="Xz")
    with pytest.raises(InputError, match="`rate` must be a number above 0"):
        read_mne(tmp_path, rate=-1.0)
    write_raw(tmp_path / "b_raw.fif", 1, names=CHANNELS[:2])
    write_raw(tmp_path / "c_raw.fif", 2)
    with pytest.raises(InputError, match=r"other regions.*b \(2 regions, expected 4: lacks Oz, Pz"):
        read_mne(tmp_path, picks="eeg").to_cohort(window=50, stride=50)
    (tmp_path / "d_raw.fif").write_bytes(b"nothing")
    with pytest.raises(InputError, match="Files that cannot be read"):
        read_mne(tmp_path, picks="eeg").to_cohort(window=50, stride=50)


def test_damage_that_shows_only_when_channels_are_picked_is_named(tmp_path, monkeypatch):
    write_raw(tmp_path / "a_raw.fif", 0)

    def damaged(*_, **__):
        raise KeyError("a kind of channel that does not exist")

    monkeypatch.setattr(mne.io.Raw, "pick", damaged)
    with pytest.raises(InputError, match=r"a_raw.fif, but it is truncated, damaged"):
        read_mne(tmp_path)
