"""Splits of operators by family: those that guide, and those that are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.core.errors import InputError
from sclcs.core.seeds import generator
from sclcs.experiments.options import Options
from sclcs.selection.guided.method import DEFAULT_PANEL
from sclcs.selection.guided.panel import Panel

__all__ = ["Split", "default_split", "family_splits", "random_half"]

Integers = NDArray[np.int64]

MOST_GUIDING = 12
FEWEST_HELD_OUT = 25  # nDCG@10 among fewer operators is easy
FEWEST_FAMILIES = 4
FEWEST_GUIDING = 4
MOST_TRIES = 10_000


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


def family_splits(everything: Panel, options: Options) -> list[Split]:
    """Return the splits of a study: random halves, and the default panel if it is there.

    Parameters
    ----------
    everything : Panel
        All operators.
    options : Options
        Its ``family_splits`` and ``seed``; a toy has few operators, and small splits.

    Returns
    -------
    list of Split
    """
    limits = {"fewest_held_out": 3, "fewest_families": 3} if options.toy else {}
    splits = [
        random_half(everything.families, number, **limits) for number in options.split_numbers
    ]
    default = default_split(everything)
    enough = limits.get("fewest_held_out", FEWEST_HELD_OUT)
    if len(default.guiding) >= FEWEST_GUIDING and len(default.held_out) >= enough:
        splits.append(default)
    return splits


def random_half(
    families: Sequence[str],
    number: int,
    *,
    fewest_held_out: int = FEWEST_HELD_OUT,
    fewest_families: int = FEWEST_FAMILIES,
) -> Split:
    """Split the families at random until both sides are large enough to mean something.

    Parameters
    ----------
    families : sequence of str
        Of each operator.
    number : int
        Another number gives another split.
    fewest_held_out, fewest_families : int
        What a side must have: operators and families.

    Returns
    -------
    Split
    """
    names = sorted(set(families))
    if len(names) < 2 * fewest_families or len(families) < 2 * fewest_held_out:
        raise InputError(
            f"Expected at least {2 * fewest_held_out} operators of {2 * fewest_families} families "
            f"to split by family, got {len(families)} of {len(names)}; give more operators."
        )
    all_families = np.asarray(families, dtype=object)
    random = generator(0, "guided-study", "split", number)
    for _ in range(MOST_TRIES):
        side = {name for name in names if random.random() < 0.5}
        inside = np.array([name in side for name in all_families])
        enough = min(len(side), len(names) - len(side)) >= fewest_families
        if enough and min(inside.sum(), (~inside).sum()) >= fewest_held_out:
            guiding = _round_robin(all_families, np.flatnonzero(inside), random)
            return Split("halves", number, guiding, np.flatnonzero(~inside))
    raise InputError(
        f"The families of these {len(families)} operators cannot be split into two sides with "
        f"at least {fewest_held_out} operators each; one of them is too large. Give more operators."
    )


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
    return Split(
        "default", 0, np.array(guiding, dtype=np.int64), np.array(held_out, dtype=np.int64)
    )
