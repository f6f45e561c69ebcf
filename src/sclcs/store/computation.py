"""What is to be computed: which operators on which samples, into which store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from pathlib import Path
from typing import Protocol, runtime_checkable

from sclcs._core import InputError, OutputExistsError, name_first
from sclcs.cohort import Cohort, CoreSet
from sclcs.spi import Stamp, operator_cost, operator_stamps, resolve, seconds_per_sample
from sclcs.store.fc_store import FCStore
from sclcs.store.layout import Piece, StoreLayout
from sclcs.store.writer import create_store, open_or_repair

__all__ = ["Computation", "Coreset", "Work", "open_computation", "parse_share"]


@runtime_checkable
class HasSampleIds(Protocol):
    """A core-set, as far as computing is concerned."""

    @property
    def sample_ids(self) -> Sequence[str]:
        """The samples it keeps."""


Coreset = Sequence[str] | HasSampleIds


@dataclass(frozen=True)
class Computation:
    """Samples, operators and the store, checked against each other.

    Parameters
    ----------
    cohort : Cohort
        The samples to compute, in the order of the store.
    operators : list of str
        Catalogue identifiers.
    store : FCStore
        Open; it may hold other operators, or these in part.
    seed : int
        Seed of the operators that draw random numbers.
    force : bool
        Whether the operators are computed again even if they are there.
    """

    cohort: Cohort
    operators: list[str]
    store: FCStore
    seed: int
    force: bool

    @property
    def stamps(self) -> dict[str, Stamp]:
        """What decides the numbers of the operators."""
        return operator_stamps(self.operators, self.seed)


def open_computation(
    cohort: Cohort | str | os.PathLike[str],
    out: str | os.PathLike[str] | FCStore,
    spis: str | Sequence[str] = "paper-fast",
    *,
    coreset: Coreset | None = None,
    seed: int = 0,
    force: bool = False,
    block_size: int | None = None,
) -> Computation:
    """Open or make the store; the parameters are those of :func:`sclcs.store.compute_store`.

    A store that is open already serves as well.
    """
    operators = resolve(spis)
    whole = cohort if isinstance(cohort, Cohort) else Cohort.open(cohort)
    chosen = _choose(whole, coreset)
    store = out if isinstance(out, FCStore) else _open(Path(out), chosen, whole, block_size)
    _refuse_to_mix(store, whole, chosen)
    return Computation(chosen, operators, store, seed, force)


def _open(path: Path, chosen: Cohort, whole: Cohort, block_size: int | None) -> FCStore:
    if not path.exists():
        # Another process of the same work may be quicker; the caller checks what it made.
        with suppress(OutputExistsError):
            return create_store(path, chosen, whole.fingerprint, block_size=block_size)
    return open_or_repair(path, chosen, whole)


def _choose(cohort: Cohort, coreset: Coreset | None) -> Cohort:
    if len(cohort) == 0:
        raise InputError("The cohort has no samples: there is nothing to compute.")
    if coreset is None:
        return cohort
    if isinstance(coreset, str):
        raise InputError(f"Expected sample ids or a core-set, got the text {coreset!r}.")
    if isinstance(coreset, CoreSet):
        coreset.require_cohort(cohort.fingerprint, cohort.provenance)
    ids = list(coreset if isinstance(coreset, Sequence) else coreset.sample_ids)
    kept = set(ids)
    if len(kept) < len(ids):
        raise InputError(
            f"The core-set names samples twice: "
            f"{name_first(sorted(name for name in kept if ids.count(name) > 1))}."
        )
    if not ids:
        raise InputError("The core-set is empty: there is nothing to compute.")
    cohort.take(ids)  # names the samples that are not in the cohort
    return cohort.take([name for name in cohort.sample_ids if name in kept])


def _refuse_to_mix(store: FCStore, whole: Cohort, chosen: Cohort) -> None:
    """Refuse a store that belongs to another cohort or core-set."""
    if store.fingerprint != whole.fingerprint:
        problem = (
            f"another cohort: fingerprint {store.fingerprint[:8]}, this one has "
            f"{whole.fingerprint[:8]}"
        )
    elif store.sample_ids != chosen.sample_ids:
        only_here = [name for name in chosen.sample_ids if name not in set(store.sample_ids)]
        problem = f"another core-set: {len(store)} samples, this one has {len(chosen)}" + (
            f", among them {name_first(only_here)}" if only_here else ""
        )
    else:
        return
    raise InputError(f"The FC store {store.path} was made from {problem}; choose another folder.")


MOST_SHARES = 100_000  # more than any batch system takes in one array


@dataclass(frozen=True)
class Work:
    """Pieces of a computation with what they are expected to cost.

    Parameters
    ----------
    pieces : sequence of Piece
    layout : StoreLayout
        Of the store.
    n_timepoints : int
        Length of a sample.
    """

    pieces: Sequence[Piece]
    layout: StoreLayout
    n_timepoints: int

    @classmethod
    def of(cls, computation: Computation) -> Work:
        """Return all work of a computation, done or not."""
        layout = computation.store.layout
        pieces = layout.pieces(computation.operators)
        return cls(pieces, layout, computation.cohort.n_timepoints)

    def seconds(self, piece: Piece) -> float:
        """Predict the CPU seconds of a piece, on the machine of the benchmark."""
        rows = self.layout.block_rows(piece.family, piece.block)
        sample = _seconds_of_sample(piece.operators, self.layout.n_regions, self.n_timepoints)
        return int(rows.stop - rows.start) * sample

    def deal(self, count: int) -> list[list[Piece]]:
        """Deal the work: the longest first, each to the share that has least to do.

        Parameters
        ----------
        count : int
            Number of shares.

        Returns
        -------
        list of list of Piece
            By share, in the order of the pieces.
        """
        seconds = [self.seconds(piece) for piece in self.pieces]
        longest_first = sorted(range(len(seconds)), key=lambda number: (-seconds[number], number))
        loads = [(0.0, share) for share in range(count)]  # a heap
        dealt: list[list[int]] = [[] for _ in range(count)]
        for number in longest_first:
            load, share = heappop(loads)
            dealt[share].append(number)
            heappush(loads, (load + seconds[number], share))
        return [[self.pieces[number] for number in sorted(numbers)] for numbers in dealt]


@lru_cache(maxsize=4096)  # a large cohort has a million pieces of a few families
def _seconds_of_sample(operators: tuple[str, ...], regions: int, timepoints: int) -> float:
    return seconds_per_sample(operator_cost(name, regions, timepoints) for name in operators)


def parse_share(text: str) -> tuple[int, int]:
    """Read a share as written on the command line, for example ``3/8``."""
    number, slash, count = text.partition("/")
    if not (slash and number.strip().isdecimal() and count.strip().isdecimal()):
        raise InputError(f"Expected a share of the tasks as i/n, for example 3/8, got {text!r}.")
    if not 1 <= int(number) <= int(count) <= MOST_SHARES:
        raise InputError(
            f"Expected a share from 1/n to n/n with n at most {MOST_SHARES}, got {text!r}."
        )
    return int(number), int(count)
