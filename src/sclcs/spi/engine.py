"""Compute operators on batches of samples.

A *task* is one family of operators on one block of samples. Blocks are cut by a
memory budget, never by the number of jobs, so the result is the same, bit for
bit, however many threads share the tasks. Families run single-threaded kernels
that release the GIL; the threads here are the only level of parallelism.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

import sclcs
from sclcs.cohort.lengths import by_length
from sclcs.core.errors import InputError
from sclcs.numerics.arrays import Array
from sclcs.spi.catalogue import operator_facts
from sclcs.spi.context import MEBIBYTE, FamilyContext
from sclcs.spi.names import operator_name
from sclcs.spi.runner import family_members, load_family, run_family
from sclcs.spi.sets import resolve
from sclcs.spi.signals import check_signals, sample_seeds, standardise
from sclcs.spi.status import OperatorOutcome
from sclcs.spi.units import operator_units

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["compute_batch", "compute_block", "plan_blocks"]

Task = tuple[int, str]  # number of the block, name of the family

DEFAULT_MEMORY = 512 * MEBIBYTE
LARGEST_BLOCK = 32  # samples; larger blocks are no faster and report progress less often


def compute_batch(
    signals: ArrayLike,
    spis: str | Sequence[str],
    n_jobs: int = 1,
    *,
    seed: int = 0,
    sample_keys: Sequence[object] | None = None,
    lengths: Sequence[int] | NDArray[np.int64] | None = None,
    memory_bytes: int = DEFAULT_MEMORY,
    regions: Sequence[str] | None = None,
) -> xr.DataArray:
    """Compute matrices of arrays; :func:`sclcs.spi.compute` explains it all.

    Parameters
    ----------
    signals : array_like, shape (sample, region, time) or (region, time)
        Finite real numbers.
    spis, n_jobs, seed, sample_keys, lengths, memory_bytes
        As there.
    regions : sequence of str, optional
        Names of the regions; by default they are numbered.

    Returns
    -------
    xarray.DataArray
    """
    identifiers = resolve(spis)
    if lengths is not None:
        return _compute_by_length(
            signals,
            np.asarray(lengths),
            identifiers,
            sample_keys,
            {"n_jobs": n_jobs, "seed": seed, "memory_bytes": memory_bytes, "regions": regions},
        )
    batch = check_signals(signals)
    n_samples, n_regions, _ = batch.shape
    if sample_keys is not None and len(sample_keys) != n_samples:
        raise InputError(f"{n_samples} samples need as many sample_keys, not {len(sample_keys)}.")
    threads = _thread_count(n_jobs)
    members = family_members(identifiers)
    position = {identifier: k for k, identifier in enumerate(identifiers)}
    seeds = _seeds(batch, identifiers, seed)
    blocks = plan_blocks(n_samples, n_regions, len(identifiers), memory_bytes)
    prepared = [standardise(batch[block]) for block in blocks]
    values = np.empty((len(identifiers), n_samples, n_regions, n_regions))
    status = np.empty((len(identifiers), n_samples), dtype=object)
    reason = np.empty_like(status)

    def run(task: Task) -> None:
        number, family = task
        block = blocks[number]
        context = FamilyContext(sample_seeds=seeds[block], memory_bytes=memory_bytes)
        outcomes = run_family(family, members[family], prepared[number], context)
        for identifier, outcome in outcomes.items():
            k = position[identifier]
            values[k, block] = outcome.matrices
            status[k, block] = [str(name) for name in outcome.status]
            reason[k, block] = outcome.reason

    tasks = [(number, family) for number in range(len(blocks)) for family in members]
    with _one_thread_each(frozenset(members)).limit(limits=1):
        _run_all(run, tasks, threads)
    labels: dict[str, object] = {"spi": identifiers, "sample": np.arange(n_samples)}
    if sample_keys is not None:
        labels["sample"] = list(sample_keys)
    for axis in ("source", "target"):
        labels[axis] = np.arange(n_regions) if regions is None else np.asarray(regions)
    return _label(values, labels, status, reason, seed)


def _compute_by_length(
    signals: ArrayLike,
    lengths: NDArray[np.int64],
    identifiers: list[str],
    sample_keys: Sequence[object] | None,
    options: Mapping[str, Any],
) -> xr.DataArray:
    """Compute samples of one length together and put the results into their order."""
    import xarray as xr

    batch = np.asarray(signals)
    if batch.ndim != 3 or lengths.shape != batch.shape[:1]:
        raise InputError(
            f"Expected one length per sample of signals (sample, region, time), got "
            f"{lengths.size} for the shape {batch.shape}."
        )
    if lengths.max(initial=0) > batch.shape[2]:
        raise InputError(
            f"Expected lengths of at most {batch.shape[2]} time points, those of the signals, got "
            f"{lengths.max()}."
        )
    parts = [
        compute_batch(
            batch[rows][:, :, :length],
            identifiers,
            sample_keys=rows.tolist() if sample_keys is None else [sample_keys[k] for k in rows],
            n_jobs=options["n_jobs"],
            seed=options["seed"],
            memory_bytes=options["memory_bytes"],
            regions=options["regions"],
        )
        for length, rows in by_length(lengths)
    ]
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([rows for _, rows in by_length(lengths)]))
    joined: xr.DataArray = xr.concat(parts, dim="sample").isel(sample=order)
    return joined


def compute_block(
    signals: Array,
    identifiers: Sequence[str],
    *,
    sample_seeds: NDArray[np.uint64],
    memory_bytes: int = DEFAULT_MEMORY,
) -> dict[str, OperatorOutcome]:
    """Compute some operators on one block of samples, in the calling thread.

    This is the unit of work of stores and executors; give it the members of one
    family at a time to divide work finely.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Checked by :func:`sclcs.spi.signals.check_signals`, not z-scored.
    identifiers : sequence of str
        From the catalogue, implemented.
    sample_seeds : array of uint64, shape (sample,)
        As made by :func:`sclcs.spi.signals.sample_seeds`.
    memory_bytes : int
        Budget for intermediates.

    Returns
    -------
    dict of str to OperatorOutcome
        Matrices, status, reasons and seconds by identifier, in the order given.
    """
    prepared = standardise(signals)
    context = FamilyContext(sample_seeds=sample_seeds, memory_bytes=memory_bytes)
    outcomes: dict[str, OperatorOutcome] = {}
    members = family_members(identifiers)
    with _one_thread_each(frozenset(members)).limit(limits=1):
        for family, names in members.items():
            outcomes |= run_family(family, names, prepared, context)
    return {identifier: outcomes[identifier] for identifier in identifiers}


def plan_blocks(
    n_samples: int, n_regions: int, n_operators: int, memory_bytes: int = DEFAULT_MEMORY
) -> list[slice]:
    """Cut the samples into blocks whose matrices fit the memory budget.

    Parameters
    ----------
    n_samples, n_regions, n_operators : int
        Size of the work.
    memory_bytes : int
        Budget of one block.

    Returns
    -------
    list of slice
        Consecutive and complete; at least one sample in each.
    """
    bytes_per_sample = n_operators * n_regions**2 * np.dtype(np.float64).itemsize
    size = int(np.clip(memory_bytes // bytes_per_sample, 1, LARGEST_BLOCK))
    return [slice(start, min(start + size, n_samples)) for start in range(0, n_samples, size)]


def _seeds(batch: Array, identifiers: list[str], seed: int) -> NDArray[np.uint64]:
    """Return the samples' seeds, without reading their content if no operator is random."""
    facts = operator_facts()
    if all(facts[identifier].deterministic for identifier in identifiers):
        return np.zeros(len(batch), dtype=np.uint64)
    return sample_seeds(batch, seed)


def _thread_count(n_jobs: int) -> int:
    if n_jobs == -1:
        return os.cpu_count() or 1
    if not isinstance(n_jobs, int | np.integer) or n_jobs < 1:
        raise InputError(f"n_jobs must be a positive whole number or -1, not {n_jobs!r}.")
    return n_jobs


@cache
def _one_thread_each(families: frozenset[str]) -> ThreadpoolController:
    """Load families and find the BLAS and OpenMP libraries that came with them.

    The search takes milliseconds, hence the cache; its key is the set of families because
    a family that is loaded later may bring another library.
    """
    for family in families:
        load_family(family)
    return ThreadpoolController()


def _run_all(run: Callable[[Task], None], tasks: list[Task], threads: int) -> None:
    if threads == 1:  # the calling thread can be interrupted between tasks
        for task in tasks:
            run(task)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(run, tasks):  # consuming the results re-raises what went wrong
            pass


def _label(
    values: Array,
    labels: Mapping[str, object],
    status: NDArray[np.object_],
    reason: NDArray[np.object_],
    seed: int,
) -> xr.DataArray:
    import xarray as xr

    identifiers = [str(identifier) for identifier in cast("list[str]", labels["spi"])]
    units = [operator_units(identifier) for identifier in identifiers]
    return xr.DataArray(
        values,
        dims=("spi", "sample", "source", "target"),
        coords={
            **labels,
            "operator": ("spi", [operator_name(identifier) for identifier in identifiers]),
            "units": ("spi", units),
            "status": (("spi", "sample"), status.astype(str)),
            "reason": (("spi", "sample"), reason.astype(str)),
        },
        name="fc",
        attrs={
            "long_name": "Functional connectivity",
            "units": units[0] if len(set(units)) == 1 else "see the coordinate units",
            "seed": seed,
            "software": f"sclcs {sclcs.__version__}",
        },
    )
