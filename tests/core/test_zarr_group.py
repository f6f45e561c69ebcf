"""A group appears whole or not at all, even while zarr is still writing."""

import errno
import threading

import numpy as np
import pytest
import zarr
from zarr.storage import _local as local

from sclcs._core.errors import WriteError
from sclcs._core.zarr_group import atomic_group, create_array, create_group


def fill(folder, n_rows):
    array = create_array(
        create_group(folder),
        "values",
        (n_rows, 2),
        np.float32,
        chunks=(1, 2),
        dimensions=("row", "column"),
    )
    array[...] = np.arange(2.0 * n_rows).reshape(n_rows, 2)


def test_a_group_appears_with_everything_in_it(tmp_path):
    with atomic_group(tmp_path / "group") as folder:
        fill(folder, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["group"]
    found = zarr.open_group(tmp_path / "group", mode="r")["values"]
    np.testing.assert_array_equal(found[...], [[0, 1], [2, 3], [4, 5]])


def test_writes_on_their_way_end_before_a_failed_group_is_removed(tmp_path, monkeypatch):
    """zarr raises the first error while other chunks are being written; they made folders anew."""
    put, failed, late = local._put, threading.Event(), []

    def slow_put(path, value, *more, **options):  # what follows differs between versions of zarr
        if path.name == "zarr.json":
            return put(path, value, *more, **options)
        if path.parent.name == "0":
            failed.set()
            raise OSError(errno.ENOSPC, "No space left on device")
        assert failed.wait(20)
        late.append(threading.Event().wait(0.3))  # long enough for the error to arrive
        return put(path, value, *more, **options)

    monkeypatch.setattr(local, "_put", slow_put)
    with (
        pytest.raises(WriteError, match="no space is left"),
        atomic_group(tmp_path / "group") as folder,
    ):
        fill(folder, 3)
    assert len(late) == 2  # they were waited for
    assert list(tmp_path.iterdir()) == []
