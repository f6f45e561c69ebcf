"""Splits of operators by family: those that guide, and those that are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.core.seeds import generator
from sclcs.selection.guided.method import DEFAULT_PANEL
from sclcs.selection.guided.panel import Panel

__all__ = ["Split", "default_split", "random_half"]

Integers = NDArray[np.int64]

MOST_GUIDING = 12
FEWEST_HELD_OUT = 25  # nDCG@10 among fewer operators is easy
FEWEST_FAMILIES = 4


@dataclass(frozen=True, eq=False)
class Split:
    """Which operators guide and which are held out, by place.

    Parameters
    ----------
    protocol : str
        ``halves`` or ``default``.
    number : int
    guiding, held_out : arrays of int
    """

    protocol: str
    number: int
    guiding: Integers
    held_out: Integers

    def facts(self) -> dict[str, Any]:
        """Return the protocol and the number, as columns of a row of results."""
        return {"protocol": self.protocol, "split": self.number}


def random_half(families: Sequence[str], number: int) -> Split:
    """Split the families at random until both sides are large enough to mean something.

    Parameters
    ----------
    families : sequence of str
        Of each operator.
    number : int
        Another number gives another split.

    Returns
    -------
    Split
    """
    names = sorted(set(families))
    all_families = np.asarray(families, dtype=object)
    random = generator(0, "guided-study", "split", number)
    while True:
        side = {name for name in names if random.random() < 0.5}
        inside = np.array([name in side for name in all_families])
        enough = min(len(side), len(names) - len(side)) >= FEWEST_FAMILIES
        if enough and min(inside.sum(), (~inside).sum()) >= FEWEST_HELD_OUT:
            guiding = _round_robin(all_families, np.flatnonzero(inside), random)
            return Split("halves", number, guiding, np.flatnonzero(~inside))


def _round_robin(families: NDArray[Any], places: Integers, random: np.random.Generator) -> Integers:
    """Pick operators of each family in turn."""
    shuffled = random.permutation(places)
    turns = pd.Series(families[shuffled]).groupby(families[shuffled]).cumcount().to_numpy()
    return np.sort(shuffled[np.argsort(turns, kind="stable")][:MOST_GUIDING])


def default_split(everything: Panel) -> Split:
    """Let the default panel guide, and hold out the families it has no operator of.

    Of operators that are bound to tie, a panel holds one; it may be another one here.
    """
    from sclcs.spi import catalogue, resolve

    table = catalogue()
    groups = {name: str(group) or name for name, group in table["rank_group"].items()}
    wanted = resolve(DEFAULT_PANEL)
    tied = {groups[name] for name in wanted}
    seen = set(table["family"][wanted])
    guiding = [k for k, name in enumerate(everything.operators) if groups[name] in tied]
    held_out = [
        k for k, family in enumerate(everything.families) if family not in seen and k not in guiding
    ]
    return Split("default", 0, np.array(guiding), np.array(held_out))
