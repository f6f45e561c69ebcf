import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import zarr
from hypothesis import given, strategies as st

from sclcs._core import DamagedStoreError, NotFoundError, UnreadableFileError
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.signals import LazySignals
from sclcs.cohort.tables import clean_table, column_kinds, table_from_csv, table_to_csv

# Text as people write it in label tables, with quotes, commas, newlines and other scripts;
# lone surrogates are not text and no file can hold them.
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
columns = st.one_of(
    st.lists(words | st.none(), min_size=4, max_size=4),
    st.lists(st.floats(allow_infinity=True), min_size=4, max_size=4),
    st.lists(st.integers(-(2**62), 2**62), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
)


@given(
    st.dictionaries(words.filter(lambda w: w not in {"subject", "window"}), columns, max_size=4),
    st.lists(words, min_size=4, max_size=4, unique=True),
)
def test_tables_survive_csv_exactly(facts, ids):
    raw = pd.DataFrame({"subject": list("aabc"), "window": range(4), **facts}, index=ids)
    table = clean_table(raw)
    again = table_from_csv(table_to_csv(table), column_kinds(table), guarded=False)
    pd.testing.assert_frame_equal(again, table)


@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(2, 7)),
    rows=st.lists(st.integers(0, 8), max_size=6),
    seed=st.integers(0, 99),
)
def test_cohorts_survive_the_store_exactly(tmp_path_factory, shape, rows, seed):
    signals = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    samples = pd.DataFrame({"subject": "s", "window": range(shape[0])})
    cohort = Cohort(signals, samples, tr=0.8, provenance={"source": "hypothesis", "n": 3})
    path = tmp_path_factory.mktemp("store") / "c.zarr"
    cohort.save(path)
    again = Cohort.open(path)
    np.testing.assert_array_equal(np.asarray(again.signals), signals)
    pd.testing.assert_frame_equal(again.samples, cohort.samples)
    assert (again.regions, again.tr, again.provenance) == (
        cohort.regions,
        cohort.tr,
        cohort.provenance,
    )
    assert again.fingerprint == cohort.fingerprint
    valid = list(dict.fromkeys(row for row in rows if row < shape[0]))
    np.testing.assert_array_equal(np.asarray(again.take(valid).signals), signals[valid])


@pytest.fixture
def stored(cohort, tmp_path):
    cohort.save(tmp_path / "c.zarr")
    return tmp_path / "c.zarr"


def test_a_lazy_view_indexes_like_the_array_it_stands_for(stored, cohort):
    lazy, eager = Cohort.open(stored).signals, cohort.signals
    assert isinstance(lazy, LazySignals)
    assert (lazy.shape, len(lazy)) == (eager.shape, 7)
    for key in [0, -1, slice(2, 6, 2), [5, 1, 1], np.arange(7) % 2 == 0, ...]:
        np.testing.assert_array_equal(lazy[key], eager[key])
    for key in [(3, 2), (3, 2, 1), (slice(1, 3), slice(0, 2)), ([4, 2], 1, slice(3, 9)), (..., 0)]:
        np.testing.assert_array_equal(lazy[key], eager[key])
    with pytest.raises(IndexError):
        lazy[[0, 1], [0, 1]]
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(lazy, copy=False)


def test_views_of_views_read_the_right_numbers(stored, cohort):
    view = Cohort.open(stored).take([6, 4, 2, 0]).keep_regions(["middle", "left"]).take([1, 3])
    np.testing.assert_array_equal(view.signals[:], cohort.signals[[4, 0]][:, [4, 0]])
    np.testing.assert_array_equal(view.load().signals, view.signals[:])


def test_opening_and_subsetting_read_no_signal(stored, monkeypatch):
    reads = []
    monkeypatch.setattr("sclcs.cohort.signals.read_array", lambda *args: reads.append(args))
    cohort = Cohort.open(stored).where(diagnosis="HC").keep_regions(["left"])
    assert cohort.signals.shape == (4, 1, 13)
    assert reads == []


def test_only_the_chunks_in_use_are_read(rng, tmp_path):
    big = Cohort(
        rng.normal(size=(900, 33, 70)), pd.DataFrame({"subject": "s", "window": range(900)})
    )
    path = big.save(tmp_path / "big.zarr")
    chunks = sorted((path / "signals" / "c").iterdir(), key=lambda p: int(p.name))
    assert len(chunks) == 8
    for chunk in chunks[1:]:
        shutil.rmtree(chunk)  # if they were read, the view would say that they are gone
    view = Cohort.open(path)
    np.testing.assert_array_equal(view.signals[:113], big.signals[:113])
    with pytest.raises(DamagedStoreError, match="a chunk file is gone"):
        view.signals[113]


def flip_a_byte(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def test_a_damaged_chunk_is_an_error_never_a_wrong_number(stored):
    flip_a_byte(stored / "signals" / "c" / "0" / "0" / "0")
    with pytest.raises(DamagedStoreError, match="damaged"):
        Cohort.open(stored).signals[0]


def test_what_is_not_a_cohort_is_refused(stored, tmp_path):
    with pytest.raises(NotFoundError, match="cohort folder at"):
        Cohort.open(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnreadableFileError, match="Expected a cohort written by sclcs"):
        Cohort.open(tmp_path / "folder")
    zarr.create_group(str(tmp_path / "other.zarr"), zarr_format=3)
    with pytest.raises(UnreadableFileError, match="Expected a cohort written by sclcs"):
        Cohort.open(tmp_path / "other.zarr")


@pytest.mark.parametrize("victim", ["samples.csv", "signals/zarr.json"])
def test_a_missing_part_is_reported_as_damage(stored, victim):
    (stored / victim).unlink()
    with pytest.raises(DamagedStoreError, match="incomplete or damaged"):
        Cohort.open(stored)


def test_a_newer_format_asks_for_an_update(stored):
    group = zarr.open_group(str(stored), mode="a")
    group.attrs["format_version"] = 99
    with pytest.raises(UnreadableFileError, match="update sclcs"):
        Cohort.open(stored)


def test_saving_never_overwrites(stored, cohort):
    with pytest.raises(FileExistsError, match="already exists"):
        cohort.save(stored)


FULL_DISK = """
import resource, signal, sys
import numpy as np, pandas as pd
from sclcs import Cohort
cohort = Cohort(np.random.default_rng(0).normal(size=(40, 33, 70)),
                pd.DataFrame({"subject": "s", "window": range(40)}))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    cohort.save(sys.argv[1])
except OSError as error:
    print(type(error).__name__, error)
"""


def test_a_full_disk_leaves_no_half_cohort(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / "c.zarr")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("WriteError Could not write"), done.stdout + done.stderr
    assert os.listdir(tmp_path) == []


def test_a_person_can_read_the_table(stored):
    table = pd.read_csv(stored / "samples.csv", index_col="sample_id")
    assert table.loc["s3", "diagnosis"] == "HC"
