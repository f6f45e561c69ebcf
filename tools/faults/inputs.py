"""Mutated files for every reader: they are read, or one sentence says why not."""

from __future__ import annotations

import gzip
import json
import math
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pipeline_trees import read_arrays, read_bids

from faults.mutate import mutate
from faults.pipelines import trees
from faults.tally import Tally, in_children, judge
from sclcs.cohort import CoreSet
from sclcs.cohort.labels import read_label_table
from sclcs.cohort.readers.atlases import image_header, load_image
from sclcs.cohort.readers.mat_files import load_mat_matrix
from sclcs.run_folder import collect_config

T, R = 24, 5  # unequal, as everywhere


@dataclass(frozen=True)
class Reader:
    """One way in: a good example, the file to damage, and how it is read.

    Parameters
    ----------
    make : callable
        Writes the example into a folder; returns the files that may be damaged.
    read : callable
        Reads it; returns what must be finite.
    """

    make: Callable[[Path], list[Path]]
    read: Callable[[Path], Any]


def _signals() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(3, T, R))


def _folder(home: Path, ending: str) -> list[Path]:
    """Write three scans as text, one file each."""
    separator = "\t" if ".tsv" in ending else ","
    files = []
    for number, scan in enumerate(_signals()):
        head = separator.join(f"r{i}" for i in range(R))
        rows = "\n".join(separator.join(f"{value:.5f}" for value in row) for row in scan)
        text = f"{head}\n{rows}\n".encode()
        path = home / f"s{number}{ending}"
        path.write_bytes(gzip.compress(text, mtime=0) if ending.endswith(".gz") else text)
        files.append(path)
    return files


def _cut(scans: Any) -> Any:  # noqa: ANN401
    return scans.to_cohort(window=12, stride=12).signals


def _npy(home: Path) -> list[Path]:
    np.save(home / "a.npy", _signals())
    return [home / "a.npy"]


def _npz(home: Path) -> list[Path]:
    facts = {"subject": np.array(["a", "b", "c"]), "age": np.array([1.5, 2, 3])}
    np.savez_compressed(home / "a.npz", timeseries=_signals(), **facts, tr=np.array(2.0))
    return [home / "a.npz"]


def _mat(home: Path, **options: Any) -> list[Path]:  # noqa: ANN401
    import scipy.io

    content = {"ROISignals": _signals()[0], "other": np.arange(4.0)}
    if options.get("format") != "4":
        content["note"] = np.array(["text"], dtype=object)
    scipy.io.savemat(home / "a.mat", content, **options)
    return [home / "a.mat"]


def _hdf5(home: Path) -> list[Path]:
    import h5py

    with h5py.File(home / "a.mat", "w") as file:
        file.create_dataset("ROISignals", data=_signals()[0], compression="gzip", chunks=(8, R))
    return [home / "a.mat"]


def _nifti(home: Path, ending: str) -> list[Path]:
    import nibabel

    values = np.random.default_rng(1).normal(size=(4, 5, 3, 7)).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), home / f"a{ending}")
    return [home / f"a{ending}"]


def _read_nifti(home: Path) -> Any:  # noqa: ANN401
    (path,) = home.iterdir()
    image_header(path)
    load_image(path, 4)


def _table(home: Path, ending: str) -> list[Path]:
    rows = [("participant_id", "site", "age"), ("a", "x", 1.5), ("b", "y", 2), ("c", "", "n/a")]
    path = home / f"t{ending}"
    if ending == ".xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    else:
        separator = "\t" if ending == ".tsv" else ","
        path.write_text("\n".join(separator.join(map(str, row)) for row in rows))
    return [path]


def _read_table(home: Path) -> Any:  # noqa: ANN401
    (path,) = home.iterdir()
    table = read_label_table(path)
    table.ids("subject")
    table.rows()


def _bids(home: Path) -> list[Path]:
    files = []
    for number, scan in enumerate(_signals()):
        place = home / f"sub-0{number}" / "func"
        place.mkdir(parents=True)
        stem = f"sub-0{number}_task-rest_seg-A_stat-mean_timeseries"
        rows = ["\t".join(f"r{i}" for i in range(R))]
        rows += ["\t".join(f"{value:.4f}" for value in row) for row in scan]
        (place / f"{stem}.tsv").write_text("\n".join(rows) + "\n")
        (place / f"{stem}.json").write_text(json.dumps({"RepetitionTime": 2.0}))
        files += [place / f"{stem}.tsv", place / f"{stem}.json"]
    (home / "participants.tsv").write_text(
        "participant_id\tage\n" + "".join(f"sub-0{n}\t{20 + n}\n" for n in range(3))
    )
    return [*files, home / "participants.tsv"]


def _yaml(home: Path) -> list[Path]:
    text = "task: [diagnosis, age]\nratio: 0.2\nspis: paper-fast\nseed: 3\non: local:2\n"
    (home / "c.yaml").write_text(text + "parameters: {epochs: 5}\nbootstrap: 10\n")
    return [home / "c.yaml"]


def _core(home: Path) -> list[Path]:
    CoreSet(["a", "b", "c"], "random", {"x": 1}, 3, weight=[1, 2, 3]).save(home / "core.csv")
    return [home / "core.csv", home / "core.json"]


def _pipeline(make: Callable[[Path], object], read: Callable[[Path], Any]) -> Reader:
    """Every file of the folder that a pipeline left may be damaged."""

    def write(home: Path) -> list[Path]:
        make(home)
        return sorted(path for path in home.rglob("*") if path.is_file())

    return Reader(write, lambda home: _cut(read(home)))


READERS = {
    "csv folder": Reader(lambda h: _folder(h, ".csv"), lambda h: _cut(read_arrays(h))),
    "tsv.gz folder": Reader(lambda h: _folder(h, ".tsv.gz"), lambda h: _cut(read_arrays(h))),
    "1D folder": Reader(lambda h: _folder(h, ".1D"), lambda h: _cut(read_arrays(h))),
    "npy": Reader(_npy, lambda h: _cut(read_arrays(h / "a.npy", layout="time-region"))),
    "npz": Reader(_npz, lambda h: _cut(read_arrays(h / "a.npz", layout="time-region"))),
    "mat v5": Reader(_mat, lambda h: load_mat_matrix(h / "a.mat", "ROISignals")),
    "mat v5 packed": Reader(
        lambda h: _mat(h, do_compression=True), lambda h: load_mat_matrix(h / "a.mat", "ROISignals")
    ),
    "mat v4": Reader(
        lambda h: _mat(h, format="4"), lambda h: load_mat_matrix(h / "a.mat", "ROISignals")
    ),
    "mat v7.3": Reader(_hdf5, lambda h: load_mat_matrix(h / "a.mat", "ROISignals")),
    "nii": Reader(lambda h: _nifti(h, ".nii"), _read_nifti),
    "nii.gz": Reader(lambda h: _nifti(h, ".nii.gz"), _read_nifti),
    "labels csv": Reader(lambda h: _table(h, ".csv"), _read_table),
    "labels tsv": Reader(lambda h: _table(h, ".tsv"), _read_table),
    "labels xlsx": Reader(lambda h: _table(h, ".xlsx"), _read_table),
    "BIDS": Reader(_bids, lambda h: _cut(read_bids(h))),
    "configuration": Reader(_yaml, lambda h: collect_config(h / "c.yaml", {})),
    "core-set": Reader(_core, lambda h: CoreSet.open(h / "core.csv")),
}
READERS |= {name: _pipeline(make, read) for name, make, read in trees()}


def try_inputs(seed: int, count: int, home: Path, seconds: float = math.inf) -> list[Tally]:
    """Damage the examples of all readers in turn.

    Parameters
    ----------
    seed, count : int
        Count is of all readers together.
    home : Path
        An empty folder.
    seconds : float
        After that no more are begun; every reader has its share of the time.

    Returns
    -------
    list of Tally
        One per reader.
    """
    tallies = []
    share = -(-count // len(READERS))
    for name, reader in READERS.items():
        tally = Tally(f"input: {name}")
        example = home / name.replace(" ", "-")
        example.mkdir(parents=True)
        victims = [path.relative_to(example) for path in reader.make(example)]
        reader.read(example)  # the example itself must be readable

        def trial(
            key: str,
            reader: Reader = reader,
            example: Path = example,
            victims: list[Path] = victims,
        ) -> tuple[str, str]:
            return _one(key, reader, example, victims)

        keys = [f"{name}/{seed}/{number}" for number in range(share)]
        in_children(tally, keys, trial, 25, seconds / len(READERS))
        tallies.append(tally)
    return tallies


def _one(key: str, reader: Reader, example: Path, victims: list[Path]) -> tuple[str, str]:
    draw = random.Random(key)  # noqa: S311 (no secret)
    place = example.with_name(f"{example.name}-damaged")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(example, place)
    victim = place / draw.choice(victims)
    victim.write_bytes(mutate(victim.read_bytes(), draw))

    def read() -> bool:
        found = reader.read(place)
        return (
            not hasattr(found, "dtype")
            or found.dtype.kind != "f"
            or "mat" in key
            or bool(np.isfinite(np.asarray(found)).all())
        )

    return judge(read)
