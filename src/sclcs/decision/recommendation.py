"""The recommendation: keep the reference, switch, use the blend, or say that one cannot know.

Few candidates are compared: the reference, tangent space, the blend, and a handful of operators
that the posterior of population scores puts in front. What their gains over the reference were
in other cohorts is the prior; the paired out-of-sample gains of this cohort, with their errors,
turn it into a posterior. The fewer subjects, the closer it stays to the prior, whose answer is
the blend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError
from sclcs.decision.evidence import Evidence, Measure

__all__ = ["BLEND", "PRIORS", "TANGENT", "GainPrior", "Recommendation", "Worth", "recommend"]

Floats = NDArray[np.float64]
Kind = Literal["keep", "switch", "blend", "undecided"]
BLEND, TANGENT = "blend", "tangent"
LEVEL = 0.05
#: A recommendation is made from this probability on; the prior alone has .84 for the blend.
SURE = 0.8
#: `needed` is the number of subjects at which a gain of this size would have this probability.
SHOWN = 0.95


@dataclass(frozen=True)
class GainPrior:
    """What gains over Pearson were in other cohorts: mean and spread between cohorts.

    Parameters
    ----------
    blend, tangent, front : (float, float)
        Mean and standard deviation; `front` are operators that a posterior puts in front.
    together : float
        Correlation of the gains of two candidates between cohorts.
    """

    blend: tuple[float, float]
    tangent: tuple[float, float]
    front: tuple[float, float]
    together: float = 0.6

    def of(self, names: Sequence[str]) -> tuple[Floats, Floats]:
        """Return mean and covariance of the gains of some candidates."""
        known = {BLEND: self.blend, TANGENT: self.tangent}
        mean, spread = np.array([known.get(name, self.front) for name in names]).T
        same = self.together + (1 - self.together) * np.eye(len(names))
        return mean, same * np.outer(spread, spread)


#: Means and spreads of the half tests of DECISION.md (twelve cohort-targets) and of
#: ``results/decision``, rounded; spreads are wider than measured, because new cohorts differ more
#: than these did. Operators in front were put there by the same subjects, so they lose on new
#: ones what they owe to chance: that is in their prior. Identification: blends dilute it, the
#: operator in front gains (three cohorts).
PRIORS: MappingProxyType[Measure, GainPrior] = MappingProxyType(
    {
        "auc": GainPrior(blend=(0.03, 0.03), tangent=(0.025, 0.03), front=(-0.04, 0.03)),
        "r": GainPrior(blend=(0.15, 0.12), tangent=(0.12, 0.13), front=(0.0, 0.12)),
        "identification": GainPrior(blend=(0.0, 0.08), tangent=(0.10, 0.12), front=(0.10, 0.12)),
    }
)


@dataclass(frozen=True)
class Recommendation:
    """What to use, and what it gains on new people over the reference.

    Parameters
    ----------
    spi : str
        An operator, or ``blend``. The reference where it is kept or nothing can be said.
    kind : {"keep", "switch", "blend", "undecided"}
    gain, low, high : float
        Expected gain in AUC, r or identification, and its 95 % interval. Of the most promising
        candidate if undecided; zero if the reference is kept for want of an effect.
    probability : float
        That the gain is positive.
    needed : int or None
        If undecided: about how many subjects would show a gain of this size.
    candidate : str or None
        What the numbers are of; None if nothing was compared.
    """

    spi: str
    kind: Kind
    gain: float
    low: float
    high: float
    probability: float
    needed: int | None = None
    candidate: str | None = None


@dataclass(frozen=True)
class Worth:
    """The out-of-sample score of one way to see the scans, with its 95 % interval.

    Parameters
    ----------
    role : str
        ``reference``, ``recommended``, ``blend``, ``without connectivity`` or ``candidate``.
    spi : str
    score, low, high : float
    """

    role: str
    spi: str
    score: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class _Posterior:
    names: list[str]
    mean: Floats
    covariance: Floats
    noise: Floats

    def probability(self, place: int) -> float:
        from scipy.stats import norm

        return float(norm.cdf(self.mean[place] / np.sqrt(self.covariance[place, place])))


def recommend(
    evidence: Evidence,
    *,
    reference: str,
    p: float | None = None,
    without: str | None = None,
    prior: GainPrior | None = None,
) -> tuple[Recommendation, list[Worth]]:
    """Decide between the reference and the other candidates.

    Parameters
    ----------
    evidence : Evidence
        Of all candidates on the same folds.
    reference : str
        A candidate's name.
    p : float, optional
        Of the test for any effect; above 0.05 the reference is kept.
    without : str, optional
        The candidate that has no connectivity in it: measured, never recommended.
    prior : GainPrior, optional
        Over gains; by default what other cohorts taught about this measure.

    Returns
    -------
    Recommendation, list of Worth
    """
    if reference not in evidence.names:
        raise InputError(f"The reference {reference!r} is not among the candidates.")
    names = [name for name in evidence.names if name not in (reference, without)]
    if not names or (p is not None and p > LEVEL):
        choice = Recommendation(reference, "keep", 0.0, 0.0, 0.0, 0.0)
        return choice, _worth(evidence, reference, reference, without)
    posterior = _condition(evidence, names, reference, prior or PRIORS[evidence.measure])
    place = int(np.argmax(posterior.mean))
    name, gain = names[place], float(posterior.mean[place])
    sure = posterior.probability(place)
    reach = 1.96 * float(np.sqrt(posterior.covariance[place, place]))
    numbers = (gain, gain - reach, gain + reach, sure)
    if gain <= 0:
        choice = Recommendation(reference, "keep", *numbers, candidate=name)
    elif sure < SURE:
        needed = _needed(posterior, place, evidence.n_subjects)
        choice = Recommendation(reference, "undecided", *numbers, needed, name)
    else:
        kind: Kind = "blend" if name == BLEND else "switch"
        choice = Recommendation(name, kind, *numbers, candidate=name)
    return choice, _worth(evidence, reference, choice.spi, without)


def _condition(
    evidence: Evidence, names: list[str], reference: str, prior: GainPrior
) -> _Posterior:
    """Combine the prior with measured gains: both are normal."""
    mean, covariance = prior.of(names)
    gains, noise = evidence.differences(names, reference)
    noise = noise + 1e-8 * np.eye(len(names))
    weight = np.linalg.solve(covariance + noise, covariance).T
    left = covariance - weight @ covariance
    return _Posterior(names, mean + weight @ (gains - mean), (left + left.T) / 2, noise)


def _needed(posterior: _Posterior, place: int, n_subjects: int) -> int:
    """Return at how many subjects the gain would be shown, its error shrinking as 1 / n."""
    from scipy.stats import norm

    gain = float(posterior.mean[place])
    wanted = (float(norm.ppf(SHOWN)) / gain) ** 2  # precision of the posterior
    there = 1.0 / float(posterior.covariance[place, place])
    own = 1.0 / float(posterior.noise[place, place])
    return ceil(n_subjects * (1.0 + max(0.0, wanted - there) / own))


def _worth(evidence: Evidence, reference: str, chosen: str, without: str | None) -> list[Worth]:
    roles = [("reference", reference), ("recommended", chosen)]
    roles += [("blend", BLEND)] if BLEND in evidence.names else []
    roles += [("without connectivity", without)] if without in evidence.names else []
    named = {name for _, name in roles}
    roles += [("candidate", name) for name in evidence.names if name not in named]
    found = []
    for role, name in roles:
        if name is None:
            continue
        score, error = evidence.score(name)
        found.append(Worth(role, name, score, score - 1.96 * error, score + 1.96 * error))
    return found
