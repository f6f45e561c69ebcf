"""Never a wrong number in silence: what was changed is refused or marked."""

import json
import os
import re
import shutil

import numpy as np
import pytest

from sclcs import Cohort
from sclcs._core import DamagedStoreError
from sclcs._core.provenance import SEAL
from sclcs.store import FCStore, compute_store


def change(path, old, new):
    """Edit a text file, and make sure that the edit did something."""
    text = path.read_bytes()
    assert old in text, (path, old)
    path.write_bytes(text.replace(old, new, 1))


def swap_label(path):
    """Turn one patient into a control."""
    change(path, b",MDD,", b",HC,")


METADATA = {
    "label": lambda store: swap_label(store / "samples.csv"),
    "regions": lambda store: change(store / "zarr.json", b"region-0", b"region-x"),
    "no metadata": lambda store: (store / "zarr.json").unlink(),
    "empty metadata": lambda store: (store / "zarr.json").write_bytes(b""),
    "other metadata": lambda store: (store / "zarr.json").write_bytes(b"[]"),
    "digest": lambda store: change(store / "zarr.json", b'"digest": "', b'"digest": "0'),
    "no table": lambda store: (store / "samples.csv").unlink(),
    "operators": lambda store: change(store / "zarr.json", b"pec", b"pex"),
    "array": lambda store: change(store / "zarr.json", b'"float32"', b'"float64"'),
    "shape": lambda store: change(store / "zarr.json", b'"chunk_shape": [', b'"chunk_shape": [1, '),
}


@pytest.mark.parametrize("name", METADATA)
def test_a_changed_store_is_refused_and_compute_repairs_it(name, home, rank, sclcs):
    METADATA[name](home / "fc")
    rank().is_named("damaged", str(home / "fc"), "run the same `sclcs compute` again")
    assert not (home / "r.csv").exists()
    sclcs("fc", "status", home / "fc", "--check").is_named("compute")
    sclcs("verify", home / "fc").is_named("compute")
    spis = "cov_EmpiricalCovariance,pec,pdist_cityblock"
    again = sclcs("compute", home / "c.zarr", "--out", home / "fc", "--spis", spis, "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["computed"]["matrices"] == 0  # the matrices themselves were good
    assert sclcs("verify", home / "fc").code == 0
    assert rank().code == 0


def test_an_operator_that_the_metadata_forgot_is_noticed(home, rank):
    """Older metadata, from a backup: rank must not leave the newer operators out."""
    older = (home / "fc" / "zarr.json").read_bytes()
    compute_store(home / "c.zarr", home / "fc", ["kendalltau"])
    (home / "fc" / "zarr.json").write_bytes(older)
    rank().is_named("does not list (kendall)")
    store = compute_store(home / "c.zarr", home / "fc", ["pec"])
    assert "kendalltau" in store.operators


def test_a_chunk_of_another_operator_is_noticed(home, rank, sclcs):
    """Its own checksums are right; it is not the one that was written there."""
    pieces = home / "fc" / "matrices"
    shutil.copy(pieces / "distance" / "c.0.0.0.0", pieces / "envelope" / "c.0.0.0.0")
    rank().is_named("pec", "damaged")
    sclcs("fc", "status", home / "fc", "--check").is_named("1 damaged matrices")


def test_a_damaged_or_lost_piece_is_named(home, sclcs, rank):
    """Also one that is gone altogether: it was there when the work was done."""
    folder = home / "fc" / "matrices" / "envelope"
    change(folder / "c.0.0.0.0", b'"seconds"', b'"secondz"')
    (folder / "c.0.2.0.0").unlink()
    sclcs("fc", "status", home / "fc", "--check").is_named("2 damaged matrices")
    sclcs("verify", home / "fc").is_named("envelope/c.0.0.0.0", "envelope/c.0.2.0.0", "pec")
    rank().is_named("run the same `sclcs compute` again")


COHORT = {
    "label": lambda cohort: swap_label(cohort / "samples.csv"),
    "empty table": lambda cohort: (cohort / "samples.csv").write_bytes(b""),
    "fingerprint": lambda cohort: change(cohort / "zarr.json", b'"fingerprint"', b'"finger"'),
    "regions": lambda cohort: change(cohort / "zarr.json", b"region-0", b"region-x"),
    "shape": lambda cohort: change(cohort / "signals/zarr.json", b"16", b"15"),
    "no seal": lambda cohort: (cohort / SEAL).unlink(),
}


@pytest.mark.parametrize("name", COHORT)
def test_a_changed_cohort_is_refused_by_whoever_opens_it(name, home, rank, sclcs):
    COHORT[name](home / "c.zarr")
    rank("c.zarr", "--spis", "pec").is_named("cohort", "again from its source")
    core = home / "core.csv"
    sclcs("select", home / "c.zarr", "--method", "pairs", "--out", core).is_named("cohort")
    spis = ["--spis", "pec", "--out", home / "new"]
    sclcs("compute", home / "c.zarr", *spis).is_named("cohort")
    sclcs("run", home / "c.zarr", "--out", home / "NEW").is_named("cohort")
    sclcs("cohort", "check", home / "c.zarr").is_named("cohort")
    sclcs("cohort", "describe", home / "c.zarr").is_named("cohort")
    sclcs("verify", home / "c.zarr").is_named("backup")
    assert not any((home / name).exists() for name in ("core.csv", "new", "NEW", "r.csv"))


def test_a_chunk_of_signals_from_another_place_is_noticed(tmp_path, rng):
    import pandas as pd

    signals = rng.normal(size=(230, 33, 70)).astype(np.float32)
    cohort = Cohort(signals, pd.DataFrame({"subject": "s", "window": range(230)}))
    path = cohort.save(tmp_path / "c.zarr")
    shutil.copy(path / "signals/c/1/0/0", path / "signals/c/0/0/0")
    opened = Cohort.open(path)
    np.testing.assert_array_equal(opened.signals[200], signals[200])
    with pytest.raises(DamagedStoreError, match="not those that were written"):
        opened.signals[0]


@pytest.mark.parametrize("name", ["c.zarr", "fc"])
def test_another_format_is_one_clear_error(name, home, sclcs):
    import zarr

    zarr.open_group(str(home / name), mode="a").attrs["format_version"] = 99
    sclcs("verify", home / name).is_named("found format 99", "update sclcs")


def run_files(run):
    """Return the files of a run that a stage has signed, and its configuration."""
    state = json.loads((run / "state.json").read_bytes())
    outputs = {place for record in state["stages"].values() for place in record["outputs"]}
    files = [path for place in sorted(outputs) for path in [run / place] if path.is_file()]
    return [run / "config.yaml", *(path for path in files if path.suffix != ".html")]


def test_the_report_never_shows_an_edited_file_as_true(home, sclcs):
    """Every digit of every file that a report is made of is changed, one file at a time."""
    files = run_files(home / "RUN")
    assert len(files) >= 8
    for path in files:
        content = path.read_bytes()
        digits = [m.start() for m in re.finditer(rb"[0-9]", content)]
        place = digits[len(digits) // 2]
        other = b"7" if content[place : place + 1] != b"7" else b"3"
        path.write_bytes(content[:place] + other + content[place + 1 :])
        shown = sclcs("report", home / "RUN", "--out", home / "page.html")
        page = (home / "page.html").read_text() if shown.code == 0 else shown.err
        assert path.name.rpartition(".")[0] in page, path
        assert "edited or damaged" in page, path
        assert "Traceback" not in page
        sclcs("verify", home / "RUN").is_named("sclcs run --config")
        path.write_bytes(content)
        (home / "page.html").unlink(missing_ok=True)
    assert sclcs("verify", home / "RUN").code == 0


@pytest.mark.parametrize("content", [None, b"{}", b'{"stages": 3}', b'{"stages": {}}'])
def test_a_damaged_state_is_named_and_the_run_recovers(content, home, sclcs):
    state = home / "RUN" / "state.json"
    if content is None:
        change(state, b'"done"', b'"dome"')
    else:
        state.write_bytes(content)
    for command in ("report", "status", "cite", "verify"):
        sclcs(command, home / "RUN").is_named("state.json", "run the same command again")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"spi,x\n", None])
def test_a_damaged_map_of_operators_is_named_in_the_report(content, home):
    """Only budgeted runs have one; the page says so where it would be, and goes on."""
    from sclcs._core import UnreadableFileError
    from sclcs.run_folder import RunFolder

    folder = RunFolder(home / "RUN")
    assert folder.geometry() is None
    folder.geometry_file.write_text("spi,x,y\npec,1,2\n")
    assert list(folder.geometry().index) == ["pec"]
    if content is None:
        folder.geometry_file.unlink()
        folder.geometry_file.mkdir()
    else:
        folder.geometry_file.write_bytes(content)
    if content == b"spi,x\n":
        assert len(folder.geometry()) == 0
        return
    with pytest.raises(UnreadableFileError, match="geometry"):
        folder.geometry()


ROT = {
    "piece": lambda store: flip(store / "matrices/envelope/c.0.0.0.0"),
    "table": lambda store: swap_label(store / "samples.csv"),
    "metadata": lambda store: (store / "zarr.json").write_bytes(b""),
}


def flip(path):
    """Flip a bit and leave the times as they were."""
    times = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.usefixtures("quick_plan")
@pytest.mark.parametrize("name", ROT)
def test_a_run_mends_what_rotted_with_an_unchanged_time(name, home, sclcs):
    before = FCStore.open(home / "RUN" / "fc-core.zarr").matrices("pec")
    ROT[name](home / "RUN" / "fc-core.zarr")
    again = sclcs("run", "--config", home / "RUN" / "config.yaml", "--out", home / "RUN", "--json")
    assert again.code == 0, again.err
    assert "compute-core" in json.loads(again.out)["stages"]
    after = FCStore.open(home / "RUN" / "fc-core.zarr")
    np.testing.assert_array_equal(after.matrices("pec"), before)
    assert after.verify() == []


def test_an_edited_table_beside_its_sidecar_is_refused(home, sclcs, rank):
    assert rank().code == 0
    change(home / "r.csv", b"pec,", b"pex,")
    sclcs("compare", home / "r.csv", home / "r.csv").is_named("r.csv", "edited or damaged")
    sclcs("verify", home / "r.csv").is_named("edited or damaged")
    core = home / "core.csv"
    made = sclcs("select", home / "c.zarr", "--method", "random", "--ratio", 0.9, "--out", core)
    assert made.code == 0
    change(core, b"1.0", b"2.0")
    (home / "r.csv").unlink()
    (home / "r.json").unlink()
    rank("fc", "--coreset", core).is_named("core.csv", "remove core.json")
    (home / "core.json").unlink()  # a table of one's own is taken as it is
    assert rank("fc", "--coreset", core).code == 0
