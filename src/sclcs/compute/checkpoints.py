"""What was computed of a piece that is cut: one file per part, until the piece is put together.

A file is written in one step and names by its own name all that decides its content. A damaged
one is taken for missing. Whoever finds the files of all parts puts the piece together; if two do
so at once, one of them waits and finds it done.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from sclcs.compute.cutting import Part
from sclcs.core.files import explain_write_errors, write_bytes
from sclcs.core.identity import Identity
from sclcs.numerics.arrays import Array
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import Piece
from sclcs.spi.versions import operator_stamps

__all__ = ["Checkpoints", "PartOutcome", "forget_checkpoints"]

FOLDER = "parts"


@dataclass(frozen=True)
class PartOutcome:
    """What became of an operator in a part of a piece.

    Parameters
    ----------
    rows : array of int
        The samples inside the block.
    matrices : array, shape (sample, region, region)
        Of the regions of the part.
    errors : dict of int to tuple of str
        Status and reason of samples on which the operator could not be computed at all.
    seconds : float
        CPU time in the kernel.
    """

    rows: NDArray[np.int64]
    matrices: Array
    errors: dict[int, tuple[str, str]]
    seconds: float


@dataclass(frozen=True)
class Checkpoints:
    """The files of a piece that is cut.

    Parameters
    ----------
    layout : StoreLayout
        Of the store.
    piece : Piece
    seed : int
        The user's.
    """

    layout: StoreLayout
    piece: Piece
    seed: int

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self.layout.path / FOLDER / self.piece.family / str(self.piece.block)

    def file(self, part: Part) -> Path:
        """Return the file of a part."""
        stamps = operator_stamps(part.operators, self.seed)
        identity = Identity(
            "part",
            inputs={"rows": part.rows, "regions": part.regions, "operators": part.operators},
            versions={name: stamp.version for name, stamp in stamps.items()},
            seeds={name: stamp.seed for name, stamp in stamps.items()},
        )
        return self.folder / f"{identity.digest(16)}.npz"

    def missing(self, parts: Iterable[Part]) -> list[Part]:
        """Return the parts that have no file."""
        return [part for part in parts if not self.file(part).exists()]

    def write(self, part: Part, found: Mapping[str, PartOutcome]) -> None:
        """Keep what became of a part."""
        arrays: dict[str, NDArray[np.generic]] = {}
        facts = {}
        for number, (name, outcome) in enumerate(found.items()):
            arrays[f"rows{number}"], arrays[f"matrices{number}"] = outcome.rows, outcome.matrices
            facts[name] = {"errors": outcome.errors, "seconds": outcome.seconds}
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **arrays)
        with explain_write_errors(self.layout.path):
            self.folder.mkdir(parents=True, exist_ok=True)
        # What a power cut takes is noticed when it is read.
        write_bytes(self.file(part), content.getvalue(), durable=False)

    def read(self, part: Part) -> dict[str, PartOutcome] | None:
        """Return what became of a part; None if it is not there, or damaged and now gone."""
        file = self.file(part)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                facts = json.loads(arrays["facts"].tobytes())
                return {
                    name: PartOutcome(
                        arrays[f"rows{number}"],
                        arrays[f"matrices{number}"],
                        {int(row): (str(s), str(why)) for row, (s, why) in f["errors"].items()},
                        float(f["seconds"]),
                    )
                    for number, (name, f) in enumerate(facts.items())
                }
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            file.unlink(missing_ok=True)
            return None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the piece while it is put together."""
        with explain_write_errors(self.layout.path):
            self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder.with_suffix(".lock")):
            yield

    def remove(self) -> None:
        """Remove the files: the piece is in the store."""
        shutil.rmtree(self.folder, ignore_errors=True)


def forget_checkpoints(layout: StoreLayout) -> None:
    """Remove what is left of all parts; nobody else may be at work."""
    with suppress(OSError):
        shutil.rmtree(layout.path / FOLDER)
