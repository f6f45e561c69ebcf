"""Matrices in other formats: the same numbers, and names that cannot hurt."""

import json
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy.io import loadmat

from sclcs import simulate_cohort
from sclcs._core import InputError, OutputExistsError, UnknownNameError
from sclcs.cohort import Cohort
from sclcs.run_folder import ExportFormat
from sclcs.spi import catalogue
from sclcs.store import compute_store, export_matrices
from sclcs.store.exports import FORMATS, bids_labels, measure_label, sample_names

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
    table = pd.read_csv(path, sep="\t", na_values="n/a")
    return table.set_index("Node") if "Node" in table else table


def test_relmat_files_hold_the_matrices(store, tmp_path):
    done = export_matrices(store, tmp_path / "out", "relmat")
    files = sorted(done.folder.rglob("*_relmat.tsv"))
    assert done.files == len(files) == 10
    path = (
        done.folder / "sub-a/ses-2/func/sub-a_ses-2_window-0_stat-covEmpiricalCovariance_relmat.tsv"
    )
    table = read(path)
    assert list(table.columns) == list(table.index) == list(store.regions)
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
    assert len(list(done.folder.glob("stat-*_relmat.json"))) == 2
    label = measure_label(OPERATORS[1])
    found = json.loads((done.folder / f"stat-{label}_relmat.json").read_text())
    assert found["Directed"] is True
    assert found["Orientation"] == "row->col"
    assert found["ValidDiagonal"] is False
    assert found["Nodes"] == list(store.regions)
    assert found["RelationshipMeasure"] == OPERATORS[1]
    undirected = json.loads(
        (done.folder / f"stat-{measure_label(OPERATORS[0])}_relmat.json").read_text()
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

    from sclcs.cli.compute import app

    options = ["--format", kind, "--spis", OPERATORS[0], "--out", str(tmp_path / "out"), "--json"]
    shown = CliRunner().invoke(app, ["export", str(store.path), *options])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.output)
    assert found["operators"] == OPERATORS[:1]
    assert found["files"] == (5 if kind == "relmat" else 1)


PEARSON, GRANGER = OPERATORS
NAMES = ["PCC", "mPFC 1", "AG_L", "AG_R"]


@pytest.fixture(scope="module")
def windows(tmp_path_factory):
    made = simulate_cohort(4, 3, 4, length=40, stride=20, seed=2)
    provenance = {"source": "study", "options": {"atlas": "Tian-S1"}}
    cohort = Cohort(made.signals, made.samples, NAMES, 2.0, provenance=provenance)
    return compute_store(cohort, tmp_path_factory.mktemp("fc") / "fc", OPERATORS)


def subject_means(store, operator):
    matrices = store.matrices(operator).astype(np.float64)
    subjects = store.samples["subject"]
    return {s: matrices[(subjects == s).to_numpy()].mean(axis=0) for s in subjects.unique()}


def test_one_matrix_per_subject_is_the_mean_over_its_windows(windows, tmp_path):
    done = export_matrices(windows, tmp_path / "out", "npz", PEARSON, per="subject")
    assert done.samples == 4
    with np.load(tmp_path / "out" / f"{PEARSON}.npz") as content:
        assert content["matrices"].shape == (4, 4, 4)
        for name, matrix in zip(content["sample_ids"], content["matrices"], strict=True):
            np.testing.assert_allclose(matrix, subject_means(windows, PEARSON)[name], rtol=1e-5)
    table = pd.read_csv(tmp_path / "out" / "samples.csv")
    assert table["windows"].tolist() == [3, 3, 3, 3]
    assert {"diagnosis", "site"} <= set(table.columns)
    assert "start" not in table
    with pytest.raises(InputError, match="'window', 'subject'"):
        export_matrices(windows, tmp_path / "no", per="person")


def test_relmat_of_subjects_names_atlas_and_mean(windows, tmp_path):
    done = export_matrices(windows, tmp_path / "out", "relmat", PEARSON, per="subject")
    files = sorted((tmp_path / "out").rglob("*_relmat.tsv"))
    assert len(files) == done.files == 4
    assert "_desc-mean_seg-TianS1_stat-covEmpiricalCovariance_relmat.tsv" in files[0].name
    sidecar = json.loads((tmp_path / "out" / "stat-covEmpiricalCovariance_relmat.json").read_text())
    assert sidecar["Averaged"] == "over the windows of each subject"


def test_mat_and_csv(windows, tmp_path):
    export_matrices(windows, tmp_path / "mat", "mat", PEARSON)
    content = loadmat(tmp_path / "mat" / f"{PEARSON}.mat")
    assert content["matrices"].shape == (4, 4, 12)
    np.testing.assert_array_equal(
        np.moveaxis(content["matrices"], -1, 0).astype(np.float32), windows.matrices(PEARSON)
    )
    assert [str(cell[0]) for cell in content["regions"].ravel()] == NAMES
    done = export_matrices(windows, tmp_path / "csv", "csv", GRANGER)
    tables = sorted((tmp_path / "csv" / GRANGER).glob("*.csv"))
    assert len(tables) == done.files == 12
    table = pd.read_csv(tables[0], index_col="region")
    assert list(table.columns) == list(table.index) == NAMES
    assert np.isnan(np.diag(table)).all()


def test_a_run_may_be_asked_for_every_format():
    assert set(get_args(ExportFormat)) == set(FORMATS)
