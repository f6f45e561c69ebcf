"""Is there anything to find? One family-wise test over operators and views.

Every operator has three statistics under the same permutations: pattern, values, strongest edge.
Each becomes evidence, ``-log p`` of a gamma distribution with the mean, spread and skewness of its
own permutations (Winkler et al. 2016), because null distributions differ and the widest one
would decide otherwise. In every view operators speak in two ways: the strongest of them (an effect
that one operator sees), and all of them together (an effect that most see a little; Fisher 1932).
The smallest of the six p is compared with the smallest of the six under every permutation: exact,
whatever the gamma distribution is worth (Westfall & Young 1993).

The strongest alone pays for a hundred operators, all together alone misses what one operator sees;
the six cost little, because they go together. Measured in ``results/decision/power.csv``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from sclcs._core import InputError
from sclcs.stats.effects import EDGE, OperatorEffects

__all__ = ["EffectFinding", "StrongEdge", "effect_finding"]

Floats = NDArray[np.float64]
TIE = 1e-4  # evidence that differs by less is equal: what single precision leaves
LEAST_SKEW = 0.05  # below it a gamma distribution is a normal one
LEAST_P = 1e-300


@dataclass(frozen=True)
class StrongEdge:
    """An edge that differs.

    Parameters
    ----------
    operator : str
    source, target : int
        Its regions.
    t : float
        Of two classes the second against the first, of a number its slope; root of F of several
        classes.
    p : float
        Corrected for all edges, operators and views.
    """

    operator: str
    source: int
    target: int
    t: float
    p: float


@dataclass(frozen=True, eq=False)
class EffectFinding:
    """Whether any operator sees the target, and in which view.

    Parameters
    ----------
    p : float
        Chance to find as much by luck anywhere.
    views : dict of str to float
        The p of every view (``pattern``, ``values``, ``edge``), corrected for the others; the
        clearest first, which evidence tells where p are equal.
    operators : list of str
        Those that were tested.
    p_operators : dict of str to array, shape (operator,)
        By view, the p of every operator, corrected for all operators and views.
    evidence : dict of str to array, shape (operator,)
        By view, ``-log p`` of every operator alone by its gamma distribution: it tells operators
        apart that no permutation reaches.
    edges : list of StrongEdge
        The strongest edges, one for each pair of regions, the first first.
    """

    p: float
    views: dict[str, float]
    operators: list[str]
    p_operators: dict[str, Floats]
    evidence: dict[str, Floats]
    edges: list[StrongEdge]

    def found(self, level: float = 0.05) -> bool:
        """Say whether there is an effect."""
        return self.p <= level

    def seen_in(self, level: float = 0.05) -> list[str]:
        """Return the views that see it, the clearest first."""
        return [view for view, p in self.views.items() if p <= level]

    def seen_by(self, level: float = 0.05) -> list[str]:
        """Return the operators that see it in any view, the clearest first.

        None of them may do so by itself where all of them do together.
        """
        smallest = np.min(list(self.p_operators.values()), axis=0)
        largest = np.max(list(self.evidence.values()), axis=0)
        order = np.lexsort((-largest, smallest))
        return [self.operators[place] for place in order if smallest[place] <= level]

    def strong_edges(self, level: float = 0.05) -> list[StrongEdge]:
        """Return the edges that differ by themselves."""
        return [edge for edge in self.edges if edge.p <= level]


def effect_finding(effects: Mapping[str, OperatorEffects], n_edges: int = 5) -> EffectFinding:
    """Test operators and views as one family.

    Parameters
    ----------
    effects : mapping of str to OperatorEffects
        By operator, under the same permutations. Operators must not have been chosen by the target
        of the cases they are tested on: all of a catalogue are not; of expensive ones that were,
        give the effects on cases that did not choose (:meth:`EffectDesign.of`).
    n_edges : int
        How many of the strongest edges are named.

    Returns
    -------
    EffectFinding
    """
    usable = {name: one for name, one in effects.items() if _varies(one)}
    if not usable:
        raise InputError("Expected operators whose matrices vary between cases, got none.")
    sizes = {len(row) for one in usable.values() for row in one.tests.values()}
    if len(sizes) > 1 or min(sizes) < 2:
        raise InputError(
            "Expected the same permutations (at least one) for every operator, got "
            f"{', '.join(str(size - 1) for size in sorted(sizes))}."
        )
    names = list(usable)
    views = list(usable[names[0]].tests)
    tests = {view: np.stack([usable[name].tests[view] for name in names]) for view in views}
    shapes = {view: _Gamma(table) for view, table in tests.items()}
    evidence = {view: shapes[view].evidence(table) for view, table in tests.items()}
    strongest = {view: np.sort(table.max(axis=0)) for view, table in evidence.items()}
    columns = {
        view: np.minimum(
            _p(table.max(axis=0), strongest[view]),
            _p(table.mean(axis=0), np.sort(table.mean(axis=0))),
        )
        for view, table in evidence.items()
    }
    smallest = np.sort(-np.min(list(columns.values()), axis=0))

    def corrected(p: Floats) -> Floats:
        """Return the part of the permutations whose smallest p is at most this one."""
        return _p(-p, smallest)

    by_view = {view: float(corrected(column[:1])[0]) for view, column in columns.items()}
    by_operator = {view: corrected(_p(evidence[view][:, 0], strongest[view])) for view in views}
    edges: list[StrongEdge] = []
    if EDGE in views:
        found = _strong_edges(usable, shapes[EDGE], n_edges)
        sizes_found = np.array([size for _, size in found])
        ps = corrected(_p(sizes_found, strongest[EDGE]))
        edges = [replace(edge, p=float(p)) for (edge, _), p in zip(found, ps, strict=True)]
    observed = {view: table[:, 0] for view, table in evidence.items()}
    clearest = sorted(views, key=lambda view: (by_view[view], -observed[view].max()))
    return EffectFinding(
        min(by_view.values()),
        {view: by_view[view] for view in clearest},
        names,
        by_operator,
        observed,
        edges,
    )


def _varies(effects: OperatorEffects) -> bool:
    return all(np.isfinite(row).all() and np.ptp(row) > 0 for row in effects.tests.values())


class _Gamma:
    """Gamma distributions with the first three moments of permuted statistics, by operator."""

    def __init__(self, table: Floats) -> None:
        self._mean = table.mean(axis=1, keepdims=True)
        self._spread = table.std(axis=1, keepdims=True)
        skew = (((table - self._mean) / self._spread) ** 3).mean(axis=1, keepdims=True)
        self._shape = 4.0 / np.maximum(skew, LEAST_SKEW) ** 2

    def evidence(self, table: Floats, rows: slice = slice(None)) -> Floats:
        """Return ``-log p`` of statistics (operator, value)."""
        shape = self._shape[rows]
        scores = (table - self._mean[rows]) / self._spread[rows]
        tail = gammaincc(shape, np.maximum(scores * np.sqrt(shape) + shape, 0.0))
        return np.asarray(-np.log(np.maximum(tail, LEAST_P)))


def _p(values: Floats, ascending: Floats) -> Floats:
    """Return for every value which part of some sorted ones is at least as large."""
    below = np.searchsorted(ascending, values - TIE * np.maximum(np.abs(values), TIE))
    return np.asarray((len(ascending) - below) / len(ascending))


def _strong_edges(
    effects: Mapping[str, OperatorEffects], shapes: _Gamma, count: int
) -> list[tuple[StrongEdge, float]]:
    """Return the strongest edges, whose p is not known yet, and their evidence."""
    best: dict[tuple[int, int], tuple[StrongEdge, float]] = {}
    for place, (name, one) in enumerate(effects.items()):
        order = np.argsort(-np.abs(one.edges), kind="stable")[: 2 * count]
        sizes = shapes.evidence(np.abs(one.edges[order])[None, :], slice(place, place + 1))[0]
        for edge, size in zip(order, sizes, strict=True):
            source, target = (int(region) for region in one.regions[edge])
            pair = min(source, target), max(source, target)
            if pair not in best or size > best[pair][1]:
                named = StrongEdge(name, source, target, float(one.edges[edge]), float("nan"))
                best[pair] = named, float(size)
    return sorted(best.values(), key=lambda found: -found[1])[:count]
