"""Run one family on one block of samples, whatever happens."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.spi.catalogue import operator_facts
from sclcs.spi.context import FamilyContext
from sclcs.spi.own_operators import own_family
from sclcs.spi.signals import MINIMUM_REGIONS, StandardSignals
from sclcs.spi.status import OperatorOutcome, Status, judge_matrices

__all__ = ["Family", "family_members", "load_family", "run_family"]

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
        outcomes |= _run(load_family(name), long_enough, signals, context)
    return outcomes


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
        sub_context = FamilyContext(context.sample_seeds[samples], context.memory_bytes)
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
        alone = FamilyContext(context.sample_seeds[k : k + 1], context.memory_bytes)
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
