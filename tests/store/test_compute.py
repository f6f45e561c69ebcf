import socket

import numpy as np
import pytest
from store_content import OPERATORS, content

from sclcs._core import InputError, StoreInUseError, UnknownNameError, UnreadableFileError
from sclcs.cohort import Cohort, CoreSet
from sclcs.spi import compute_batch as compute, engine as runner, versions
from sclcs.store import (
    compute_store,
    do_piece,
    fill,
    fill_store,
    hold_store,
    make_orders,
    open_computation,
    parse_share,
    share_of,
)
from sclcs.store.layout import StoreLayout
from store_damage import flip_chunk


@pytest.fixture
def done_pieces(monkeypatch):
    """The pieces that were really done, in order."""
    seen = []
    real = fill.do_piece
    monkeypatch.setattr(fill, "do_piece", lambda order: (seen.append(order.piece), real(order))[1])
    return seen


def test_a_store_holds_what_compute_gives(saved_cohort, undisturbed):
    cohort = Cohort.open(saved_cohort)
    expected = compute(cohort.signals[:], OPERATORS)
    for name in OPERATORS:
        np.testing.assert_array_equal(
            undisturbed.matrices(name), expected.sel(spi=name).to_numpy().astype(np.float32)
        )
    assert undisturbed.fingerprint == cohort.fingerprint
    assert undisturbed.operators == sorted(OPERATORS, key=undisturbed.operators.index)


def test_a_finished_store_is_not_computed_again(saved_cohort, tmp_path, done_pieces):
    computation = open_computation(saved_cohort, tmp_path / "fc", OPERATORS[:3], block_size=8)
    report = fill_store(computation)
    assert (report.pieces, report.matrices, len(done_pieces)) == (8, 93, 8)
    assert 0 < report.kernel_seconds < report.seconds
    again = fill_store(computation)
    assert (again.pieces, again.matrices, len(done_pieces)) == (0, 0, 8)


def test_resuming_computes_only_what_is_missing(saved_cohort, tmp_path, done_pieces):
    store = compute_store(saved_cohort, tmp_path / "fc", OPERATORS, block_size=2)
    before = content(store.path)
    assert len(done_pieces) == 16 * 4
    flip_chunk(store, "prec_OAS", 5)
    flip_chunk(store, "pec", 15)
    flip_chunk(store, "pec_orth", 15)
    store.layout.piece_file("distance", 7).unlink()
    done_pieces.clear()
    compute_store(saved_cohort, tmp_path / "fc", OPERATORS)
    assert [(t.family, t.block, t.operators) for t in done_pieces] == [
        ("covariance", 5, ("prec_OAS",)),
        ("distance", 7, ("pdist_cosine",)),
        ("envelope", 15, ("pec", "pec_orth")),
    ]
    assert content(store.path) == before


def test_damage_of_a_head_costs_its_piece(saved_cohort, tmp_path, done_pieces):
    store = compute_store(saved_cohort, tmp_path / "fc", OPERATORS, block_size=2)
    before = content(store.path)
    file = store.layout.piece_file("envelope", 3)
    damaged = bytearray(file.read_bytes())
    damaged[20] ^= 1
    file.write_bytes(bytes(damaged))
    done_pieces.clear()
    compute_store(saved_cohort, tmp_path / "fc", OPERATORS)
    again = [(piece.family, piece.block, piece.operators) for piece in done_pieces]
    assert again == [("envelope", 3, ("pec", "pec_orth"))]
    assert content(store.path) == before


def test_operators_can_be_added(saved_cohort, undisturbed, tmp_path, done_pieces):
    compute_store(saved_cohort, tmp_path / "fc", OPERATORS[::2], block_size=2)
    first = len(done_pieces)
    store = compute_store(saved_cohort, tmp_path / "fc", OPERATORS)
    assert {name for piece in done_pieces[first:] for name in piece.operators} == set(
        OPERATORS[1::2]
    )
    assert content(store.path) == content(undisturbed.path)


def test_force_computes_the_requested_operators_again(
    saved_cohort, undisturbed, tmp_path, done_pieces
):
    compute_store(saved_cohort, tmp_path / "fc", OPERATORS, block_size=2)
    done_pieces.clear()
    store = compute_store(saved_cohort, tmp_path / "fc", "pec", force=True)
    assert {piece.operators for piece in done_pieces} == {("pec",)}
    assert len(done_pieces) == 16
    assert content(store.path) == content(undisturbed.path)


def test_several_processes_write_the_same_bytes(saved_cohort, undisturbed, tmp_path):
    store = compute_store(saved_cohort, tmp_path / "fc", OPERATORS, on="local:2", block_size=2)
    assert content(store.path) == content(undisturbed.path)


def test_a_cohort_in_memory_gives_the_same_bytes(saved_cohort, undisturbed, tmp_path):
    cohort = Cohort.open(saved_cohort).load()
    store = compute_store(cohort, tmp_path / "fc", OPERATORS, block_size=2)
    assert content(store.path) == content(undisturbed.path)


def test_the_order_of_pieces_does_not_matter(saved_cohort, undisturbed, tmp_path, monkeypatch):
    real = StoreLayout.pieces
    monkeypatch.setattr(StoreLayout, "pieces", lambda *given: real(*given)[::-1])
    store = compute_store(saved_cohort, tmp_path / "fc", OPERATORS, block_size=2)
    assert content(store.path) == content(undisturbed.path)


def test_block_size_does_not_change_numbers(saved_cohort, undisturbed, tmp_path):
    store = compute_store(saved_cohort, tmp_path / "fc", OPERATORS)
    assert {piece.block for piece in store.layout.pieces(OPERATORS)} == {0}
    for name in OPERATORS:
        np.testing.assert_array_equal(store.matrices(name), undisturbed.matrices(name))


def test_processes_that_share_the_pieces_do_everything_once(
    saved_cohort, undisturbed, tmp_path, done_pieces
):
    computation = open_computation(saved_cohort, tmp_path / "fc", OPERATORS, block_size=2)
    for number in (3, 1, 2):
        fill_store(computation, only=share_of(computation, number, 3))
    assert len(done_pieces) == len(set(done_pieces)) == 64
    assert fill_store(computation).matrices == 0  # notes that all is done
    assert content(computation.store.path) == content(undisturbed.path)


def test_two_processes_may_do_the_same_piece(saved_cohort, undisturbed, tmp_path):
    computation = open_computation(saved_cohort, tmp_path / "fc", OPERATORS, block_size=2)
    computation.make_room()
    missing = computation.store.missing()
    orders = list(make_orders(computation.store.layout, missing, computation.cohort))
    for order in orders[:9] + orders[:9]:
        do_piece(order)
    fill_store(computation)
    assert content(computation.store.path) == content(undisturbed.path)


def test_a_coreset_is_computed_in_the_order_of_the_cohort(saved_cohort, undisturbed, tmp_path):
    chosen = CoreSet(["s20", "s03", "s11"])
    store = compute_store(saved_cohort, tmp_path / "a", "pec", coreset=chosen)
    assert store.sample_ids == ["s03", "s11", "s20"]
    np.testing.assert_array_equal(store.matrices("pec"), undisturbed.matrices("pec", [3, 11, 20]))
    same = compute_store(saved_cohort, tmp_path / "a", "pec", coreset=["s03", "s11", "s20"])
    assert same.fingerprint == undisturbed.fingerprint
    for wrong, message in [
        (["s03", "nobody"], "not in the cohort: nobody"),
        (["s03", "s03"], "names samples twice: s03"),
        ([], "empty"),
        ("s03", "a list of strings or a CoreSet, got 's03'"),
    ]:
        with pytest.raises(InputError, match=message):
            compute_store(saved_cohort, tmp_path / "b", "pec", coreset=wrong)
    assert not (tmp_path / "b").exists()


def test_what_does_not_belong_together_is_refused(saved_cohort, tmp_path, monkeypatch):
    out = tmp_path / "fc"
    compute_store(saved_cohort, out, "pec")
    before = content(out)
    other = Cohort.open(saved_cohort).keep_regions(["region-0", "region-1"])
    other.__dict__.pop("fingerprint", None)
    listening = socket.create_server(("127.0.0.1", 0))  # somebody answers there
    scheduler = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
    for arguments, message in [
        ({"cohort": other}, "made from another cohort"),
        ({"coreset": ["s00"]}, "made from another core-set: 31 samples, this one has 1"),
        ({"spis": "pec, nothing"}, "'nothing'"),
        ({"on": "local:0"}, "must be positive"),
        ({"cohort": Cohort.open(saved_cohort).load(), "on": f"dask:{scheduler}"}, "in memory"),
    ]:
        with pytest.raises(InputError, match=message):
            compute_store(**({"cohort": saved_cohort, "out": out, "spis": "pec"} | arguments))
    listening.close()
    monkeypatch.setattr(versions, "ENGINE_VERSION", 2)
    with pytest.raises(InputError, match="another version of their code"):
        compute_store(saved_cohort, out, "pec")
    assert content(out) == before
    store = compute_store(saved_cohort, out, "pec", force=True)
    assert store.status()["version"].tolist() == ["2.1"]


def test_another_folder_is_never_touched(saved_cohort, tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(UnreadableFileError, match="`sclcs compute` makes one in a new folder"):
        compute_store(saved_cohort, tmp_path / "mine", "pec")
    with pytest.raises(UnknownNameError):
        compute_store(saved_cohort, tmp_path / "new", "nothing")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_failing_operator_leaves_nan_and_a_reason_and_stops_nothing(
    saved_cohort, undisturbed, tmp_path, monkeypatch
):
    family = runner.load_family("envelope")
    real = family.compute

    def fail_sometimes(signals, members, context):
        if "pec_orth" in members:
            raise RuntimeError("broken on purpose")
        return real(signals, members, context)

    monkeypatch.setattr(family, "compute", fail_sometimes)
    store = compute_store(saved_cohort, tmp_path / "fc", OPERATORS, block_size=2)
    table = store.status()
    assert table.loc["pec_orth", "failed"] == 31
    assert table.loc["pec_orth", "reason"] == "RuntimeError: broken on purpose"
    assert np.isnan(store.matrices("pec_orth")).all()
    assert table["missing"].sum() == 0
    for name in set(OPERATORS) - {"pec_orth"}:
        np.testing.assert_array_equal(store.matrices(name), undisturbed.matrices(name))
    monkeypatch.undo()
    again = compute_store(saved_cohort, tmp_path / "fc", "pec_orth", force=True)
    assert content(again.path) == content(undisturbed.path)


def test_operators_that_need_longer_series_are_skipped(saved_cohort, tmp_path):
    cohort = Cohort.open(saved_cohort)
    short = Cohort(cohort.signals[:][:, :, :3], cohort.samples)
    store = compute_store(
        short, tmp_path / "fc", ["cov_EmpiricalCovariance", "gc_gaussian_k-1_kt-1_l-1_lt-1"]
    )
    assert store.status()["skipped"].tolist() == [0, 31]


def test_one_run_at_a_time(saved_cohort, tmp_path):
    out = tmp_path / "fc"
    compute_store(saved_cohort, out, "pec")
    with (
        hold_store(out),
        pytest.raises(StoreInUseError, match="Another process is computing"),
    ):
        compute_store(saved_cohort, out, "pec")
    compute_store(saved_cohort, out, "pec")


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3", ""])
def test_shares_are_written_one_way(text):
    with pytest.raises(InputError, match="Expected a share"):
        parse_share(text)


def test_a_share_is_read():
    assert parse_share("2/8") == (2, 8)
