import numpy as np
import pytest

from sclcs.store import (
    checksum_of,
    chunk_name,
    create_array,
    create_group,
    decode_chunk,
    encode_chunk,
    read_shard_chunk,
    sealed,
    write_shard,
)

SHAPE, CHUNK, COUNT = (15, 3, 5), (4, 3, 5), 3


@pytest.fixture
def array(tmp_path):
    """Four chunks of at most four rows, three of which make a shard."""
    return create_array(
        create_group(tmp_path / "g.zarr"),
        "a",
        SHAPE,
        np.float32,
        chunks=CHUNK,
        shards=(COUNT * CHUNK[0], *CHUNK[1:]),
        dimensions=("s", "i", "j"),
    )


def shard(tmp_path, number):
    return tmp_path / "g.zarr" / "a" / chunk_name((number, 0, 0))


def chunks_of(values):
    return [encode_chunk(values[start : start + 4], CHUNK) for start in range(0, len(values), 4)]


def test_zarr_reads_our_shards_and_we_read_those_of_zarr(array, tmp_path, rng):
    values = rng.normal(size=SHAPE).astype(np.float32)
    chunks = chunks_of(values)
    array[:] = values
    for place, chunk in enumerate(chunks):
        number, inside = divmod(place, COUNT)
        assert read_shard_chunk(shard(tmp_path, number), inside, COUNT) == chunk
    array[:] = 0
    write_shard(shard(tmp_path, 0), chunks[:COUNT], COUNT)
    write_shard(shard(tmp_path, 1), chunks[COUNT:], COUNT)
    np.testing.assert_array_equal(array[:], values)
    last = decode_chunk(read_shard_chunk(shard(tmp_path, 1), 0, COUNT), CHUNK)
    np.testing.assert_array_equal(last[:3], values[12:])
    assert np.isnan(last[3:]).all()


def test_a_chunk_that_is_not_in_its_shard_is_told(tmp_path, rng):
    path = tmp_path / "c.0"
    write_shard(path, chunks_of(rng.normal(size=(6, 3, 5)).astype(np.float32)), COUNT)
    with pytest.raises(ValueError, match="not in its shard"):
        read_shard_chunk(path, 2, COUNT)
    with pytest.raises(OSError, match=r"c\.1"):
        read_shard_chunk(tmp_path / "c.1", 0, COUNT)


@pytest.mark.parametrize("harm", [-3, -20, None, 0])
def test_a_damaged_table_is_told(tmp_path, rng, harm):
    path = tmp_path / "c.0"
    write_shard(path, chunks_of(rng.normal(size=(6, 3, 5)).astype(np.float32)), COUNT)
    content = bytearray(path.read_bytes())
    if harm:
        content[harm] ^= 1
    path.write_bytes(bytes(content if harm else content[: harm if harm == 0 else -5]))
    with pytest.raises(ValueError, match="table of a shard is damaged"):
        read_shard_chunk(path, 0, COUNT)


def test_damaged_chunks_are_told():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    chunk = encode_chunk(values, (2, 3))
    checksum = checksum_of(chunk)
    np.testing.assert_array_equal(decode_chunk(chunk, (2, 3), checksum), values)
    changed = bytearray(chunk)
    changed[3] ^= 1
    for wrong in (bytes(changed), chunk[:-2], b"", b"1234"):
        assert checksum_of(wrong) == "damaged"
        with pytest.raises(ValueError, match="not the one that was written"):
            decode_chunk(wrong, (2, 3))
    with pytest.raises(ValueError, match="not the one that was written"):
        decode_chunk(chunk, (2, 3), "00000000")
    with pytest.raises(ValueError, match="cannot be decoded"):
        decode_chunk(sealed(b"no zstd frame"), (2, 3))
