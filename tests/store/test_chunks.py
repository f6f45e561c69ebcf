import numpy as np
import pytest

from sclcs.store import chunk_checksum, chunk_path, create_array, create_group, write_chunk


@pytest.fixture
def array(tmp_path):
    shape, chunks = (7, 3, 5), (4, 3, 5)
    group = create_group(tmp_path / "g.zarr")
    return create_array(
        group, "a", shape, np.float32, chunks=chunks, dimensions=("s", "i", "j"), direct=True
    )


@pytest.mark.parametrize(("number", "rows"), [(0, slice(0, 4)), (1, slice(4, 7))])
def test_a_chunk_has_the_bytes_that_zarr_writes(array, tmp_path, rng, number, rows):
    values = rng.normal(size=(7, 3, 5)).astype(np.float32)[rows]
    path = chunk_path(tmp_path / "g.zarr" / "a", (number, 0, 0))
    array[rows] = values
    by_zarr = path.read_bytes()
    checksum = write_chunk(path, values, (4, 3, 5))
    assert path.read_bytes() == by_zarr
    assert chunk_checksum(path) == checksum
    np.testing.assert_array_equal(array[rows], values)


def test_damage_and_absence_are_told_apart(tmp_path):
    path = tmp_path / "chunk"
    assert chunk_checksum(path) == "missing"
    write_chunk(path, np.zeros((2, 3), np.float32), (2, 3))
    content = bytearray(path.read_bytes())
    content[3] ^= 1
    path.write_bytes(bytes(content))
    assert chunk_checksum(path) == "damaged"
    path.write_bytes(b"")
    assert chunk_checksum(path) == "damaged"
