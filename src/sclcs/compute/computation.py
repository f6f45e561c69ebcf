"""What is to be computed: which operators on which samples, into which store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError, OutputExistsError, name_first
from sclcs.core.identity import Identity
from sclcs.spi.fc_mending import mend_store
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import create_store
from sclcs.spi.sets import resolve
from sclcs.spi.versions import Stamp, operator_stamps

__all__ = ["Computation", "Coreset", "open_computation"]


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

    @property
    def identity(self) -> Identity:
        """What processes must agree on that share the work."""
        stamps = dict(sorted(self.stamps.items()))
        return Identity(
            "computation",
            inputs={"cohort": self.store.fingerprint, "operators": list(stamps)},
            versions={name: stamp.version for name, stamp in stamps.items()},
            seeds={name: stamp.seed for name, stamp in stamps.items()},
        )


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
    """Open or make the store; the parameters are those of :func:`sclcs.compute.compute_store`.

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
    return mend_store(path, chosen, whole)


def _choose(cohort: Cohort, coreset: Coreset | None) -> Cohort:
    if len(cohort) == 0:
        raise InputError("The cohort has no samples: there is nothing to compute.")
    if coreset is None:
        return cohort
    if isinstance(coreset, str):
        raise InputError(f"Expected sample ids or a core-set, got the text {coreset!r}.")
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
