import json
import os
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zarr

from sclcs.core.errors import (
    DamagedStoreError,
    InputError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
)
from sclcs.spi import compute, compute_block, versions
from sclcs.spi.fc_layout import block_size_for
from sclcs.spi.fc_mending import mend_store
from sclcs.spi.fc_records import OperatorEntry, read_record, write_record
from sclcs.spi.fc_status import files_digest, matrices_identity
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import (
    add_operators,
    create_store,
    forget_operators,
    remove_leftovers,
    write_piece,
)
from sclcs.spi.signals import sample_seeds
from sclcs.spi.status import OperatorOutcome, Status

OPERATORS = ["cov_EmpiricalCovariance", "prec_OAS", "pec"]


SEED = 3


def fill(store, cohort, pieces):
    for piece in pieces:
        batch = np.asarray(cohort.signals[store.layout.block_rows(piece.block)], np.float64)
        found = compute_block(batch, piece.operators, sample_seeds=sample_seeds(batch, SEED))
        write_piece(store.layout, piece, found, SEED)


@pytest.fixture
def empty(cohort, tmp_path):
    """A store of seven samples in blocks of three, with nothing computed."""
    store = create_store(tmp_path / "fc", cohort, cohort.fingerprint, block_size=3)
    add_operators(store, OPERATORS, SEED)
    return store


@pytest.fixture
def store(empty, cohort):
    fill(empty, cohort, empty.missing())
    return empty


def test_matrices_are_those_of_compute(store, cohort):
    expected = compute(cohort.signals, OPERATORS, seed=3)
    for name in OPERATORS:
        found = store.matrices(name)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected.sel(spi=name).to_numpy().astype(np.float32))
        assert np.isnan(np.diagonal(found, axis1=1, axis2=2)).all()
        np.testing.assert_array_equal(store.matrices(name, [6, 0, 0, 4]), found[[6, 0, 0, 4]])
        np.testing.assert_array_equal(store.matrices(name, np.arange(7) > 4), found[5:])
        assert store.matrices(name, []).shape == (0, 5, 5)


def test_a_store_carries_the_facts_of_its_cohort(store, cohort):
    again = FCStore.open(store.path)
    pd.testing.assert_frame_equal(again.samples, cohort.samples)
    assert (again.sample_ids, again.regions, again.tr) == (
        cohort.sample_ids,
        cohort.regions,
        cohort.tr,
    )
    assert again.fingerprint == cohort.fingerprint
    assert again.provenance["cohort"] == {"source": "test"}
    assert again.provenance["software"]["numpy"] == np.__version__
    assert repr(again) == "FCStore(3 operators, 7 samples, 5 regions)"
    assert again.operators == again.complete_operators == OPERATORS


def test_any_zarr_reader_can_open_it(store):
    group = zarr.open_group(str(store.path / "matrices"), mode="r")
    assert sorted(group.array_keys()) == sorted(OPERATORS)
    array = group["pec"]
    assert (array.shape, array.chunks, array.dtype) == ((7, 5, 5), (3, 5, 5), np.float32)
    assert array.metadata.dimension_names == ("sample", "source", "target")
    np.testing.assert_array_equal(array[:], store.matrices("pec"))


def test_labelled_array(store):
    labelled = store.to_xarray(["pec", "prec_OAS"])
    assert labelled.dims == ("spi", "sample", "source", "target")
    value = labelled.sel(spi="prec_OAS", sample="s5", source="left", target="back").item()
    assert value == store.matrices("prec_OAS")[5, 0, 3]
    assert store.to_xarray().sizes["spi"] == 3


def test_what_is_not_done_is_an_error_or_nan(empty, cohort):
    fill(empty, cohort, [task for task in empty.missing() if task.block == 1])
    assert empty.complete_operators == []
    assert empty.operators == OPERATORS
    with pytest.raises(InputError, match=r"computed on 1 of 3 blocks .* run the same"):
        empty.matrices("pec")
    np.testing.assert_array_equal(empty.matrices("pec", [3, 5])[0], empty.matrices("pec", [3])[0])
    found = empty.matrices("pec", allow_missing=True)
    assert np.isnan(found[[0, 1, 2, 6]]).all()
    assert np.isfinite(found[3:6]).any()
    with pytest.raises(UnknownNameError, match="kendalltau is not in the FC store"):
        empty.matrices("kendalltau")
    with pytest.raises(InputError, match="below 7"):
        empty.matrices("pec", [7])


def test_missing_names_pieces_until_they_are_done(empty, cohort):
    tasks = empty.missing()
    assert [(t.block, t.family, t.operators) for t in tasks[:2]] == [
        (0, "covariance", ("cov_EmpiricalCovariance", "prec_OAS")),
        (0, "envelope", ("pec",)),
    ]
    assert len(tasks) == 6
    fill(empty, cohort, tasks[2:])
    assert empty.missing() == tasks[:2]
    fill(empty, cohort, tasks[:2])
    assert empty.missing(check=True) == []
    add_operators(empty, ["cov_OAS"])
    assert {t.operators for t in empty.missing()} == {("cov_OAS",)}


def test_a_chunk_without_a_record_is_not_done(store):
    before = store.matrices("pec")
    store.layout.record_file("envelope", 1).unlink()
    assert [(t.family, t.block) for t in store.missing()] == [("envelope", 1)]
    assert np.isnan(store.matrices("pec", allow_missing=True)[3:6]).all()
    np.testing.assert_array_equal(store.matrices("pec", [0, 6]), before[[0, 6]])


def test_damage_is_found_and_computed_again(store, cohort):
    chunk = store.layout.chunk_file("prec_OAS", 2)
    whole = chunk.read_bytes()
    content = bytearray(whole)
    content[len(content) // 2] ^= 0xFF
    chunk.write_bytes(bytes(content))
    store.layout.chunk_file("pec", 0).unlink()
    assert store.missing() == []
    damaged = store.verify()
    assert [(t.block, t.operators) for t in damaged] == [(0, ("pec",)), (2, ("prec_OAS",))]
    with pytest.raises(DamagedStoreError, match=r"prec_OAS .* damaged; run the same"):
        store.matrices("prec_OAS")
    with pytest.raises(DamagedStoreError, match="gone"):
        store.matrices("pec")
    fill(store, cohort, damaged)
    assert chunk.read_bytes() == whole
    assert store.verify() == []


def test_a_chunk_of_another_content_does_not_pass(store):
    other = store.layout.chunk_file("prec_OAS", 0).read_bytes()
    store.layout.chunk_file("prec_OAS", 1).write_bytes(other)  # intact, but not what was written
    assert [(t.block, t.operators) for t in store.verify()] == [(1, ("prec_OAS",))]


@pytest.mark.parametrize("change", [b"", b"{", b"[]", b'{"checksum": 1, "operators": {}}'])
def test_a_damaged_record_means_not_done(store, change):
    path = store.layout.record_file("covariance", 0)
    path.write_bytes(change)
    assert [(t.family, t.block) for t in store.missing()] == [("covariance", 0)]


def test_a_changed_record_means_not_done(store):
    path = store.layout.record_file("covariance", 0)
    record = json.loads(path.read_text())
    record["operators"]["prec_OAS"]["seconds"] += 1
    path.write_text(json.dumps(record))
    assert read_record(path) == {}


def test_records_survive_exactly(tmp_path):
    entries = {
        "a": OperatorEntry("1.1", "0f", 0.1 + 0.2, {3: ("failed", 'why "\u2207"\n')}, 7, 0.1)
    }
    write_record(tmp_path / "r.json", entries)
    assert read_record(tmp_path / "r.json") == entries


def test_operators_of_another_version_are_refused(store, monkeypatch):
    monkeypatch.setattr(versions, "FAMILY_VERSIONS", {"covariance": 99})
    add_operators(store, ["pec"])
    with pytest.raises(InputError, match=r"prec_OAS \(there 1.2, now 1.99\).*--force"):
        add_operators(store, ["pec", "prec_OAS"])


def test_forgotten_operators_can_come_back_in_a_new_version(store, cohort, monkeypatch):
    monkeypatch.setattr(versions, "FAMILY_VERSIONS", {"covariance": 99})
    forget_operators(store, ["prec_OAS", "kendalltau"])
    assert store.operators == ["cov_EmpiricalCovariance", "pec"]
    add_operators(store, ["prec_OAS"])
    assert {t.operators for t in store.missing()} == {("prec_OAS",)}
    fill(store, cohort, store.missing())
    assert store.status()["version"].to_dict() == {
        "cov_EmpiricalCovariance": "1.2",
        "prec_OAS": "1.99",
        "pec": "1.1",
    }


def outcome(matrices, status, reason):
    return OperatorOutcome(matrices, status, reason, seconds=0.5)


def test_status_tables_say_what_became_of_everything(empty):
    piece = empty.missing(["pec"])[0]
    matrices = np.zeros((3, 5, 5))
    matrices[2] = 1e300
    states = [Status.FAILED, Status.OK, Status.OK]
    write_piece(
        empty.layout, piece, {"pec": outcome(matrices, states, ["ValueError: bad", "", ""])}
    )
    row = empty.status().loc["pec"]
    counts = row[["samples", "ok", "partial-nan", "failed", "skipped", "missing"]]
    assert counts.tolist() == [7, 1, 1, 1, 0, 4]
    assert (row["family"], row["seconds"], row["reason"]) == ("envelope", 0.5, "ValueError: bad")
    by_sample = empty.sample_status().set_index(["spi", "sample"]).loc["pec"]
    assert by_sample["status"].tolist() == ["failed", "ok", "partial-nan", *["missing"] * 4]
    assert by_sample.loc["s2", "reason"] == "values too large for float32"
    assert np.isnan(empty.matrices("pec", [2])).all()
    assert len(empty.block_status()) == 9


def test_status_of_an_empty_store(cohort, tmp_path):
    store = create_store(tmp_path / "fc", cohort, cohort.fingerprint)
    assert store.operators == []
    assert len(store.status()) == len(store.sample_status()) == 0


def test_block_size_depends_on_the_regions_only():
    assert [block_size_for(n) for n in (2, 33, 160, 400, 2000)] == [64, 64, 10, 1, 1]


def test_what_is_not_a_store_is_refused(store, cohort, tmp_path):
    with pytest.raises(NotFoundError, match="fc-store folder at"):
        FCStore.open(tmp_path / "nowhere")
    cohort.save(tmp_path / "cohort.zarr")
    with pytest.raises(UnreadableFileError, match="Expected a fc-store"):
        FCStore.open(tmp_path / "cohort.zarr")
    group = zarr.open_group(str(store.path), mode="a")
    group.attrs["format_version"] = 99
    with pytest.raises(UnreadableFileError, match="update sclcs"):
        FCStore.open(store.path)
    group.attrs["format_version"] = 1
    (store.path / "samples.csv").unlink()
    with pytest.raises(DamagedStoreError, match="incomplete or damaged"):
        FCStore.open(store.path)


def test_temporary_files_of_killed_writers_are_removed(store):
    before = sorted(store.path.rglob("*"))
    (store.layout.array_folder("pec") / ".c.0.0.0.12345678.partial").write_bytes(b"ours")
    (store.layout.array_folder("pec") / "zarr.0123abcd.partial").write_bytes(b"zarr's")
    (store.path / "matrices" / "zarr.0123abcd.partial").write_bytes(b"zarr's")
    store.layout.record_file("envelope", 0).with_name(".0.json.1.partial").write_bytes(b"{")
    remove_leftovers(store.layout)
    assert sorted(store.path.rglob("*")) == before


RANDOM = "cov_MinCovDet"


def test_only_operators_that_draw_random_numbers_have_a_seed(store, cohort):
    add_operators(store, [RANDOM], SEED)
    assert store.seeds == {RANDOM: SEED}
    assert store.version("pec") == "1.1"
    assert store.version(RANDOM) == "1.2"
    assert str(store.stamp("pec")) == "1.1"
    assert str(store.stamp(RANDOM)) == f"1.2 seed {SEED}"
    fill(store, cohort, store.missing())
    table = store.status()
    assert table.loc[RANDOM, "seed"] == SEED
    assert table["seed"].isna().sum() == len(OPERATORS)
    assert store.to_xarray([RANDOM]).attrs["seeds"] == {RANDOM: SEED}
    expected = compute(cohort.signals, [RANDOM], seed=SEED).to_numpy()[0].astype(np.float32)
    np.testing.assert_array_equal(store.matrices(RANDOM), expected)


def test_another_seed_takes_out_the_random_operators_only(store, cohort):
    add_operators(store, [RANDOM], SEED)
    fill(store, cohort, store.missing())
    add_operators(store, [*OPERATORS, RANDOM], SEED)
    assert store.missing() == []
    add_operators(store, [*OPERATORS, RANDOM], SEED + 1)
    assert {piece.operators for piece in store.missing()} == {(RANDOM,)}
    assert store.seeds == {RANDOM: SEED + 1}
    assert store.complete_operators == OPERATORS


def as_first_version(store):
    """Turn a store into what the first version wrote: one seed for all, no index of operators."""
    (store.path / "operators.json").unlink()
    (store.path / "seal.json").unlink()
    group = zarr.open_group(str(store.path), mode="a")
    group.attrs.update({"format_version": 1, "seed": SEED})
    for name in zarr.open_group(str(store.path / "matrices"), mode="r").array_keys():
        file = store.layout.array_folder(name) / "zarr.json"
        facts = json.loads(file.read_text())
        facts["attributes"].pop("seed")
        file.write_text(json.dumps(facts))
    for file in (store.path / "tasks").rglob("*.json"):
        record = json.loads(file.read_text())
        for entry in record["operators"].values():
            del entry["seed"], entry["copied_seconds"]
        text = json.dumps(record["operators"], sort_keys=True).encode()
        file.write_text(json.dumps({**record, "checksum": zlib.crc32(text)}))
    return FCStore.open(store.path)


def test_a_store_of_the_first_version_is_read_and_continued(store, cohort):
    add_operators(store, [RANDOM], SEED)
    fill(store, cohort, store.missing())
    before = {name: store.matrices(name) for name in store.operators}
    old = as_first_version(store)
    assert old.seeds == {RANDOM: SEED}
    assert old.missing(check=True) == []
    for name, values in before.items():
        np.testing.assert_array_equal(old.matrices(name), values)
    add_operators(old, ["cov_OAS", RANDOM], SEED)
    assert {piece.operators for piece in old.missing()} == {("cov_OAS",)}
    fill(old, cohort, old.missing())
    assert old.missing(check=True) == []
    add_operators(old, [RANDOM], SEED + 1)
    assert {piece.operators for piece in old.missing()} == {(RANDOM,)}


@pytest.mark.parametrize("harm", ["gone", "damaged", "of something else"])
def test_a_damaged_index_is_refused_and_made_again(store, cohort, harm):
    index = store.path / "operators.json"
    before = store.layout.stamps()
    if harm == "gone":
        index.unlink()
    else:
        index.write_text("{" if harm == "damaged" else "[]")
    with pytest.raises(DamagedStoreError, match=r"operators\.json.*run the same `sclcs compute`"):
        FCStore.open(store.path)
    assert mend_store(store.path, cohort, cohort.fingerprint).layout.stamps() == before
    assert FCStore.open(store.path).layout.stamps() == before
    assert store.missing(check=True) == []


def test_what_is_read_once_is_read_again_when_it_changes(store, cohort):
    other = FCStore.open(store.path)
    assert other.operators == OPERATORS
    add_operators(store, ["cov_OAS"], SEED)
    assert "cov_OAS" in other.operators
    assert other.missing() == store.missing() != []
    fill(store, cohort, store.missing())
    assert other.missing() == []
    forget_operators(store, ["pec"])
    with pytest.raises(UnknownNameError, match="pec is not in the FC store"):
        other.matrices("pec")


def test_facts_are_read_once_however_many_operators_are_read(store, monkeypatch):
    """The first version read the file of every operator for every matrix: fault 6."""
    seen = Counter()
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (seen.update([path]), read(path))[1])
    opened = FCStore.open(store.path)
    for _ in range(3):
        for name in opened.complete_operators:
            opened.matrices(name)
    inside = {path.relative_to(store.path).as_posix(): count for path, count in seen.items()}
    chunks = {name: count for name, count in inside.items() if "/c." in name}
    assert set(chunks.values()) == {3}
    assert len(chunks) == 3 * 3
    facts = {name: count for name, count in inside.items() if name.endswith(".json")}
    assert set(facts) <= {
        "zarr.json", "operators.json",
        *(f"tasks/{family}/{k}.json" for family in ("covariance", "envelope") for k in range(3)),
    }  # fmt: skip
    assert set(facts.values()) == {1}


def test_digests_follow_the_content(store, cohort):
    identity = matrices_identity(store, ["pec"])
    files = files_digest(store, ["pec"])
    add_operators(store, ["pec_orth"], SEED)  # the same family, the same records
    fill(store, cohort, store.missing())
    assert matrices_identity(store, ["pec"]).digest() == identity.digest()
    assert files_digest(store, ["pec"]) == files
    assert matrices_identity(store, ["pec", "pec_orth"]).digest() != identity.digest()
    chunk = store.layout.chunk_file("pec", 1)
    os.utime(chunk, ns=(1, 1))  # only what is in it counts
    assert files_digest(store, ["pec"]) == files
    assert matrices_identity(store, ["pec"]).digest() == identity.digest()
    chunk.unlink()
    assert files_digest(store, ["pec"]) is None
    assert files_digest(store, ["kendalltau"]) is None
