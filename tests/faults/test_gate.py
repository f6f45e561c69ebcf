"""One gate for input: regular files, sizes before memory, whatever a parser raises is named."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.io

import sclcs
import sclcs._core.gate as gate_module
from sclcs._core import (
    InputError,
    NotFoundError,
    UnreadableFileError,
    explain_damage,
    read_json,
    refuse_inflated,
    regular_file,
    require_memory,
)
from sclcs.cohort.readers.atlases import open_image
from sclcs.cohort.readers.mat_files import load_mat_cells, load_mat_matrix
from sclcs.cohort.readers.series_files import NpzArchive, look_at, open_npy

PACKAGE = Path(sclcs.__file__).parent
#: Files that open things themselves, and why they may.
OPENERS = {
    "series_files.py": "after regular_file, or inside explain_damage",
    "atlases.py": "inside explain_damage",
    "mat_files.py": "inside explain_damage",
}


def test_readers_open_files_through_the_gate_only():
    opening = re.compile(r"\.read_bytes\(|\.read_text\(|path\.open\(|gzip\.open\(|np\.load\(")
    for path in sorted((PACKAGE / "cohort" / "readers").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if opening.search(text):
            assert path.name in OPENERS, f"{path.name} opens files: use sclcs._core.gate"
            assert any(name in text for name in vars(gate_module) if name[0] != "_")


def test_nothing_is_unpickled():
    found = []
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"allow_pickle=True|^\s*import pickle|yaml\.load\(", text, re.MULTILINE):
            found.append(path.relative_to(PACKAGE).as_posix())
    assert found == ["store/executors/slurm.py"]  # what our own jobs wrote


def matlab(path, **options):
    values = np.arange(12.0).reshape(3, 4)
    cells = np.empty((1, 3), dtype=object)
    cells[0] = ["a name", values, "Größe"]
    content = {"other": np.eye(2), "m": values, "i": values.astype(np.int16), "c": cells}
    scipy.io.savemat(path, content, **options)
    return values


@pytest.mark.parametrize("packed", [False, True])
def test_matlab_v5(packed, tmp_path):
    values = matlab(tmp_path / "a.mat", do_compression=packed)
    np.testing.assert_array_equal(load_mat_matrix(tmp_path / "a.mat", "m"), values)
    found = load_mat_matrix(tmp_path / "a.mat", "i")
    assert found.dtype == np.int16
    np.testing.assert_array_equal(found, values)
    name, numbers, other = load_mat_cells(tmp_path / "a.mat", "c")
    assert (name, other) == ("a name", "Größe")
    np.testing.assert_array_equal(numbers, values)
    with pytest.raises(UnreadableFileError, match="of cells"):
        load_mat_matrix(tmp_path / "a.mat", "c")
    with pytest.raises(UnreadableFileError, match="Expected a variable x"):
        load_mat_matrix(tmp_path / "a.mat", "x")


def test_matlab_v4_and_big_endian(tmp_path):
    values = np.arange(12.0).reshape(3, 4)
    scipy.io.savemat(tmp_path / "a.mat", {"other": np.eye(2), "m": values}, format="4")
    np.testing.assert_array_equal(load_mat_matrix(tmp_path / "a.mat", "m"), values)
    head = b"MATLAB".ljust(124) + struct.pack(">H", 0x0100) + b"MI"
    parts = struct.pack(">IIII", 6, 8, 6, 0) + struct.pack(">IIii", 5, 8, 3, 4)
    parts += struct.pack(">HH4s", 1, 1, b"m\0\0\0")
    parts += struct.pack(">II", 9, 96) + values.T.astype(">f8").tobytes()
    (tmp_path / "b.mat").write_bytes(head + struct.pack(">II", 14, len(parts)) + parts)
    np.testing.assert_array_equal(load_mat_matrix(tmp_path / "b.mat", "m"), values)


def test_sizes_are_compared_with_the_file_before_memory_is_taken(tmp_path):
    import nibabel

    np.save(tmp_path / "a.npy", np.zeros((3, 4)))
    large = (tmp_path / "a.npy").read_bytes().replace(b"(3, 4)", b"(9, 9)")
    np.savez(tmp_path / "b.npz", x=np.zeros((3, 4)))
    inflated = (tmp_path / "b.npz").read_bytes().replace(b"(3, 4)", b"(9, 9)")
    (tmp_path / "b.npz").write_bytes(inflated)
    with pytest.raises(UnreadableFileError):
        NpzArchive(tmp_path / "b.npz").read("x")
    (tmp_path / "a.npy").write_bytes(large)
    with pytest.raises(UnreadableFileError, match="declares 648 bytes"):
        open_npy(tmp_path / "a.npy")
    image = nibabel.Nifti1Image(np.zeros((2, 3, 4, 5), np.float32), np.eye(4))
    nibabel.save(image, tmp_path / "a.nii")
    header = bytearray((tmp_path / "a.nii").read_bytes())
    for size, words in ((32767, "declares"), (-3, "declares the sizes|truncated")):
        header[42:44] = struct.pack("<h", size)
        (tmp_path / "a.nii").write_bytes(bytes(header))
        with pytest.raises(UnreadableFileError, match=words):
            open_image(tmp_path / "a.nii", 4)


def test_the_gate_itself(tmp_path):
    with pytest.raises(NotFoundError, match="nothing is there"):
        regular_file(tmp_path / "x")
    with pytest.raises(UnreadableFileError, match="a folder is there"):
        regular_file(tmp_path)
    file = tmp_path / "f"
    file.write_text("[" * 100_000)
    with pytest.raises(UnreadableFileError, match="nested too deep"):
        read_json(file)
    file.write_text("[1]")
    with pytest.raises(UnreadableFileError, match="no JSON object"):
        read_json(file)
    with pytest.raises(UnreadableFileError, match="declares 4 bytes of values, but only 3"):
        refuse_inflated(file, 4)
    refuse_inflated(file, 3000, packed=True)
    with pytest.raises(InputError, match="GB of memory"):
        require_memory(1e18, "It")
    words = r"damaged or of another format \(MemoryError\)"
    with pytest.raises(UnreadableFileError, match=words), explain_damage(file, "x"):
        raise MemoryError


def test_what_unpacks_to_far_more_than_data_do_is_refused(tmp_path, monkeypatch):
    """A few megabytes of zeros must not take gigabytes of memory, or minutes."""
    import gzip
    import zipfile

    import openpyxl

    from sclcs.cohort import read_table_file

    monkeypatch.setattr(gate_module, "SMALL_FILE", 2**20)
    np.savez_compressed(tmp_path / "zeros.npz", X=np.zeros((100, 50, 900)))
    with pytest.raises(UnreadableFileError, match=r"zeros\.npz unpacks to more than 100 times"):
        NpzArchive(tmp_path / "zeros.npz")
    with gzip.open(tmp_path / "zeros.csv.gz", "wt") as stream:
        stream.write("a,b\n" + "0,0\n" * 3_000_000)
    with pytest.raises(UnreadableFileError, match=r"zeros\.csv\.gz unpacks"):
        look_at(tmp_path / "zeros.csv.gz").load()
    with gzip.open(tmp_path / "line.csv.gz", "wt") as stream:
        stream.write("0" * 30_000_000)
    with pytest.raises(UnreadableFileError, match=r"line\.csv\.gz unpacks"):
        look_at(tmp_path / "line.csv.gz").load()
    book = openpyxl.Workbook()
    book.active.append(["subject", "age"])
    book.active.append(["s1", 31])
    book.save(tmp_path / "t.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "t.xlsx") as old,
        zipfile.ZipFile(tmp_path / "far.xlsx", "w", zipfile.ZIP_DEFLATED) as far,
        zipfile.ZipFile(tmp_path / "long.xlsx", "w", zipfile.ZIP_DEFLATED) as long,
    ):
        for name in old.namelist():
            text = old.read(name)
            far.writestr(name, text.replace(b'"A1:B2"', b'"A1:XFD1048576"'))
            padding = b" " * 20_000_000 if name.endswith("sheet1.xml") else b""
            long.writestr(name, text + padding)
    assert read_table_file(tmp_path / "far.xlsx") == {"subject": ["s1"], "age": ["31"]}
    with pytest.raises(UnreadableFileError, match=r"long\.xlsx unpacks"):
        read_table_file(tmp_path / "long.xlsx")
