"""The scores: one row of facts and one formula each.

The command line, the documentation and the tests read this registry; a new score is one
entry. Higher is better for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import UnknownNameError

if TYPE_CHECKING:
    from sclcs.benchmark.pairs import OperatorPairs

__all__ = ["DEFAULT_SCORE", "SCORES", "Score", "find_score"]

Floats = NDArray[np.float64]
DEFAULT_SCORE = "cohen_d"


@dataclass(frozen=True)
class Score:
    """One way to say how well an operator separates classes.

    Parameters
    ----------
    name : str
        Identifier, as on the command line.
    formula : str
        Definition in words and symbols; W̄ and B̄ are the mean similarities of within and
        between pairs.
    label : str
        Name for a person.
    range : str
        Possible values and what chance gives.
    reference : str
        Where it comes from.
    compute : callable
        From the pairs of an operator to one value per draw of subjects.
    closed_form : bool
        Whether it needs sums only, so that no similarity matrix has to be formed.
    chance : float, optional
        The value that an operator without any information is expected to have.
    warning : str
        When not to use it; empty for sound scores.
    """

    name: str
    label: str
    formula: str
    range: str
    reference: str
    compute: Callable[[OperatorPairs], Floats]
    closed_form: bool = False
    chance: float | None = None
    warning: str = ""


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = numerator / denominator
    return np.where(np.isfinite(quotient), quotient, np.nan)


def _cohen_d(pairs: OperatorPairs) -> Floats:
    moments = pairs.moments
    return _divide(moments.mean_within - moments.mean_between, moments.pooled_deviation)


def _difference(pairs: OperatorPairs) -> Floats:
    moments = pairs.moments
    return moments.mean_within - moments.mean_between


def _ratio(pairs: OperatorPairs) -> Floats:
    moments = pairs.moments
    return _divide(moments.mean_within, moments.mean_between)


def _relative_difference(pairs: OperatorPairs) -> Floats:
    moments = pairs.moments
    return _divide(moments.mean_within - moments.mean_between, np.abs(moments.mean_between))


_UNSTABLE = (
    "blows up when the between pairs have a mean similarity near 0; use it only to reproduce "
    "published numbers"
)

_ALL = (
    Score(
        "cohen_d",
        "Cohen's d",
        "(W̄ - B̄) / s, s² = ((n_W - 1) s_W² + (n_B - 1) s_B²) / (n_W + n_B - 2), n over ordered "
        "pairs; signed",
        "any; 0 is chance",
        "Cohen 1988; Liu et al. 2025 (who take the absolute value)",
        _cohen_d,
        chance=0.0,
        closed_form=True,
    ),
    Score(
        "difference",
        "difference of mean similarities",
        "W̄ - B̄",
        "-2 to 2; 0 is chance",
        "Amico & Goñi 2018 (differential identifiability)",
        _difference,
        chance=0.0,
        closed_form=True,
    ),
    Score(
        "auc",
        "probability of superiority",
        "probability that a within pair is more alike than a between pair, ties counting half",
        "0 to 1; 0.5 is chance",
        "Mann & Whitney 1947 (probability of superiority)",
        lambda pairs: pairs.superiority.auc,
        chance=0.5,
    ),
    Score(
        "rsa",
        "representational similarity",
        "Spearman correlation over pairs of similarity and being a within pair; without ties "
        "(auc - ½) √(12 n_W n_B / (n² - 1)), n = n_W + n_B",
        "-1 to 1; 0 is chance; same order as auc up to ties",
        "Kriegeskorte et al. 2008 (representational similarity)",
        lambda pairs: pairs.superiority.rsa,
        chance=0.0,
    ),
    Score(
        "discr",
        "discriminability",
        "mean over ordered within pairs (i, j) of the share of samples k of other classes that "
        "are less similar to i than j is, ties counting half",
        "0 to 1; 0.5 is chance",
        "Bridgeford et al. 2021 (discriminability)",
        lambda pairs: pairs.neighbours.discr,
        chance=0.5,
    ),
    Score(
        "ident_rate",
        "identification rate",
        "share of samples whose most similar other sample has the same class",
        "0 to 1; saturates at 1",
        "Finn et al. 2015 (identification rate)",
        lambda pairs: pairs.neighbours.ident_rate,
        warning="saturates: good operators are all near 1 and cannot be told apart",
    ),
    Score(
        "ratio",
        "within/between ratio",
        "W̄ / B̄",
        "any; 1 is chance if B̄ > 0",
        "within/between ratio; the published numbers of SCLCS look like it",
        _ratio,
        chance=1.0,
        closed_form=True,
        warning=_UNSTABLE + "; its sign flips there",
    ),
    Score(
        "rel_difference",
        "relative difference",
        "(W̄ - B̄) / |B̄|",
        "any; 0 is chance",
        "same family as ratio, with a sign that keeps its meaning",
        _relative_difference,
        chance=0.0,
        closed_form=True,
        warning=_UNSTABLE,
    ),
)

SCORES = MappingProxyType({score.name: score for score in _ALL})


def find_score(name: str | Score) -> Score:
    """Return a score by name; an unknown name is an error that lists the known ones."""
    if isinstance(name, Score):
        return name
    if name not in SCORES:
        raise UnknownNameError(f"No score is called {name!r}; choose from {', '.join(SCORES)}.")
    return SCORES[name]
