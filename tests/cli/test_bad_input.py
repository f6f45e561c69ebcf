"""Each kind of bad input: one line naming the offender, exit code 2, nothing half-written."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

LENGTH = 30
CUT = ["--window", 10, "--stride", 5]


def write_series(folder, name, values):
    folder.mkdir(exist_ok=True)
    np.savetxt(folder / f"{name}.csv", values, delimiter=",", header="a,b,c", comments="")


@pytest.fixture
def series(tmp_path, rng):
    """A folder of three good scans; tests spoil it."""
    folder = tmp_path / "series"
    for name in ("s1", "s2", "s3"):
        write_series(folder, name, rng.normal(size=(LENGTH, 3)))
    return folder


def spoil_with_nan(folder, rng):
    values = rng.normal(size=(LENGTH, 3))
    values[4, 1] = np.nan
    write_series(folder, "s2", values)
    return [], ["s2", "NaN or infinite"]


def spoil_with_infinity(folder, rng):
    values = rng.normal(size=(LENGTH, 3))
    values[4, 2] = np.inf
    write_series(folder, "s2", values)
    return [], ["s2 (c)", "NaN or infinite"]


def spoil_with_a_constant_region(folder, rng):
    values = rng.normal(size=(LENGTH, 3))
    values[:, 1] = 7
    write_series(folder, "s3", values)
    return [], ["s3 (b)", "does not vary"]


def spoil_with_a_short_scan(folder, rng):
    write_series(folder, "s1", rng.normal(size=(8, 3)))
    return [], ["s1 (8 time points, 10 needed)"]


def spoil_with_another_atlas(folder, rng):
    np.savetxt(
        folder / "s4.csv",
        rng.normal(size=(LENGTH, 4)),
        delimiter=",",
        header="a,b,c,d",
        comments="",
    )
    return [], ["s4"]


def spoil_with_an_unlabelled_subject(folder, rng):
    (folder.parent / "labels.csv").write_text("subject,site\ns1,x\ns2,y\n")
    return ["--labels", folder.parent / "labels.csv"], ["s3", "label table"]


def spoil_with_a_repeated_label(folder, rng):
    (folder.parent / "labels.csv").write_text("subject,site\ns1,x\ns1,y\ns2,y\ns3,y\n")
    return ["--labels", folder.parent / "labels.csv"], ["s1"]


def spoil_with_words(folder, rng):
    (folder / "s2.csv").write_text("a,b,c\n1,2,three\n")
    return [], ["s2.csv"]


def spoil_with_the_same_id_twice(folder, rng):
    np.savetxt(
        folder / "s1.tsv",
        rng.normal(size=(LENGTH, 3)),
        delimiter="\t",
        header="a\tb\tc",
        comments="",
    )
    return [], ["s1"]


def spoil_with_an_unknown_region_set(folder, rng):
    return ["--regions", "dosenbach-dmn34"], ["dosenbach-dmn34", "dosenbach-dmn33"]


SPOILERS = [value for name, value in sorted(globals().items()) if name.startswith("spoil_with")]


def everything(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


@pytest.mark.parametrize("spoil", SPOILERS, ids=lambda f: f.__name__.removeprefix("spoil_with_"))
def test_bad_series_are_refused_by_name(sclcs, series, rng, tmp_path, spoil):
    options, words = spoil(series, rng)
    before = everything(tmp_path)
    shown = sclcs(
        "cohort", "import", "arrays", series, *CUT, *options, "--out", tmp_path / "c.zarr"
    )
    assert shown.code == 2
    errors = [line for line in shown.err.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert "Traceback" not in shown.err
    for word in words:
        assert word in errors[0]
    assert everything(tmp_path) == before


def truncated_npz(folder, rng):
    np.savez(folder / "x.npz", signals=rng.normal(size=(3, LENGTH, 4)))
    content = (folder / "x.npz").read_bytes()
    (folder / "x.npz").write_bytes(content[: len(content) // 2])
    return ["arrays", folder / "x.npz"], "x.npz"


def pickled_npz(folder, rng):
    np.savez(folder / "x.npz", signals=np.array([{"a": 1}, None], dtype=object))
    return ["arrays", folder / "x.npz"], "x.npz"


def pickle_called_npy(folder, rng):
    (folder / "x.npy").write_bytes(pickle.dumps([1, 2, 3]))
    return ["arrays", folder / "x.npy"], "x.npy"


def truncated_mat(folder, rng):
    from scipy.io import savemat

    root = folder / "ROISignals_FunImgARglobalCWF"
    root.mkdir()
    path = root / "ROISignals_S20-1-0001.mat"
    savemat(path, {"ROISignals": rng.normal(size=(LENGTH, 1833))})
    path.write_bytes(path.read_bytes()[:5000])
    return ["rest-meta-mdd", folder], "S20-1-0001"


def truncated_nifti(folder, rng):
    import nibabel as nib

    path = folder / "scan.nii.gz"
    image = rng.normal(size=(19, 23, 19, 12)).astype(np.float32)
    nib.save(nib.Nifti1Image(image, np.diag([10.0, 10, 10, 1])), path)
    path.write_bytes(path.read_bytes()[:40_000])
    return ["nifti", folder, "--atlas", "dosenbach-dmn33"], "scan"


DAMAGE = [truncated_npz, pickled_npz, pickle_called_npy, truncated_mat, truncated_nifti]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda f: f.__name__)
def test_damaged_files_are_refused_by_name(sclcs, rng, tmp_path, damage):
    arguments, offender = damage(tmp_path, rng)
    before = everything(tmp_path)
    shown = sclcs("cohort", "import", *arguments, *CUT, "--out", tmp_path / "c.zarr")
    assert shown.code == 2
    error = shown.err.splitlines()[-1]
    assert error.startswith("Error: ")
    assert offender in error
    assert everything(tmp_path) == before


FULL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))  # no file may grow beyond 512 bytes
from sclcs.cli.main import main
main()
"""


def test_a_full_disk_is_said_and_leaves_nothing(series, tmp_path):
    before = everything(tmp_path)
    command = ["cohort", "import", "arrays", series, *CUT, "--out", tmp_path / "c.zarr"]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 2, done.stderr
    assert "no space is left" in done.stderr
    assert "Traceback" not in done.stderr
    assert everything(tmp_path) == before
