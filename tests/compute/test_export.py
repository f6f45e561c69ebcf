"""Matrices in other formats: the same numbers, and names that cannot hurt."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sclcs.cohort.cohort import Cohort
from sclcs.compute import compute_store, export_matrices
from sclcs.compute.exports.names import bids_labels, measure_label, sample_names
from sclcs.core.errors import InputError, OutputExistsError, UnknownNameError
from sclcs.spi import catalogue

OPERATORS = ["cov_EmpiricalCovariance", "gc_gaussian_k-1_kt-1_l-1_lt-1"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    rng = np.random.default_rng(3)
    samples = pd.DataFrame(
        {
            "subject": ["a", "a", "../../b", "c", "C"],
            "session": ["1", "2", "1", None, None],
            "window": [0, 0, 0, 1, 1],
            "diagnosis": ["HC", "HC", "MDD", "MDD", "HC"],
        },
        index=["a1", "a2", "b1", "c1", "C1"],
    )
    signals = rng.normal(size=(5, 4, 50))
    signals[2, 1] = 3.0  # a constant region: NaN in its row and column
    cohort = Cohort(signals, samples, regions=["left\tPCC", "mPFC", "AG_L", "AG_R"], tr=2.0)
    return compute_store(cohort, tmp_path_factory.mktemp("fc") / "fc", OPERATORS, block_size=2)


def read(path):
    return pd.read_csv(path, sep="\t", na_values="n/a")


def test_relmat_files_hold_the_matrices(store, tmp_path):
    done = export_matrices(store, tmp_path / "out", "relmat")
    files = sorted(done.folder.rglob("*_relmat.tsv"))
    assert done.files == len(files) == 10
    path = (
        done.folder / "sub-a/ses-2/func/sub-a_ses-2_window-0_meas-covEmpiricalCovariance_relmat.tsv"
    )
    table = read(path)
    assert list(table.columns) == list(store.regions)
    expected = store.matrices(OPERATORS[0], [1])[0]
    np.testing.assert_array_equal(table.to_numpy(dtype=np.float32), expected)


def test_samples_say_which_file_is_whose(store, tmp_path):
    done = export_matrices(store, tmp_path / "out", "relmat", spis=OPERATORS[0])
    table = read(done.folder / "samples.tsv")
    assert list(table["sample_id"]) == store.sample_ids
    for row, pattern in enumerate(table["file"]):
        (path,) = done.folder.glob(pattern)
        found = read(path).to_numpy(dtype=np.float32)
        np.testing.assert_array_equal(found, store.matrices(OPERATORS[0], [row])[0])


def test_every_measure_is_described_once(store, tmp_path):
    done = export_matrices(store, tmp_path / "out", "relmat")
    assert len(list(done.folder.glob("meas-*_relmat.json"))) == 2
    label = measure_label(OPERATORS[1])
    facts = json.loads((done.folder / f"meas-{label}_relmat.json").read_text())
    assert facts["Directed"] is True
    assert facts["Orientation"] == "row->col"
    assert facts["ValidDiagonal"] is False
    assert facts["Nodes"] == list(store.regions)
    assert facts["RelationshipMeasure"] == OPERATORS[1]
    undirected = json.loads(
        (done.folder / f"meas-{measure_label(OPERATORS[0])}_relmat.json").read_text()
    )
    assert undirected["Directed"] is False
    assert undirected["NonNegative"] is False
    described = json.loads((done.folder / "dataset_description.json").read_text())
    assert described["DatasetType"] == "derivative"


def test_nothing_is_written_outside_the_folder(store, tmp_path):
    done = export_matrices(store, tmp_path / "deep" / "out", "relmat")
    assert {p.name for p in tmp_path.iterdir()} == {"deep"}
    assert {p.name for p in (tmp_path / "deep").iterdir()} == {"out"}
    for path in done.folder.rglob("*.tsv"):
        assert ".." not in path.name


def test_npz_opens_without_pickle(store, tmp_path):
    done = export_matrices(store, tmp_path / "out", "npz")
    assert done.files == 2
    with np.load(done.folder / f"{OPERATORS[1]}.npz", allow_pickle=False) as content:
        np.testing.assert_array_equal(content["matrices"], store.matrices(OPERATORS[1]))
        assert list(content["sample_ids"]) == store.sample_ids
        assert list(content["regions"]) == list(store.regions)
        assert str(content["operator"]) == OPERATORS[1]
    assert list(pd.read_csv(done.folder / "samples.csv")["sample_id"]) == store.sample_ids


def test_an_existing_folder_is_refused_and_failures_leave_nothing(store, tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    with pytest.raises(OutputExistsError):
        export_matrices(store, tmp_path / "there")
    monkeypatch.setattr(np, "savez_compressed", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_matrices(store, tmp_path / "out", "npz")
    assert [p.name for p in tmp_path.iterdir()] == ["there"]


def test_mistakes_are_named(store, tmp_path):
    with pytest.raises(UnknownNameError, match="relmat, npz"):
        export_matrices(store, tmp_path / "out", "matlab")
    with pytest.raises(InputError, match=r"Not complete in .*: kendalltau"):
        export_matrices(store, tmp_path / "out", spis=["kendalltau"])


@given(st.lists(st.text(max_size=80), min_size=2, max_size=6, unique=True))
def test_labels_are_safe_and_distinct(texts):
    labels = bids_labels(texts)
    assert list(labels) == texts
    assert all(
        label.isascii() and label.isalnum() and len(label) < 100 for label in labels.values()
    )
    assert len({label.casefold() for label in labels.values()}) == len(texts)


@given(st.lists(st.text(max_size=8), min_size=2, max_size=6))
def test_samples_never_share_a_file(subjects):
    table = pd.DataFrame({"subject": subjects}, index=[f"s{i}" for i in range(len(subjects))])
    paths = [f"{n.folder}/{n.stem}".casefold() for n in sample_names(table)]
    assert len(set(paths)) == len(paths)


def test_every_operator_has_a_label_of_its_own():
    names = list(catalogue().index)
    labels = [measure_label(name) for name in names]
    assert len({label.casefold() for label in labels}) == len(names)
    assert all(label.isalnum() for label in labels)


@pytest.mark.parametrize("kind", ["relmat", "npz"])
def test_the_command_says_what_it_wrote(store, tmp_path, kind):
    from typer.testing import CliRunner

    from sclcs.cli.fc import app

    options = ["--format", kind, "--spis", OPERATORS[0], "--out", str(tmp_path / "out"), "--json"]
    shown = CliRunner().invoke(app, ["export", str(store.path), *options])
    assert shown.exit_code == 0, shown.output
    facts = json.loads(shown.output)
    assert facts["operators"] == OPERATORS[:1]
    assert facts["files"] == (5 if kind == "relmat" else 1)
