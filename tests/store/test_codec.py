import numpy as np
import pytest

from sclcs.store.pieces import checksum_of, decode_chunk, encode_chunk, sealed, shard_index


def test_damaged_chunks_are_found():
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


def test_what_a_chunk_lacks_is_nan():
    chunk = decode_chunk(encode_chunk(np.ones((2, 3), np.float32), (4, 3)), (4, 3))
    np.testing.assert_array_equal(chunk[:2], 1)
    assert np.isnan(chunk[2:]).all()


def test_the_index_of_a_shard_says_what_is_absent():
    index = shard_index({1: (7, 20)}, 3)
    assert checksum_of(index) != "damaged"
    table = np.frombuffer(index[:-4], "<u8").reshape(3, 2)
    assert table[1].tolist() == [7, 20]
    assert (table[[0, 2]] == 2**64 - 1).all()
