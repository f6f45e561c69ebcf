"""ComBat: features of several sites brought to one location and scale (Johnson et al. 2007).

The model of Fortin et al. (2018): a feature is the sum of what covariates explain, a shift of
its site and noise with a spread of its site. Shifts and spreads are shrunk by empirical Bayes
and taken out; what covariates explain stays. The prior of a feature's shifts and spreads comes
from that feature at all sites, as in combatlearn (Rocchi 2025), whose numbers these are.
The target of a question is never among the covariates, so nothing of it can leak.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, name_first

__all__ = ["Combat", "Harmoniser", "fit_combat"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TINY = 1e-8  # keeps features that never vary from dividing by zero
TOLERANCE = 1e-4  # relative change at which the iteration of a site stops
MOST_ROUNDS = 100
FEWEST_PER_SITE = 2


@dataclass(frozen=True, eq=False)
class Combat:
    """What was learned from training cases.

    Parameters
    ----------
    coefficients : array, shape (covariate, feature)
        What covariates explain; kept.
    mean, deviation : array, shape (feature,)
        Mean over sites, and the deviation of the residuals.
    shift, spread : array, shape (site, feature)
        Of every site, in units of the deviation; shrunk.
    """

    coefficients: Floats
    mean: Floats
    deviation: Floats
    shift: Floats
    spread: Floats

    def apply(self, features: Floats, sites: Integers, covariates: Floats) -> Floats:
        """Return features without the shifts and spreads of their sites.

        Parameters
        ----------
        features : array, shape (case, feature)
            Of cases that need not have been among the training cases.
        sites : array of int, shape (case,)
        covariates : array, shape (case, covariate)
            As in training.

        Returns
        -------
        array, shape (case, feature)
        """
        expected = self.mean + covariates @ self.coefficients
        rest = (features - expected) / self.deviation
        rest = (rest - self.shift[sites]) / np.sqrt(self.spread[sites])
        return np.asarray(rest * self.deviation + expected)


def fit_combat(
    features: Floats, sites: Integers, covariates: Floats, names: list[str] | None = None
) -> Combat:
    """Learn shifts and spreads of sites from training cases.

    Parameters
    ----------
    features : array, shape (case, feature)
    sites : array of int, shape (case,)
        From 0 without gaps.
    covariates : array, shape (case, covariate)
        What is kept (age, sex), without an intercept; may have no columns.
    names : list of str, optional
        Of the sites, for messages.

    Returns
    -------
    Combat
    """
    sizes = np.bincount(sites, minlength=len(names or []))
    small = np.flatnonzero(sizes < FEWEST_PER_SITE)
    if len(small):
        called = [str(site) if names is None else names[site] for site in small]
        raise InputError(
            f"Harmonising needs at least {FEWEST_PER_SITE} training subjects of every site; there "
            f"are fewer of the sites {name_first(called)}: leave these out, or do not harmonise."
        )
    member = (sites[:, None] == np.arange(len(sizes))).astype(np.float64)
    design = np.hstack([member, covariates])
    fit = np.linalg.lstsq(design, features, rcond=None)[0]
    by_site, coefficients = fit[: len(sizes)], fit[len(sizes) :]
    mean = sizes / len(sites) @ by_site
    deviation = np.sqrt(((features - design @ fit) ** 2).sum(axis=0) / len(sites) + TINY)
    rest = (features - mean - covariates @ coefficients) / deviation
    shift = member.T @ rest / sizes[:, None]
    squares = member.T @ rest**2 - sizes[:, None] * shift**2
    spread = np.maximum(squares, 0.0) / (sizes[:, None] - 1) + TINY
    return Combat(coefficients, mean, deviation, *_shrink(shift, spread, sizes))


def _shrink(shift: Floats, spread: Floats, sizes: Integers) -> tuple[Floats, Floats]:
    """Pull the shifts and spreads of small sites towards those of all sites."""
    if shift.shape[1] < 2:
        return shift, spread
    centre = shift.mean(axis=0)
    between = np.maximum(shift.var(axis=0, ddof=1), TINY)
    shape = spread.mean(axis=0) ** 2 / np.maximum(spread.var(axis=0, ddof=1), TINY) + 2
    rate = spread.mean(axis=0) * (shape - 1)
    shifts, spreads = np.empty_like(shift), np.empty_like(spread)
    for site, size in enumerate(sizes):
        own, wide = shift[site], np.maximum(spread[site], TINY)
        current = wide
        before: tuple[Floats, Floats] | None = None
        for _ in range(MOST_ROUNDS + 1):
            place = (between * size * own + current * centre) / (between * size + current)
            squares = (size - 1) * wide + size * (own - place) ** 2
            current = (0.5 * squares + rate) / (size / 2 + shape - 1)
            if before is not None and _settled((place, current), before):
                break
            before = place, current
        shifts[site], spreads[site] = place, current
    return shifts, spreads


def _settled(now: tuple[Floats, Floats], before: tuple[Floats, Floats]) -> bool:
    changes = [np.abs(a - b) / (np.abs(b) + TINY) for a, b in zip(now, before, strict=True)]
    return all(float(change.max()) < TOLERANCE for change in changes)


@dataclass(frozen=True, eq=False)
class Harmoniser:
    """Sites and covariates of cases, ready to harmonise the features of any operator.

    Parameters
    ----------
    sites : array of int, shape (case,)
        From 0 without gaps.
    covariates : array, shape (case, covariate)
        What is kept; without an intercept, never the target.
    names : list of str
        Of the sites.
    """

    sites: Integers
    covariates: Floats
    names: list[str]

    def can_learn(self, training: Integers) -> bool:
        """Say whether some cases have enough of every site to learn from."""
        sizes = np.bincount(self.sites[training], minlength=len(self.names))
        return bool(sizes.min() >= FEWEST_PER_SITE)

    def kernel(self, features: Floats, training: Integers | None = None) -> Floats:
        """Return the kernel of all cases after ComBat.

        Parameters
        ----------
        features : array, shape (case, feature)
        training : array of int, optional
            The cases that ComBat learns from; all by default.

        Returns
        -------
        array, shape (case, case)
        """
        scale = np.sqrt(features.shape[1])  # entries of about one, whatever the number of edges
        scaled = features * scale
        kept = np.arange(len(features)) if training is None else training
        learned = fit_combat(scaled[kept], self.sites[kept], self.covariates[kept], self.names)
        even = learned.apply(scaled, self.sites, self.covariates) / scale
        return np.asarray(even @ even.T)
