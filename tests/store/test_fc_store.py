import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zarr

from sclcs._core import (
    DamagedStoreError,
    InputError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
)
from sclcs.spi import (
    OperatorOutcome,
    Status,
    compute_batch as compute,
    compute_block,
    operator_facts,
    sample_seeds,
    versions,
)
from sclcs.store import (
    FCStore,
    Piece,
    add_operators,
    block_size_for,
    create_store,
    drop_matrices,
    files_digest,
    forget_operators,
    matrices_identity,
    open_or_repair,
    write_piece,
)
from sclcs.store.pieces import read_piece
from sclcs.store.writer import note_complete, remove_leftovers
from store_damage import flip_chunk, piece_files

OPERATORS = ["cov_EmpiricalCovariance", "prec_OAS", "pec"]


SEED = 3
DIRECTED = "tlmi_gaussian"


def family_of(name):
    return operator_facts()[name].family


def fill(store, cohort, pieces):
    for piece in pieces:
        batch = np.asarray(
            cohort.signals[store.layout.block_rows(piece.family, piece.block)], np.float64
        )
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
    note_complete(empty, OPERATORS)
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


def test_a_store_carries_the_metadata_of_its_cohort(store, cohort):
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


def test_any_zarr_reader_can_open_it(store, cohort):
    add_operators(store, [DIRECTED], SEED)
    fill(store, cohort, store.missing())
    group = zarr.open_group(str(store.path), mode="r")["matrices"]
    assert set(group.array_keys()) == {family_of(name) for name in [*OPERATORS, DIRECTED]}
    for name in [*OPERATORS, DIRECTED]:
        array = group[family_of(name)]
        spis = array.attrs["spi"]
        assert array.metadata.dimension_names == ("spi", "sample", "source", "target")
        assert (array.shape, array.chunks) == ((len(spis), 7, 5, 5), (1, 3, 5, 5))
        assert array.shards == (len(spis), 3, 5, 5)
        np.testing.assert_array_equal(array[spis.index(name)], store.matrices(name))
    array = group["covariance"]
    other = array.attrs["spi"].index("cov_OAS")
    assert np.isnan(array[other]).all()  # was not asked for


def test_zarr_would_write_the_same_metadata_and_chunks(store, tmp_path):
    """Our bytes are those of zarr's own writer."""
    ours = zarr.open_group(str(store.path), mode="r")["matrices/envelope"]
    copy = zarr.create_array(
        str(tmp_path / "copy"),
        shape=ours.shape,
        chunks=ours.chunks,
        shards=ours.shards,
        dtype=np.float32,
        compressors=ours.compressors,
        fill_value=np.nan,
        dimension_names=ours.metadata.dimension_names,
        chunk_key_encoding={"name": "default", "separator": "."},
    )
    place = ours.attrs["spi"].index("pec")
    copy[place] = store.matrices("pec")
    span = read_piece(store.layout.piece_file("envelope", 0)).spans["pec"]
    chunk = store.layout.piece_file("envelope", 0).read_bytes()[span[0] : sum(span)]
    assert (tmp_path / "copy" / "c.0.0.0.0").read_bytes().startswith(chunk)
    own = json.loads((tmp_path / "copy" / "zarr.json").read_text())
    described = json.loads((store.path / "zarr.json").read_text())["consolidated_metadata"][
        "metadata"
    ]
    assert own | {"attributes": {"spi": ours.attrs["spi"]}} == described["matrices/envelope"]


def test_labelled_array(store):
    labelled = store.to_xarray(["pec", "prec_OAS"])
    assert labelled.dims == ("spi", "scan", "source", "target")
    value = labelled.sel(spi="prec_OAS", scan="s5", source="left", target="back").item()
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


def test_pieces_of_other_operators_of_a_family_do_not_disturb_each_other(store, empty, cohort):
    whole = {path: path.read_bytes() for path in piece_files(store, "prec_OAS")}
    forget_operators(store, OPERATORS)
    assert piece_files(store, "prec_OAS") == []
    add_operators(store, OPERATORS, SEED)
    alone = [Piece(p.family, p.block, (name,)) for p in empty.missing() for name in p.operators]
    for piece in alone[::-1]:
        fill(empty, cohort, [piece])
    assert empty.missing(check=True) == []
    assert sorted(read_piece(store.layout.piece_file("covariance", 0)).entries) == OPERATORS[:2]
    assert whole.keys() == set(piece_files(store, "prec_OAS"))


def test_damage_is_found_and_computed_again(store, cohort):
    before = {name: store.matrices(name) for name in OPERATORS}
    flip_chunk(store, "prec_OAS", 2)
    store.layout.piece_file("envelope", 1).unlink()
    damaged = store.verify()
    assert [(t.block, t.operators) for t in damaged] == [(1, ("pec",)), (2, ("prec_OAS",))]
    assert store.complete_operators == OPERATORS  # nobody leaves them out in silence
    with pytest.raises(DamagedStoreError, match=r"prec_OAS .* damaged; run the same"):
        store.matrices("prec_OAS")
    with pytest.raises(DamagedStoreError, match=r"pec are gone .* blocks 1"):
        store.matrices("pec")
    fill(store, cohort, damaged)
    assert store.verify() == []
    for name, values in before.items():
        np.testing.assert_array_equal(store.matrices(name), values)


@pytest.mark.parametrize("change", [b"", b"{", b"[]" * 99, b"\xff" * 99])
def test_a_damaged_head_is_found(store, change):
    store.layout.piece_file("covariance", 0).write_bytes(change)
    assert store.verify() == [Piece("covariance", 0, ("cov_EmpiricalCovariance", "prec_OAS"))]
    with pytest.raises(DamagedStoreError, match=r"prec_OAS are gone .* or damaged: blocks 0"):
        store.matrices("prec_OAS")


def test_a_damaged_index_is_found(store, cohort):
    """We do not need it, but zarr's readers do."""
    file = store.layout.piece_file("covariance", 1)
    content = bytearray(file.read_bytes())
    content[-9] ^= 1
    file.write_bytes(bytes(content))
    damaged = store.verify()
    assert damaged == [Piece("covariance", 1, ("cov_EmpiricalCovariance", "prec_OAS"))]
    fill(store, cohort, damaged)
    assert store.verify() == []


def test_a_piece_in_the_wrong_place_is_found(store):
    layout = store.layout
    layout.piece_file("envelope", 0).write_bytes(layout.piece_file("envelope", 1).read_bytes())
    layout.piece_file("covariance", 2).write_bytes(layout.piece_file("envelope", 2).read_bytes())
    assert [(t.family, t.block) for t in store.verify()] == [("envelope", 0), ("covariance", 2)]


def test_every_flipped_byte_of_a_piece_is_found(store):
    file = store.layout.piece_file("envelope", 1)
    content = file.read_bytes()
    for number in range(len(content)):
        damaged = bytearray(content)
        damaged[number] ^= 1 << number % 8
        file.write_bytes(bytes(damaged))
        assert store.verify() == [Piece("envelope", 1, ("pec",))], number


def test_pieces_survive_exactly(empty):
    piece = empty.missing(["pec"])[1]
    states = [Status.FAILED, Status.OK, Status.OK]
    found = OperatorOutcome(
        np.ones((3, 5, 5)), states, ['why "\u2207"\n', "", ""], seconds=0.1 + 0.2
    )
    write_piece(empty.layout, piece, {"pec": found}, SEED, {"pec": 0.1})
    entry = read_piece(empty.layout.piece_file("envelope", 1)).entries["pec"]
    assert entry.exceptions == {0: ("failed", 'why "\u2207"\n')}
    assert (entry.version, entry.seed, entry.seconds) == ("1.1", None, 0.1 + 0.2)
    assert entry.copied_seconds == 0.1


def test_matrices_that_are_not_kept(store, cohort):
    used = sum(file.stat().st_size for file in piece_files(store, "prec_OAS"))
    digest, identity = files_digest(store, OPERATORS), matrices_identity(store, OPERATORS)
    freed = drop_matrices(store, ["prec_OAS"])
    assert used - freed == sum(file.stat().st_size for file in piece_files(store, "prec_OAS"))
    assert (store.operators, store.not_kept) == ([OPERATORS[0], "pec"], ["prec_OAS"])
    assert store.verify() == []
    assert store.status().loc["prec_OAS", ["ok", "missing", "kept"]].tolist() == [7, 0, False]
    assert files_digest(store, OPERATORS) == digest
    assert matrices_identity(store, OPERATORS).digest() == identity.digest()
    with pytest.raises(InputError, match="computed, but not kept"):
        store.matrices("prec_OAS")
    add_operators(store, OPERATORS, SEED)
    assert {piece.operators for piece in store.missing()} == {("prec_OAS",)}
    fill(store, cohort, store.missing())
    assert files_digest(store, OPERATORS) == digest


def test_operators_of_another_version_are_refused(store, monkeypatch):
    monkeypatch.setattr(versions, "FAMILY_VERSIONS", {"covariance": 99})
    add_operators(store, ["pec"])
    with pytest.raises(InputError, match=r"prec_OAS \(there 1.3, now 1.99\).*--force"):
        add_operators(store, ["pec", "prec_OAS"])


def test_forgotten_operators_can_come_back_in_a_new_version(store, cohort, monkeypatch):
    monkeypatch.setattr(versions, "FAMILY_VERSIONS", {"covariance": 99})
    forget_operators(store, ["prec_OAS", "kendalltau"])
    assert store.operators == ["cov_EmpiricalCovariance", "pec"]
    add_operators(store, ["prec_OAS"])
    assert {t.operators for t in store.missing()} == {("prec_OAS",)}
    fill(store, cohort, store.missing())
    assert store.status()["version"].to_dict() == {
        "cov_EmpiricalCovariance": "1.3",
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
    assert empty.failures() == {("pec", "ValueError: bad"): 1}


def test_status_of_an_empty_store(cohort, tmp_path):
    store = create_store(tmp_path / "fc", cohort, cohort.fingerprint)
    assert store.operators == []
    assert len(store.status()) == len(store.sample_status()) == 0


def test_block_size_depends_on_size_and_cost_only():
    sizes = [block_size_for("kendall", n, 70) for n in (2, 33, 160, 400, 2000)]
    assert sizes == [256, 256, 20, 3, 1]
    assert block_size_for("nearest_neighbour", 100, 200) < block_size_for("kendall", 100, 200)
    assert block_size_for("nearest_neighbour", 200, 400) == 1


def test_what_is_not_a_store_is_refused(store, cohort, tmp_path):
    with pytest.raises(NotFoundError, match="fc-store folder at"):
        FCStore.open(tmp_path / "nowhere")
    cohort.save(tmp_path / "cohort.zarr")
    with pytest.raises(UnreadableFileError, match="Expected a fc-store"):
        FCStore.open(tmp_path / "cohort.zarr")
    group = zarr.open_group(str(store.path), mode="a")
    group.attrs["format_version"] = 4
    with pytest.raises(UnreadableFileError, match=r"of format 1 at .*, found format 4, written by"):
        FCStore.open(store.path)
    group.attrs["format_version"] = 1
    (store.path / "samples.csv").unlink()
    with pytest.raises(DamagedStoreError, match="damaged"):
        FCStore.open(store.path)


def test_temporary_files_of_killed_writers_are_removed(store):
    before = sorted(store.path.rglob("*"))
    (store.layout.family_folder("envelope") / ".c.0.0.12345678.partial").write_bytes(b"ours")
    (store.path / ".zarr.json.0123abcd.partial").write_bytes(b"ours")
    remove_leftovers(store.layout)
    assert sorted(store.path.rglob("*")) == before


RANDOM = "cov_MinCovDet"


def test_only_operators_that_draw_random_numbers_have_a_seed(store, cohort):
    add_operators(store, [RANDOM], SEED)
    assert store.seeds == {RANDOM: SEED}
    assert store.version("pec") == "1.1"
    assert store.version(RANDOM) == "1.3"
    assert str(store.stamp("pec")) == "1.1"
    assert str(store.stamp(RANDOM)) == f"1.3 seed {SEED}"
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


@pytest.mark.parametrize("file", ["zarr.json", "samples.csv"])
@pytest.mark.parametrize("harm", [None, b"", b"{", b"[]"])
def test_damaged_metadata_is_refused_and_written_again(store, cohort, harm, file):
    add_operators(store, [RANDOM], SEED)
    fill(store, cohort, store.missing())
    drop_matrices(store, ["prec_OAS"])
    before, rows = store.matrices("pec"), store.stamps
    (store.path / file).unlink()
    if harm is not None:
        (store.path / file).write_bytes(harm)
    with pytest.raises(DamagedStoreError, match=r"damaged.*run the same `sclcs compute`"):
        FCStore.open(store.path)
    again = open_or_repair(store.path, cohort, cohort)
    assert (again.stamps, again.not_kept) == (rows, ["prec_OAS"])
    pd.testing.assert_frame_equal(again.samples, cohort.samples)
    np.testing.assert_array_equal(again.matrices("pec"), before)
    assert again.missing(check=True) == []
    other = cohort.take(cohort.sample_ids[:5])
    (store.path / file).unlink()
    with pytest.raises(InputError, match="another cohort or core-set"):
        open_or_repair(store.path, other, cohort)


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


def test_metadata_is_read_once_however_many_operators_are_read(store, monkeypatch):
    """The first version read the file of every operator for every matrix."""
    seen = Counter()
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (seen.update([path]), read(path))[1])
    opened = FCStore.open(store.path)
    for _ in range(3):
        for name in opened.complete_operators:
            opened.matrices(name)
    inside = {path.relative_to(store.path).as_posix(): count for path, count in seen.items()}
    assert inside == {"zarr.json": 1, "samples.csv": 1}  # and pieces, where they are needed


def test_digests_follow_the_content(store, cohort):
    identity = matrices_identity(store, ["pec"])
    files = files_digest(store, ["pec"])
    add_operators(store, ["pec_orth"], SEED)  # the same family, the same records
    fill(store, cohort, store.missing())
    assert matrices_identity(store, ["pec"]).digest() == identity.digest()
    assert files_digest(store, ["pec"]) == files
    assert matrices_identity(store, ["pec", "pec_orth"]).digest() != identity.digest()
    chunk = store.layout.piece_file("envelope", 0)
    os.utime(chunk, ns=(1, 1))  # only what is in it counts
    assert files_digest(store, ["pec"]) == files
    assert matrices_identity(store, ["pec"]).digest() == identity.digest()
    flip_chunk(store, "pec", 0)
    assert files_digest(store, ["pec"]) is None
    assert files_digest(store, ["kendalltau"]) is None
