"""One matrix per subject, and the files of MATLAB toolboxes, read back as these read them."""

import json
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from scipy.io import loadmat

from sclcs import simulate_cohort
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.regions import region_set
from sclcs.compute import compute_store, export_matrices
from sclcs.compute.exports import FORMATS
from sclcs.core.errors import InputError, UnknownNameError
from sclcs.run_folder.config import ExportFormat

PEARSON, GRANGER = "cov_EmpiricalCovariance", "gc_gaussian_k-1_kt-1_l-1_lt-1"
NAMES = ["PCC", "mPFC 1", "AG_L", "AG_R"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = simulate_cohort(4, 3, 4, length=40, stride=20, seed=2)
    provenance = {"source": "study", "options": {"atlas": "Tian-S1"}}
    cohort = Cohort(made.signals, made.samples, NAMES, 2.0, provenance=provenance)
    return compute_store(cohort, tmp_path_factory.mktemp("fc") / "fc", [PEARSON, GRANGER])


@pytest.fixture
def places(tmp_path):
    path = tmp_path / "places.csv"
    rows = {
        "region": NAMES,
        "x": [0, 1, -40, 40],
        "y": [-50, 50, -60, -60],
        "z": [30, 10, 30, 31.5],
    }
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def subject_means(store, operator):
    matrices = store.matrices(operator).astype(np.float64)
    subjects = store.samples["subject"]
    return {s: matrices[(subjects == s).to_numpy()].mean(axis=0) for s in subjects.unique()}


def zeroed(matrix):
    values = matrix.copy()
    np.fill_diagonal(values, 0)
    return values


def test_one_matrix_per_subject_is_the_mean_over_its_windows(store, tmp_path):
    done = export_matrices(store, tmp_path / "out", "npz", PEARSON, per="subject")
    assert done.samples == 4
    with np.load(tmp_path / "out" / f"{PEARSON}.npz") as content:
        assert content["matrices"].shape == (4, 4, 4)
        for name, matrix in zip(content["sample_ids"], content["matrices"], strict=True):
            np.testing.assert_allclose(matrix, subject_means(store, PEARSON)[name], rtol=1e-5)
    table = pd.read_csv(tmp_path / "out" / "samples.csv")
    assert table["windows"].tolist() == [3, 3, 3, 3]
    assert {"diagnosis", "site"} <= set(table.columns)
    assert "start" not in table
    with pytest.raises(InputError, match="window, subject"):
        export_matrices(store, tmp_path / "no", per="person")


def test_relmat_of_subjects_names_atlas_and_mean(store, tmp_path):
    done = export_matrices(store, tmp_path / "out", "relmat", PEARSON, per="subject", crate=True)
    files = sorted((tmp_path / "out").rglob("*_relmat.tsv"))
    assert len(files) == done.files == 4
    assert "_desc-mean_seg-TianS1_meas-covEmpiricalCovariance_relmat.tsv" in files[0].name
    sidecar = json.loads((tmp_path / "out" / "meas-covEmpiricalCovariance_relmat.json").read_text())
    assert sidecar["Averaged"] == "over the windows of each subject"
    crate = json.loads((tmp_path / "out" / "ro-crate-metadata.json").read_text())
    entities = {entity["@id"]: entity for entity in crate["@graph"]}
    assert entities["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    parts = {part["@id"] for part in entities["./"]["hasPart"]}
    assert files[0].relative_to(tmp_path / "out").as_posix() in parts
    assert all(part in entities for part in parts)
    assert entities["#made"]["object"] == [{"@id": f"#cohort-{store.fingerprint}"}]
    assert entities[f"#cohort-{store.fingerprint}"]["isBasedOn"] == "study"


def test_mat_and_csv(store, tmp_path):
    export_matrices(store, tmp_path / "mat", "mat", PEARSON)
    content = loadmat(tmp_path / "mat" / f"{PEARSON}.mat")
    assert content["matrices"].shape == (4, 4, 12)
    np.testing.assert_array_equal(
        np.moveaxis(content["matrices"], -1, 0).astype(np.float32), store.matrices(PEARSON)
    )
    assert [str(cell[0]) for cell in content["regions"].ravel()] == NAMES
    done = export_matrices(store, tmp_path / "csv", "csv", GRANGER)
    tables = sorted((tmp_path / "csv" / GRANGER).glob("*.csv"))
    assert len(tables) == done.files == 12
    table = pd.read_csv(tables[0], index_col="region")
    assert list(table.columns) == list(table.index) == NAMES
    assert np.isnan(np.diag(table)).all()


def test_nbs_files(store, tmp_path, places):
    done = export_matrices(
        store, tmp_path / "out", "nbs", per="subject", coordinates=places, group="diagnosis"
    )
    assert GRANGER in done.notes[0]
    means = list(subject_means(store, PEARSON).values())
    stack = loadmat(tmp_path / "out" / PEARSON / "matrices.mat")["Mat"]
    assert stack.shape == (4, 4, 4)
    np.testing.assert_allclose(stack[:, :, 1], zeroed(means[1]), rtol=1e-5)
    texts = sorted((tmp_path / "out" / PEARSON / "matrices").glob("*.txt"))
    names = (tmp_path / "out" / "subjects.txt").read_text().split()
    assert [path.stem for path in texts] == sorted(names)
    first = np.loadtxt(tmp_path / "out" / PEARSON / "matrices" / f"{names[0]}.txt")
    np.testing.assert_allclose(first, stack[:, :, 0], rtol=1e-6)
    directed = loadmat(tmp_path / "out" / GRANGER / "matrices.mat")["Mat"]
    np.testing.assert_array_equal(directed, directed.transpose(1, 0, 2))
    design = np.loadtxt(tmp_path / "out" / "designMatrix.txt")
    classes = (tmp_path / "out" / "designColumns.txt").read_text().split()
    truth = store.samples.drop_duplicates("subject")["diagnosis"].tolist()
    assert [classes[int(row.argmax())] for row in design] == truth
    assert np.loadtxt(tmp_path / "out" / "COG.txt").shape == (4, 3)
    assert (tmp_path / "out" / "nodeLabels.txt").read_text().split() == [
        "PCC", "mPFC_1", "AG_L", "AG_R",
    ]  # fmt: skip
    with pytest.raises(UnknownNameError, match=r"Did you mean diagnosis\?"):
        export_matrices(store, tmp_path / "no", "nbs", per="subject", group="diagnoses")


def test_brainnet_nodes_and_edges(store, tmp_path, places):
    with pytest.raises(InputError, match=r"coordinates of PCC, mPFC 1.*--coordinates"):
        export_matrices(store, tmp_path / "no", "brainnet")
    assert not (tmp_path / "no").exists()
    export_matrices(store, tmp_path / "out", "brainnet", PEARSON, per="subject", coordinates=places)
    lines = (tmp_path / "out" / "regions.node").read_text().splitlines()
    assert lines[1].split("\t") == ["1", "50", "10", "1", "1", "mPFC_1"]
    mean = np.loadtxt(tmp_path / "out" / PEARSON / "mean.edge")
    expected = np.mean([zeroed(m) for m in subject_means(store, PEARSON).values()], axis=0)
    np.testing.assert_allclose(mean, expected, rtol=1e-5)
    assert len(list((tmp_path / "out" / PEARSON).glob("sub-*.edge"))) == 4


def test_conn_first_level_files(store, tmp_path):
    export_matrices(store, tmp_path / "out", "conn", PEARSON, per="subject")
    found = loadmat(tmp_path / "out" / PEARSON / "resultsROI_Subject002_Condition001.mat")
    expected = list(subject_means(store, PEARSON).values())[1]
    np.testing.assert_allclose(found["Z"], expected, rtol=1e-5)
    assert [str(cell[0]) for cell in found["names"].ravel()] == NAMES
    assert pd.read_csv(tmp_path / "out" / "_list_subjects.csv")["number"].tolist() == [1, 2, 3, 4]


def test_graphvar_files(store, tmp_path, places):
    export_matrices(store, tmp_path / "out", "graphvar", PEARSON, per="subject", coordinates=places)
    table = pd.read_excel(tmp_path / "out" / "Variables.xlsx")
    first = table.iloc[0]
    found = loadmat(tmp_path / "out" / PEARSON / f"CorrMatrix_{first['Subj_ID']}.mat")
    expected = zeroed(subject_means(store, PEARSON)[first["subject"]])
    np.testing.assert_allclose(found["CorrMatrix"], expected, rtol=1e-5)
    regions = pd.read_excel(tmp_path / "out" / "BrainRegions.xlsx")
    assert regions["name"].tolist() == NAMES
    assert regions["z"].tolist() == [30, 10, 30, 31.5]


def test_coordinates_of_the_dosenbach_regions_are_known(tmp_path):
    pytest.importorskip("nilearn")
    names = region_set("dosenbach-dmn33").names[:3]
    made = simulate_cohort(3, 1, 3, length=30, seed=1)
    cohort = Cohort(made.signals, made.samples, names)
    fc = compute_store(cohort, tmp_path / "fc", [PEARSON])
    export_matrices(fc, tmp_path / "out", "brainnet")
    assert len((tmp_path / "out" / "regions.node").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "columns region, x, y, z"),
        ("region,x,y,z\nPCC,1,2,far\n", "Expected numbers"),
        ("region,x,y,z\nPCC,1,2,3\n", "mPFC 1, AG_L, AG_R are missing"),
    ],
)
def test_mistakes_in_the_table_of_coordinates(store, tmp_path, text, message):
    (tmp_path / "places.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        export_matrices(store, tmp_path / "out", "nbs", coordinates=tmp_path / "places.csv")


def test_a_run_may_be_asked_for_every_format():
    assert set(get_args(ExportFormat)) == set(FORMATS)
