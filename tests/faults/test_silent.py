"""Never a wrong number in silence: what was changed is refused or marked."""

import json
import os
import re
import shutil

import numpy as np
import pytest

from sclcs import Cohort
from sclcs.compute import FCStore, compute_store
from sclcs.core.errors import DamagedStoreError
from sclcs.core.seal import SEAL


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
    "seal": lambda store: change(store / SEAL, b'"samples.csv": "', b'"samples.csv": "0'),
    "no seal": lambda store: (store / SEAL).unlink(),
    "no list": lambda store: (store / "operators.json").unlink(),
    "list": lambda store: change(store / "operators.json", b"pec", b"pex"),
    "array": lambda store: change(store / "matrices/pec/zarr.json", b"7", b"8"),
    "no array": lambda store: (store / "matrices/pec/zarr.json").unlink(),
    "empty array": lambda store: (store / "matrices/pec/zarr.json").write_bytes(b""),
}


@pytest.mark.parametrize("name", METADATA)
def test_a_changed_store_is_refused_and_compute_repairs_it(name, home, rank, sclcs):
    METADATA[name](home / "fc")
    where = "operators" if "list" in name or "array" in name else "FC store"
    rank().is_named("fc-store" if "metadata" in name else where, "compute")
    assert not (home / "r.csv").exists()
    sclcs("fc", "status", home / "fc", "--check").is_named("compute")
    sclcs("verify", home / "fc").is_named("compute")
    spis = "cov_EmpiricalCovariance,pec,pdist_cityblock"
    again = sclcs("compute", home / "c.zarr", "--out", home / "fc", "--spis", spis, "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["computed"]["matrices"] == 0  # the matrices themselves were good
    assert sclcs("verify", home / "fc").code == 0
    assert rank().code == 0


def test_an_operator_that_the_list_forgot_is_noticed(home, made, rank):
    """An older list of operators, from a backup: rank must not leave the newer ones out."""
    older = (home / "fc" / "operators.json").read_bytes()
    compute_store(home / "c.zarr", home / "fc", ["kendalltau"])
    (home / "fc" / "operators.json").write_bytes(older)
    rank().is_named("kendalltau is not listed")
    store = compute_store(home / "c.zarr", home / "fc", ["pec"])
    assert "kendalltau" in store.operators


def test_a_chunk_of_another_operator_is_noticed(home, rank, sclcs):
    """Its own checksum is right; it is not the one that was written there."""
    chunks = home / "fc" / "matrices"
    shutil.copy(chunks / "pdist_cityblock" / "c.0.0", chunks / "pec" / "c.0.0")
    rank().is_named("pec", "damaged")
    sclcs("fc", "status", home / "fc", "--check").is_named("3 damaged chunks")


def test_a_damaged_record_is_named_by_the_check(home, sclcs, rank):
    record = min((home / "fc" / "tasks").glob("*/0.json"))
    change(record, b'"seconds"', b'"secondz"')
    sclcs("fc", "status", home / "fc", "--check").is_named("1 damaged records")
    sclcs("verify", home / "fc").is_named(record.name)
    rank().is_named("run the same `sclcs compute` again")


COHORT = {
    "label": lambda cohort: swap_label(cohort / "samples.csv"),
    "empty table": lambda cohort: (cohort / "samples.csv").write_bytes(b""),
    "fingerprint": lambda cohort: change(cohort / "zarr.json", b'"fingerprint"', b'"finger"'),
    "regions": lambda cohort: change(cohort / "zarr.json", b"region-0", b"region-x"),
    "shape": lambda cohort: change(cohort / "signals/zarr.json", b"16", b"15"),
    "no seal": lambda cohort: (cohort / SEAL).unlink(),
    "truth": lambda cohort: shutil.rmtree(cohort / "truth" / "subject_effects" / "c"),
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


def test_what_an_older_version_wrote_is_read_with_a_note_until_it_is_signed(home, sclcs, caplog):
    import zarr

    from sclcs.core import seal

    path = home / "c.zarr"
    before = Cohort.open(path)
    zarr.open_group(str(path), mode="a").attrs["format_version"] = 1
    (path / SEAL).unlink()
    seal._noted.clear()
    assert Cohort.open(path).fingerprint == before.fingerprint
    assert f"sclcs verify {path} --sign" in caplog.text
    assert sclcs("verify", path).out.endswith("though not signed (--sign signs it).\n")
    assert sclcs("verify", path, "--sign").code == 0
    assert sclcs("verify", path).out.endswith("everything is as sclcs wrote it.\n")
    swap_label(path / "samples.csv")
    sclcs("cohort", "describe", path).is_named("samples.csv")


def test_an_older_store_is_signed_too(home, sclcs):
    import zarr

    store = home / "fc"
    zarr.open_group(str(store), mode="a").attrs["format_version"] = 2
    (store / SEAL).unlink()
    index = json.loads((store / "operators.json").read_bytes())
    index.pop("digest")
    (store / "operators.json").write_text(json.dumps(index))
    assert len(FCStore.open(store).operators) == 3
    assert sclcs("verify", store, "--sign").code == 0
    (store / "matrices/pec/zarr.json").unlink()
    sclcs("verify", store).is_named("matrices/pec/zarr.json is gone or changed")


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
    from sclcs.core.errors import UnreadableFileError
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
    "chunk": lambda store: flip(store / "matrices/pec/c.0.0"),
    "array": lambda store: (store / "matrices/pec/zarr.json").write_bytes(b"{"),
    "table": lambda store: swap_label(store / "samples.csv"),
    "list": lambda store: (store / "operators.json").write_bytes(b""),
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
