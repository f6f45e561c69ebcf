"""Crashes, hangs and half-made outputs that were found once, each with its own test."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from sclcs._core import console as interrupts, track


@pytest.fixture
def series(tmp_path, rng):
    folder = tmp_path / "series"
    folder.mkdir()
    for name in ("s1", "s2", "s3"):
        values = rng.normal(size=(60, 3))
        np.savetxt(folder / f"{name}.csv", values, delimiter=",", header="a,b,c", comments="")
    return folder


@pytest.fixture
def load(sclcs, series, tmp_path):
    """Import the folder with options; what is refused must leave nothing."""

    def run(*options, source=series):
        cut = ["--window", 30, "--stride", 30, "--out", tmp_path / "x.zarr"]
        shown = sclcs("cohort", "import", "arrays", source, *options, *cut)
        assert shown.code == 0 or not (tmp_path / "x.zarr").exists()
        return shown

    return run


@pytest.mark.parametrize("tr", ["nan", "inf", "-1", "0", "1e-320", "1e308"])
def test_a_repetition_time_that_is_none_is_refused(tr, load):
    load("--tr", tr).is_named("repetition time")


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "**"])
def test_patterns_stay_inside_the_folder(pattern, load):
    assert load("--pattern", pattern).code in {0, 2}
    if pattern != "**":
        load("--pattern", pattern).is_named("inside the folder")


def test_what_is_no_regular_file_is_named_and_never_waited_for(load, series):
    (series / "a.csv").mkdir()
    load().is_named("a folder is there")
    (series / "a.csv").rmdir()
    for target, words in (("a.csv", "cannot be opened"), ("/dev/zero", "a device")):
        (series / "a.csv").symlink_to(target)
        load().is_named(words)
        (series / "a.csv").unlink()
    os.mkfifo(series / "a.csv")
    load().is_named("a pipe is there")
    load("--labels", series / "a.csv").is_named("a pipe is there")
    assert load("--on-bad", "skip").code == 0


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_regions_are_refused(count, load, tmp_path, rng):
    np.save(tmp_path / "few.npy", rng.normal(size=(3, 60, count)))
    load("--layout", "time-region", source=tmp_path / "few.npy").is_named("at least 2 regions")


def test_half_a_character_in_an_id_is_refused(load, tmp_path, rng):
    names = np.array(["a\udc80", "b", "c"])
    np.savez(tmp_path / "half.npz", timeseries=rng.normal(size=(3, 60, 4)), subject=names)
    load("--layout", "time-region", source=tmp_path / "half.npz").is_named("Sample ids")


def test_formulas_are_marked_in_files_and_come_back_as_they_were(tmp_path, rng):
    from sclcs import Cohort, CoreSet
    from sclcs.store import FCStore, compute_store

    ids = ["=A1+1", "+x", "-y", "@z", "'q", "plain"]
    facts = {"subject": ids, "window": range(6), "site": ["=1", "b", "b", "=1", None, "'"]}
    table = pd.DataFrame(facts | {"age": [-1.5, 2, 3, 4, 5, 6]}, index=ids)
    cohort = Cohort(rng.normal(size=(6, 4, 30)), table, ["=r", "b", "c", "d"])
    path = cohort.save(tmp_path / "c.zarr")
    text = (path / "samples.csv").read_text()
    assert "'=A1+1,'=A1+1,0,'=1,-1.5" in text  # numbers stay numbers
    pd.testing.assert_frame_equal(Cohort.open(path).samples, cohort.samples)
    assert Cohort.open(path).fingerprint == cohort.fingerprint
    core = CoreSet(ids[:3]).bound_to(cohort)
    core.save(tmp_path / "core.csv")
    assert "\n'=A1+1,'=A1+1," in (tmp_path / "core.csv").read_text()
    assert CoreSet.open(tmp_path / "core.csv").sample_ids == ids[:3]
    store = compute_store(path, tmp_path / "fc", "pec", coreset=CoreSet.open(tmp_path / "core.csv"))
    assert FCStore.open(store.path).sample_ids == ids[:3]


REFUSED = {
    "seed as a parameter": ["select", "c.zarr", "--param", "seed=1", "--out", "new.csv"],
    "redraws": ["rank", "fc", "--bootstrap", 10**12, "--out", "new.csv"],
    "regions": ["cohort", "simulate", "--regions", 10**6, "--out", "new"],
    "subjects": ["cohort", "simulate", "--subjects", 10**9, "--out", "new"],
    "length": ["cohort", "simulate", "--length", 10**9, "--out", "new"],
    "long name": ["rank", "fc", "--bootstrap", 0, "--permutations", 0, "--out", "n" * 300 + ".csv"],
    "nowhere": ["rank", "fc", "--bootstrap", 0, "--permutations", 0, "--out", "/proc/no/x.csv"],
    "no csv": ["rank", "fc", "--out", "new"],
    "jobs": ["compute", "c.zarr", "--spis", "pec", "--on", "local:0", "--out", "new"],
    "share": ["compute", "c.zarr", "--spis", "pec", "--task-range", "9/2", "--out", "new"],
    "no share": ["compute", "c.zarr", "--spis", "pec", "--task-range", "x", "--out", "new"],
    "forced share": ["compute", "c.zarr", "--force", "--task-range", "1/2", "--out", "new"],
    "scheduler": ["compute", "c.zarr", "--on", "dask:tcp://127.0.0.1:1", "--out", "new"],
    "scheduler of a run": ["run", "c.zarr", "--on", "dask:tcp://127.0.0.1:1", "--out", "new"],
    "stage": ["run", "c.zarr", "--until", "x", "--out", "new"],
    "many jobs": ["compute", "c.zarr", "--spis", "pec", "--on", f"local:{10**8}", "--out", "new"],
    "many shares": [
        "compute",
        "c.zarr",
        "--spis",
        "pec",
        "--task-range",
        "1/9999999999",
        "--out",
        "new",
    ],
    "many jobs of a run": ["run", "c.zarr", "--on", f"local:{10**8}", "--out", "new"],
    "criterion of a run": ["run", "c.zarr", "--criteria", "nowhere", "--out", "new"],
    "covariate of a run": ["run", "c.zarr", "--covariates", "nowhere", "--out", "new"],
    "harmonised by nothing": ["run", "c.zarr", "--harmonise", "nowhere", "--out", "new"],
    "jobs of a run": ["run", "c.zarr", "--on", "local:0", "--out", "new"],
    "deep": ["run", "c.zarr", "--config", "deep.yaml", "--out", "new"],
    "digits": ["run", "c.zarr", "--config", "digits.yaml", "--out", "new"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_at_once_and_nothing_is_made(name, made, sclcs, monkeypatch):
    monkeypatch.chdir(made)
    (made / "deep.yaml").write_text("a: " + "[" * 900 + "]" * 900)
    (made / "digits.yaml").write_text("seed: " + "9" * 6000)
    before = sorted(os.listdir(made))
    started = time.monotonic()
    assert sclcs(*REFUSED[name]).is_named("Error: ")
    assert sorted(os.listdir(made)) == before
    assert time.monotonic() - started < 60  # a dead scheduler took 32 s, a huge cohort for ever


FULL_DISK = """
import resource, signal, sys
import sclcs.stats, pandas as pd
from sclcs._core import write_with_sidecar
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_with_sidecar(sys.argv[1], "x" * 100_000, "ranking", {"task": "t"})
except OSError as error:
    print(error)
"""


def test_a_full_disk_leaves_no_sidecar_behind(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path / "r.csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Nothing was left behind" in done.stdout
    assert os.listdir(tmp_path) == []


KILLED = """
import sys, time
from sclcs._core import atomic_directory
with atomic_directory(sys.argv[1]) as folder:
    (folder / "a.txt").write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_partial_folders_of_the_killed_go_and_those_of_the_living_stay(tmp_path):
    from sclcs._core import atomic_directory

    target = tmp_path / "result"
    both = [
        subprocess.Popen([sys.executable, "-c", KILLED, target], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert all(process.stdout.readline() == "ready\n" for process in both)
    both[0].send_signal(signal.SIGKILL)
    both[0].wait()
    assert len(os.listdir(tmp_path)) == 2
    with atomic_directory(tmp_path / "result") as folder:
        (folder / "b.txt").write_text("whole")
    left = [name for name in os.listdir(tmp_path) if name.endswith(".partial")]
    assert len(left) == 1  # of the one that is still at work
    both[1].kill()
    both[1].wait()


def test_a_lost_ctrl_c_is_raised_by_the_next_step():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    interrupts.watch_interrupts()
    before = signal.getsignal(signal.SIGINT)
    try:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
            pytest.fail("the interruption did not arrive")
        except KeyboardInterrupt:
            pass  # compiled code swallows it in this way
        with pytest.raises(KeyboardInterrupt):
            list(track(range(3), "work"))
        assert interrupts.was_interrupted()
    finally:
        interrupts._interrupted.clear()
        assert signal.getsignal(signal.SIGINT) is before
        signal.signal(signal.SIGINT, signal.default_int_handler)


def shell(command, tmp_path, **more):
    environment = os.environ | {"SCLCS": f"{sys.executable} -m sclcs", "SCLCS_CACHE": str(tmp_path)}
    return subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        **more,
    )


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    done = shell("$SCLCS spis list | head -1; echo ${PIPESTATUS[0]}", tmp_path)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_closed_and_full_outputs_are_no_traceback(tmp_path):
    done = shell("$SCLCS --version >&-; echo $?; $SCLCS --version > /dev/full; echo $?", tmp_path)
    assert "Traceback" not in done.stderr
    assert done.stdout.split() == ["0", "2"]
    assert "No space left" in done.stderr


def test_too_little_address_space_is_a_sentence(tmp_path):
    done = shell("ulimit -v 1000000; $SCLCS spis list", tmp_path)
    assert done.returncode == 2
    assert "address space" in done.stderr
    assert shell("ulimit -v 1000000; $SCLCS --version", tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ZeroDivisionError("ours"), 3, "bug"),
        (MemoryError(), 2, "memory"),
        (RecursionError(), 2, "nested too deep"),
        (EOFError("ours"), 3, "bug"),
        (PermissionError(13, "Permission denied", "/x"), 2, "Permission denied (/x)"),
        (UnicodeEncodeError("utf-8", "\udc80", 0, 1, "no"), 2, "UTF-8"),
    ],
)
def test_the_last_handler(error, code, words, request):
    sclcs, monkeypatch = (request.getfixturevalue(name) for name in ("sclcs", "monkeypatch"))
    tmp_path = request.getfixturevalue("tmp_path")
    import sclcs.cli.main as cli_main

    def fail(**_):
        raise error

    monkeypatch.setenv("SCLCS_CACHE", str(tmp_path))
    monkeypatch.setattr(cli_main, "app", fail)
    shown = sclcs()
    assert shown.code == code
    assert words in shown.err
    assert len(shown.err.splitlines()) == 1
    logs = list((tmp_path / "logs").glob("*.log")) if code == 3 else []
    assert len(logs) == (code == 3)
    for log in logs:
        assert str(log) in shown.err
        assert type(error).__name__ in log.read_text()


def test_a_checkpoint_with_one_flipped_bit_is_refused(tmp_path):
    torch = pytest.importorskip("torch")
    from sclcs._core import UnreadableFileError
    from sclcs.coresets.training import read_checkpoint, write_checkpoint

    path = tmp_path / "a.checkpoint"
    write_checkpoint(path, {"identity": "i", "epoch": 1, "weights": torch.arange(50.0)})
    content = path.read_bytes()
    assert read_checkpoint(path, "i", 2)["weights"][3] == 3
    for place in np.linspace(0, len(content) - 1, 120).astype(int).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(bytes(damaged))
        with pytest.raises(UnreadableFileError, match="remove it"):
            read_checkpoint(path, "i", 2)
    path.write_bytes(content[:-3])
    with pytest.raises(UnreadableFileError, match="remove it"):
        read_checkpoint(path, "i", 2)


def test_json_of_a_command_is_valid_whatever_the_numbers(home, sclcs):
    shown = sclcs("cohort", "describe", home / "c.zarr", "--json")
    assert json.loads(shown.out, parse_constant=pytest.fail)["samples"] == 16
