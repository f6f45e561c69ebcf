import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zarr
from scipy.spatial.distance import squareform

from sclcs.core.errors import (
    DamagedStoreError,
    InputError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
)
from sclcs.spi import compute, compute_block, versions
from sclcs.spi.fc_index import damaged_records
from sclcs.spi.fc_layout import block_size_for, blocks_per_shard_for
from sclcs.spi.fc_mending import mend_store
from sclcs.spi.fc_records import OperatorEntry, Piece
from sclcs.spi.fc_status import files_digest, matrices_identity
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import (
    add_operators,
    create_store,
    forget_operators,
    pack_pieces,
    remove_leftovers,
    write_piece,
)
from sclcs.spi.packing.piece_files import read_piece_file, write_piece_file
from sclcs.spi.packing.repack import repack_store
from sclcs.spi.packing.shard_records import column_of, read_columns, write_columns
from sclcs.spi.signals import sample_seeds
from sclcs.spi.status import OperatorOutcome, Status
from store_damage import as_format_3, flip_chunk, stored

OPERATORS = ["cov_EmpiricalCovariance", "prec_OAS", "pec"]


SEED = 3
DIRECTED = "tlmi_gaussian"


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
    array = group["pec"]  # symmetric: the upper triangle, as scipy's squareform has it
    assert (array.shape, array.chunks, array.shards) == ((7, 10), (3, 10), (9, 10))
    assert array.metadata.dimension_names == ("sample", "pair")
    for pairs, matrix in zip(array[:], store.matrices("pec"), strict=True):
        np.testing.assert_array_equal(squareform(pairs), np.where(np.eye(5), 0, matrix))


def test_directed_operators_are_kept_whole(store, cohort):
    add_operators(store, [DIRECTED], SEED)
    fill(store, cohort, store.missing())
    array = zarr.open_group(str(store.path / "matrices"), mode="r")[DIRECTED]
    assert (array.shape, array.chunks, array.shards) == ((7, 5, 5), (3, 5, 5), (9, 5, 5))
    assert array.metadata.dimension_names == ("sample", "source", "target")
    np.testing.assert_array_equal(array[:], store.matrices(DIRECTED))
    expected = compute(cohort.signals, [DIRECTED], seed=SEED).to_numpy()[0].astype(np.float32)
    np.testing.assert_array_equal(store.matrices(DIRECTED), expected)
    assert not np.array_equal(expected, expected.transpose(0, 2, 1), equal_nan=True)


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


def test_a_shard_without_a_record_is_not_done(store):
    store.layout.record_file("envelope", 0).unlink()
    assert [(t.family, t.block) for t in store.missing()] == [("envelope", k) for k in range(3)]
    assert np.isnan(store.matrices("pec", allow_missing=True)).all()


def test_pieces_wait_until_their_shard_is_complete(empty, cohort):
    """Killed at any moment, a matrix is in a piece or in a recorded shard."""
    first, second, third = empty.missing(["pec"])
    fill(empty, cohort, [third, first])
    assert [path.name.partition(".")[0] for path in empty.layout.piece_files("envelope", 0)] == [
        "0", "2",
    ]  # fmt: skip
    assert not empty.layout.shard_file("pec", 0).exists()
    before = empty.matrices("pec", [0, 6])
    pieces = {path: path.read_bytes() for path in empty.layout.piece_files("envelope", 0)}
    fill(empty, cohort, [second])
    assert empty.layout.unpacked() == []
    assert empty.layout.shard_file("pec", 0).exists()
    np.testing.assert_array_equal(empty.matrices("pec", [0, 6]), before)
    # Killed before the pieces went: both are there and agree, and the next fill clears up.
    shard = empty.layout.shard_file("pec", 0).read_bytes()
    for path, content in pieces.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    np.testing.assert_array_equal(empty.matrices("pec", [0, 6]), before)
    pack_pieces(empty.layout)
    assert empty.layout.unpacked() == []
    assert empty.layout.shard_file("pec", 0).read_bytes() == shard
    # Killed before the record was written: the shard does not count, the pieces do.
    for path, content in pieces.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    empty.layout.record_file("envelope", 0).unlink()
    assert empty.missing(["pec"]) == [second]


def test_pieces_of_other_operators_of_a_family_do_not_disturb_each_other(empty, cohort):
    """Work can be cut below a family: each part has files of its own, and all are packed."""
    alone = [Piece(p.family, p.block, (name,)) for p in empty.missing() for name in p.operators]
    for piece in alone[::-1]:
        fill(empty, cohort, [piece])
    assert empty.missing(check=True) == []
    assert empty.layout.unpacked() == []
    assert sorted(read_columns(empty.layout.record_file("covariance", 0))) == OPERATORS[:2]


def test_damage_is_found_and_computed_again(store, cohort):
    whole = store.layout.shard_file("prec_OAS", 0).read_bytes()
    flip_chunk(store, "prec_OAS", 2)
    store.layout.shard_file("pec", 0).unlink()
    assert store.missing() == []
    damaged = store.verify()
    assert [(t.block, t.operators) for t in damaged] == [
        (0, ("pec",)), (1, ("pec",)), (2, ("prec_OAS",)), (2, ("pec",)),
    ]  # fmt: skip
    with pytest.raises(DamagedStoreError, match=r"prec_OAS .* damaged; run the same"):
        store.matrices("prec_OAS")
    with pytest.raises(DamagedStoreError, match="gone"):
        store.matrices("pec")
    fill(store, cohort, damaged)
    assert store.layout.shard_file("prec_OAS", 0).read_bytes() == whole
    assert store.verify() == []
    assert store.layout.unpacked() == []


def test_a_damaged_table_of_a_shard_is_found(store):
    file = store.layout.shard_file("prec_OAS", 0)
    content = bytearray(file.read_bytes())
    content[-9] ^= 1
    file.write_bytes(bytes(content))
    assert {t.operators for t in store.verify()} == {("prec_OAS",)}
    with pytest.raises(DamagedStoreError, match=r"prec_OAS .* damaged; run the same"):
        store.matrices("prec_OAS")


def test_a_damaged_piece_is_found(empty, cohort):
    fill(empty, cohort, empty.missing(["pec"])[:2])
    flip_chunk(empty, "pec", 0)
    assert [(t.block, t.operators) for t in empty.verify()] == [(0, ("pec",))]
    (head, other) = empty.layout.piece_files("envelope", 0)
    other.write_bytes(other.read_bytes()[:30])
    assert damaged_records(empty.layout) == [str(other.relative_to(empty.path))]
    assert [t.block for t in empty.missing(["pec"])] == [1, 2]
    head.rename(head.with_name(other.name))  # a piece of another block
    assert [t.block for t in empty.missing(["pec"])] == [0, 1, 2]


def test_a_shard_of_another_operator_does_not_pass(store):
    other = store.layout.shard_file("cov_EmpiricalCovariance", 0).read_bytes()
    store.layout.shard_file("prec_OAS", 0).write_bytes(other)  # intact, but not what was written
    assert {t.operators for t in store.verify()} == {("prec_OAS",)}


@pytest.mark.parametrize("change", [b"", b"{", b"[]", b'{"checksum": 1, "operators": {}}'])
def test_a_damaged_record_means_not_done(store, change):
    path = store.layout.record_file("covariance", 0)
    path.write_bytes(change)
    assert [(t.family, t.block) for t in store.missing()] == [("covariance", k) for k in range(3)]
    assert damaged_records(store.layout) == ["tasks/covariance/0.json"]


def test_a_changed_record_means_not_done(store):
    path = store.layout.record_file("covariance", 0)
    record = json.loads(path.read_text())
    record["operators"]["prec_OAS"]["seconds"][0] += 1
    path.write_text(json.dumps(record))
    assert read_columns(path) == {}


def test_records_survive_exactly(tmp_path):
    failed = {3: ("failed", 'why "\u2207"\n')}
    entries = [
        OperatorEntry("1.1", "0f0f0f0f", 0.1 + 0.2, failed, 7, 0.1),
        OperatorEntry("1.1", "12345678", 3.0, {}, 7, 0.0),
    ]
    write_columns(tmp_path / "r.json", {"a": column_of(entries)})
    column = read_columns(tmp_path / "r.json")["a"]
    assert [column.entry(place) for place in range(2)] == entries
    file = tmp_path / "family" / "0" / "5.12345678"
    write_piece_file(file, {"a": entries[0], "b": entries[1]}, {"a": b"abc", "b": b"defgh"})
    held = read_piece_file(file)
    assert {name: entry for name, (entry, _) in held.items()} == dict(
        zip("ab", entries, strict=True)
    )
    start, length = held["b"][1]
    assert file.read_bytes()[start : start + length] == b"defgh"


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
    sizes = [block_size_for(n) for n in (2, 33, 160, 400, 2000)]
    assert sizes == [64, 64, 10, 1, 1]
    shards = [
        blocks_per_shard_for(9999, n, k)
        for n, k in zip((2, 33, 160, 400, 2000), sizes, strict=True)
    ]
    assert shards == [64, 64, 64, 64, 4]
    assert blocks_per_shard_for(7, 5, 3) == 3


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
    assert list((store.path / ".lock").iterdir()) != []  # those of packing
    remove_leftovers(store.layout)
    assert list((store.path / ".lock").iterdir()) == []
    before = sorted(store.path.rglob("*"))
    (store.layout.array_folder("pec") / ".c.0.0.12345678.partial").write_bytes(b"ours")
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


def as_first_version(store, folder):
    """Copy a store as the first version wrote it: one seed for all, no index of operators."""
    old = as_format_3(store, folder)
    (old.path / "operators.json").unlink()
    (old.path / "seal.json").unlink()
    group = zarr.open_group(str(old.path), mode="a")
    group.attrs.update({"format_version": 1, "seed": SEED})
    for name in zarr.open_group(str(old.path / "matrices"), mode="r").array_keys():
        file = old.layout.array_folder(name) / "zarr.json"
        facts = json.loads(file.read_text())
        facts["attributes"].pop("seed")
        file.write_text(json.dumps(facts))
    return FCStore.open(old.path)


@pytest.mark.parametrize("older", [as_first_version, as_format_3])
def test_a_store_of_an_older_format_is_read_and_copied(store, cohort, tmp_path, older):
    add_operators(store, [RANDOM, DIRECTED], SEED)
    fill(store, cohort, store.missing())
    before = {name: store.matrices(name) for name in store.operators}
    old = older(store, tmp_path / "old")
    assert old.seeds == {RANDOM: SEED}
    assert old.missing(check=True) == []
    assert len(list(old.path.rglob("c.*"))) == 3 * len(before)
    again = repack_store(old.path, tmp_path / "again")
    assert len(list(again.path.rglob("c.*"))) == len(before)
    for name, values in before.items():
        assert old.matrices(name).tobytes() == values.tobytes()
        assert again.matrices(name).tobytes() == values.tobytes()
        shard = again.layout.shard_file(name, 0)
        assert shard.read_bytes() == store.layout.shard_file(name, 0).read_bytes()
    assert again.missing(check=True) == []
    pd.testing.assert_frame_equal(again.status(), store.status())
    assert (again.fingerprint, again.provenance) == (store.fingerprint, store.provenance)
    add_operators(again, ["cov_OAS", RANDOM], SEED)
    assert {piece.operators for piece in again.missing()} == {("cov_OAS",)}


def test_damage_in_a_store_of_an_older_format_is_found(store, tmp_path):
    old = as_format_3(store, tmp_path / "old")
    flip_chunk(old, "pec", 1)
    stored(old, "prec_OAS", 0).file.unlink()
    assert {(t.block, t.operators) for t in old.verify()} == {(1, ("pec",)), (0, ("prec_OAS",))}
    with pytest.raises(DamagedStoreError, match="gone"):
        old.matrices("prec_OAS")
    again = repack_store(old.path, tmp_path / "again")  # what is good is copied
    assert {(t.block, t.operators) for t in again.missing()} == {
        (1, ("pec",)), (0, ("prec_OAS",)),
    }  # fmt: skip


@pytest.mark.parametrize("harm", ["gone", "damaged", "of something else"])
def test_a_damaged_index_is_refused_and_made_again(store, cohort, harm):
    index = store.path / "operators.json"
    before = store.layout.index().stamps
    if harm == "gone":
        index.unlink()
    else:
        index.write_text("{" if harm == "damaged" else "[]")
    with pytest.raises(DamagedStoreError, match=r"operators\.json.*run the same `sclcs compute`"):
        FCStore.open(store.path)
    assert mend_store(store.path, cohort, cohort).layout.index().stamps == before
    assert FCStore.open(store.path).layout.index().stamps == before
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
    facts = {name: count for name, count in inside.items() if name.endswith(".json")}
    assert set(facts) <= {
        "zarr.json", "operators.json", "tasks/covariance/0.json", "tasks/envelope/0.json",
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
    chunk = store.layout.shard_file("pec", 0)
    os.utime(chunk, ns=(1, 1))  # only what is in it counts
    assert files_digest(store, ["pec"]) == files
    assert matrices_identity(store, ["pec"]).digest() == identity.digest()
    chunk.unlink()
    assert files_digest(store, ["pec"]) is None
    assert files_digest(store, ["kendalltau"]) is None
