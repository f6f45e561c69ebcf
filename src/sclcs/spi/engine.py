"""Run one family on one block of samples, whatever happens."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

import sclcs
from sclcs._core import InputError
from sclcs.cohort import by_length
from sclcs.spi.numerics.compiling import Array, garbage_left_alone
from sclcs.spi.operators import operator_facts, operator_name, operator_units
from sclcs.spi.own import MEBIBYTE, FamilyContext, own_family
from sclcs.spi.signals import (
    MINIMUM_REGIONS,
    StandardSignals,
    check_signals,
    sample_seeds,
    standardise,
)
from sclcs.spi.status import OperatorOutcome, Status, judge_matrices
from sclcs.spi.versions import resolve

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Family",
    "compute_batch",
    "compute_block",
    "family_members",
    "load_family",
    "plan_blocks",
    "run_family",
    "warm_up",
    "warm_ups",
]


REASON_LENGTH = 200

Indices = NDArray[np.intp]
# By member: its matrices, and why it failed on which samples.
Found = dict[str, tuple[Array, dict[int, str]]]


class Family(Protocol):
    """What a module of ``sclcs.spi.families`` offers."""

    @property
    def MEMBERS(self) -> Mapping[str, object]:  # noqa: N802 - a constant of the module
        """Identifiers of its operators and their parameters."""

    def compute(
        self, signals: Array, members: Collection[str], context: FamilyContext
    ) -> dict[str, Array]:
        """Compute the matrices (sample, region, region) of some members."""


def load_family(name: str) -> Family:
    """Import a family; this is where numba and its kernels are loaded."""
    own = own_family(name)
    return own if own is not None else cast("Family", import_module(f"sclcs.spi.families.{name}"))


def family_members(identifiers: Iterable[str]) -> dict[str, list[str]]:
    """Group identifiers by family."""
    facts = operator_facts()
    members: dict[str, list[str]] = {}
    for identifier in identifiers:
        members.setdefault(facts[identifier].family, []).append(identifier)
    return members


def run_family(
    name: str, members: Collection[str], signals: StandardSignals, context: FamilyContext
) -> dict[str, OperatorOutcome]:
    """Run some members of a family on a block of samples.

    Nothing that happens inside the family gets out: an error, a constant region or too
    few time points leave NaN and a reason.

    Parameters
    ----------
    name : str
        The family.
    members : collection of str
        Identifiers of its operators.
    signals : StandardSignals
        The block.
    context : FamilyContext
        Seeds of the block's samples and the memory budget.

    Returns
    -------
    dict of str to OperatorOutcome
        One per member.
    """
    facts = operator_facts()
    n_times = signals.values.shape[-1]
    outcomes: dict[str, OperatorOutcome] = {}
    long_enough = []
    for identifier in members:
        needed = facts[identifier].minimum_length
        if n_times >= needed:
            long_enough.append(identifier)
        else:
            reason = f"needs {needed} time points, has {n_times}"
            outcomes[identifier] = _skipped(signals, reason)
    if long_enough:
        with nullcontext() if name in _used else garbage_left_alone():
            outcomes |= _run(load_family(name), long_enough, signals, context)
        _used.add(name)
    return outcomes


_used: set[str] = set()  # families that ran in this process: most of their kernels are compiled


def _run(
    family: Family, members: list[str], signals: StandardSignals, context: FamilyContext
) -> dict[str, OperatorOutcome]:
    started = time.thread_time()  # kernels run in this thread; a busy machine costs no more
    if signals.usable.all():
        found = _compute_resiliently(family, members, signals.values, context)
    else:
        found = _compute_on_usable_regions(family, members, signals, context)
    seconds = (time.thread_time() - started) / len(members)
    return {
        identifier: _finish(identifier, matrices, failures, signals, seconds)
        for identifier, (matrices, failures) in found.items()
    }


def _compute_on_usable_regions(
    family: Family, members: list[str], signals: StandardSignals, context: FamilyContext
) -> Found:
    """Keep constant regions from the family: compute samples on the others only."""
    n_samples, n_regions, _ = signals.values.shape
    found: Found = {
        identifier: (np.full((n_samples, n_regions, n_regions), np.nan), {})
        for identifier in members
    }
    for samples, regions in _groups_of_equal_regions(signals.usable):
        sub_context = context.of(samples)
        if sub_context.scales is not None:
            sub_context = replace(sub_context, scales=sub_context.scales[:, regions])
        values = signals.values[np.ix_(samples, regions)]
        part = _compute_resiliently(family, members, values, sub_context)
        for identifier, (block, failures) in part.items():
            matrices, all_failures = found[identifier]
            matrices[np.ix_(samples, regions, regions)] = block
            all_failures.update({int(samples[k]): why for k, why in failures.items()})
    return found


def _groups_of_equal_regions(usable: NDArray[np.bool_]) -> list[tuple[Indices, Indices]]:
    """Pair groups of samples with the regions that they can use."""
    patterns, group_of_sample = np.unique(usable, axis=0, return_inverse=True)
    return [
        (np.flatnonzero(group_of_sample.ravel() == group), np.flatnonzero(pattern))
        for group, pattern in enumerate(patterns)
        if pattern.sum() >= MINIMUM_REGIONS
    ]


def _compute_resiliently(
    family: Family, members: list[str], values: Array, context: FamilyContext
) -> Found:
    """Compute; after an error, divide by member and by sample until only the culprit is lost."""
    try:
        return {name: (m, {}) for name, m in _call(family, members, values, context).items()}
    except Exception as error:  # noqa: BLE001 - any failure must stay inside its operator
        reason = f"{type(error).__name__}: {error}"[:REASON_LENGTH]
    if len(members) > 1:
        return {
            identifier: _compute_resiliently(family, [identifier], values, context)[identifier]
            for identifier in members
        }
    n_samples, n_regions, _ = values.shape
    matrices = np.full((n_samples, n_regions, n_regions), np.nan)
    if n_samples == 1:
        return {members[0]: (matrices, {0: reason})}
    failures: dict[int, str] = {}
    for k in range(n_samples):
        alone = context.of(slice(k, k + 1))
        part = _compute_resiliently(family, members, values[k : k + 1], alone)
        (matrices[k],), failed = part[members[0]]
        if failed:
            failures[k] = failed[0]
    return {members[0]: (matrices, failures)}


def _call(
    family: Family, members: list[str], values: Array, context: FamilyContext
) -> dict[str, Array]:
    """Call the family and hold it to its contract."""
    n_samples, n_regions, _ = values.shape
    with np.errstate(all="ignore"):
        found = family.compute(values, members, context)
    matrices = {}
    for identifier in members:
        block = np.require(found[identifier], dtype=np.float64, requirements="W")
        if block.shape != (n_samples, n_regions, n_regions):
            raise RuntimeError(f"{identifier} has the shape {block.shape}")
        matrices[identifier] = block
    return matrices


@cache
def _upper_triangle(n_regions: int) -> tuple[Indices, Indices]:
    return np.triu_indices(n_regions, 1)


def _finish(
    identifier: str,
    matrices: Array,
    failures: Mapping[int, str],
    signals: StandardSignals,
    seconds: float,
) -> OperatorOutcome:
    """Clear the diagonal and what is infinite, make symmetry exact, and judge every sample."""
    n_regions = matrices.shape[-1]
    diagonal = np.arange(n_regions)
    matrices[:, diagonal, diagonal] = np.nan
    if operator_facts()[identifier].symmetric:
        row, column = _upper_triangle(n_regions)
        matrices[:, column, row] = matrices[:, row, column]
    status, reason = judge_matrices(matrices, signals.constant_regions)
    for sample, found in enumerate(status):
        if found != Status.OK:  # an infinite value is as undefined as NaN, and is counted so
            matrices[sample][np.isinf(matrices[sample])] = np.nan
    for sample, why in failures.items():
        status[sample], reason[sample] = Status.FAILED, why
    return OperatorOutcome(matrices, status, reason, seconds)


def _skipped(signals: StandardSignals, reason: str) -> OperatorOutcome:
    n_samples, n_regions, _ = signals.values.shape
    return OperatorOutcome(
        matrices=np.full((n_samples, n_regions, n_regions), np.nan),
        status=[Status.SKIPPED] * n_samples,
        reason=[reason] * n_samples,
    )


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
    """Compute matrices of arrays (sample, region, time); :func:`sclcs.compute` explains it all.

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
    status = [[Status.OK] * n_samples for _ in identifiers]
    reason = [[""] * n_samples for _ in identifiers]

    def run(task: Task) -> None:
        number, family = task
        block = blocks[number]
        context = FamilyContext(seeds[block], memory_bytes, prepared[number].scales)
        outcomes = run_family(family, members[family], prepared[number], context)
        for identifier, outcome in outcomes.items():
            k = position[identifier]
            values[k, block] = outcome.matrices
            status[k][block], reason[k][block] = outcome.status, outcome.reason

    tasks = [(number, family) for number in range(len(blocks)) for family in members]
    with _one_thread_each(frozenset(members)).limit(limits=1):
        _run_all(run, tasks, threads)
    if sample_keys is None and regions is None and not any(map(any, reason)):
        numbered = _numbered(tuple(identifiers), n_samples, n_regions)
        labelled = numbered.copy(deep=False, data=values)
    else:
        labelled = _labelled(values, identifiers, sample_keys, regions, status, reason)
    labelled.attrs["seed"] = seed
    return labelled


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
    joined: xr.DataArray = xr.concat(parts, dim="scan").isel(scan=order)
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
    context = FamilyContext(sample_seeds, memory_bytes, prepared.scales)
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
    bytes_per_sample = 8 * n_operators * n_regions**2
    size = max(1, min(memory_bytes // bytes_per_sample, LARGEST_BLOCK))
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


@lru_cache(maxsize=64)
def _numbered(identifiers: tuple[str, ...], n_samples: int, n_regions: int) -> xr.DataArray:
    """Return matrices without names in which everything is well; to label takes half a scan.

    Their values are left out, and their labels cannot be written to: all copies share them.
    """
    values = np.broadcast_to(np.nan, (len(identifiers), n_samples, n_regions, n_regions))
    status = [[Status.OK] * n_samples] * len(identifiers)
    reason = [[""] * n_samples] * len(identifiers)
    found = _labelled(values, list(identifiers), None, None, status, reason)
    for name in ("operator", "units", "status", "reason"):
        found.coords[name].to_numpy().flags.writeable = False
    return found


def _labelled(  # noqa: PLR0917 - everything that is labelled
    values: Array,
    identifiers: list[str],
    sample_keys: Sequence[object] | None,
    regions: Sequence[str] | None,
    status: list[list[Status]],
    reason: list[list[str]],
) -> xr.DataArray:
    import xarray as xr

    n_samples, n_regions = values.shape[1:3]
    names = np.arange(n_regions) if regions is None else np.asarray(regions)
    units = [operator_units(identifier) for identifier in identifiers]
    return xr.DataArray(
        values,
        dims=("spi", "scan", "source", "target"),
        coords={
            "spi": identifiers,
            "scan": np.arange(n_samples) if sample_keys is None else list(sample_keys),
            "source": names,
            "target": names,
            "operator": ("spi", [operator_name(identifier) for identifier in identifiers]),
            "units": ("spi", units),
            "status": (("spi", "scan"), np.array(status, dtype=str)),
            "reason": (("spi", "scan"), np.array(reason, dtype=str)),
        },
        name="fc",
        attrs={
            "long_name": "Functional connectivity",
            "units": units[0] if len(set(units)) == 1 else "see the coordinate units",
            "seed": 0,
            "software": f"sclcs {sclcs.__version__}",
        },
    )


#: Families that take longest to compile (`benchmarks/bench_start.py`), so that they are not last.
LONGEST = (
    "covariance",
    "nearest_neighbour",
    "granger",
    "dependence",
    "cross_mapping",
    "multitaper",
    "spectral_granger",
    "boxkernel",
    "crosscorrelation",
    "groupdelay",
)
_SAMPLES, _REGIONS = 2, 4


def warm_up(identifiers: Sequence[str], n_times: int) -> None:
    """Run operators once on a tiny batch, so that their kernels are compiled and cached on disk.

    numba compiles a kernel when it is first called. Processes that do so at the same moment
    repeat the work of seconds to minutes, and on a network file system they may break each
    other's cache.

    Parameters
    ----------
    identifiers : sequence of str
        From the catalogue.
    n_times : int
        Time points of the real samples; some operators choose their path by it.
    """
    signals = np.random.default_rng(0).normal(size=(_SAMPLES, _REGIONS, n_times))
    compute_block(signals, identifiers, sample_seeds=np.arange(_SAMPLES, dtype=np.uint64))


def warm_ups(identifiers: Sequence[str], n_times: int) -> list[Callable[[], None]]:
    """Return what :func:`warm_up` does, one family each, for processes that share the compiling.

    Parameters
    ----------
    identifiers : sequence of str
    n_times : int

    Returns
    -------
    list of callable
        Those that take longest first.
    """
    members = family_members(identifiers)
    place = {family: k for k, family in enumerate(LONGEST)}
    order = sorted(members, key=lambda family: place.get(family, len(LONGEST)))
    return [partial(warm_up, members[family], n_times) for family in order]
