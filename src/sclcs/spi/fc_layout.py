"""Where things are in an FC store, and which of its tasks are done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sclcs.spi.catalogue import operator_facts
from sclcs.spi.fc_records import FamilyTask, OperatorEntry, read_record
from sclcs.spi.runner import family_members
from sclcs.store import chunk_checksum, chunk_path, rows_per_chunk

__all__ = ["StoreLayout", "block_size_for"]

MATRICES = "matrices"
TASKS = "tasks"

LARGEST_BLOCK = 64  # samples; larger blocks are no faster and lose more when a run is killed


def block_size_for(n_regions: int) -> int:
    """Return the samples per block of a new store: chunks of at most about one mebibyte.

    It depends on the number of regions only, so that stores of the same samples have the
    same files, whoever computes them on however many processors.
    """
    return min(LARGEST_BLOCK, rows_per_chunk(n_regions * n_regions * 4))


@dataclass(frozen=True)
class StoreLayout:
    """The files of an FC store. Small: it travels to workers with every task.

    Parameters
    ----------
    path : Path
        The store's folder.
    n_samples, n_regions : int
        Size of its arrays.
    block_size : int
        Samples per block.
    """

    path: Path
    n_samples: int
    n_regions: int
    block_size: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks of samples."""
        return -(-self.n_samples // self.block_size)

    @property
    def chunk_shape(self) -> tuple[int, int, int]:
        """Shape of every chunk."""
        return (self.block_size, self.n_regions, self.n_regions)

    def block_rows(self, block: int) -> slice:
        """Return the rows of the samples of a block."""
        start = block * self.block_size
        return slice(start, min(start + self.block_size, self.n_samples))

    def array_folder(self, operator: str) -> Path:
        """Return the folder of an operator's array."""
        return self.path / MATRICES / operator

    def chunk_file(self, operator: str, block: int) -> Path:
        """Return the file of an operator's matrices on a block."""
        return chunk_path(self.array_folder(operator), (block, 0, 0))

    def record_file(self, family: str, block: int) -> Path:
        """Return the file that says what became of a task."""
        return self.path / TASKS / family / f"{block}.json"

    def version_of(self, operator: str) -> str | None:
        """Return the version of an operator's numbers here, or None if it was not asked for."""
        try:
            facts = json.loads((self.array_folder(operator) / "zarr.json").read_bytes())
        except FileNotFoundError:
            return None
        return str(facts["attributes"]["version"])

    def versions(self) -> dict[str, str]:
        """Return the version of every operator that was asked for, in catalogue order."""
        folders = {path.name for path in (self.path / MATRICES).iterdir()}
        found = {name: self.version_of(name) for name in operator_facts() if name in folders}
        return {name: version for name, version in found.items() if version is not None}

    def entries(
        self, family: str, block: int, versions: Mapping[str, str]
    ) -> dict[str, OperatorEntry]:
        """Return what is done of a family on a block, by operator."""
        return {
            name: entry
            for name, entry in read_record(self.record_file(family, block)).items()
            if entry.version == versions.get(name)
        }

    def tasks(self, operators: Iterable[str]) -> list[FamilyTask]:
        """Return every task of some operators, done or not, by block, then by family."""
        members = family_members(operators)
        return [
            FamilyTask(family, block, tuple(names))
            for block in range(self.n_blocks)
            for family, names in members.items()
        ]

    def missing(self, tasks: Iterable[FamilyTask], *, check: bool = False) -> list[FamilyTask]:
        """Return what is still to be done of some tasks.

        Parameters
        ----------
        tasks : iterable of FamilyTask
            From :meth:`tasks`.
        check : bool
            Also read every chunk, and take those that are damaged or gone for missing.

        Returns
        -------
        list of FamilyTask
            With the operators that are missing; tasks that are done are left out.
        """
        versions = self.versions()
        rest = []
        for task in tasks:
            done = self.entries(task.family, task.block, versions)
            names = [
                name
                for name in task.operators
                if name not in done or (check and not self._intact(name, task.block, done[name]))
            ]
            if names:
                rest.append(FamilyTask(task.family, task.block, tuple(names)))
        return rest

    def _intact(self, operator: str, block: int, entry: OperatorEntry) -> bool:
        return chunk_checksum(self.chunk_file(operator, block)) == entry.checksum
