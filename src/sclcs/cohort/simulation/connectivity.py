"""Latent connectivity: effects added to the matrix logarithm of a correlation matrix.

In log space any symmetric matrix is allowed: its exponential is positive definite, and
rescaled to a unit diagonal it is a correlation matrix. So effects of any strength can be
added without repair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.simulation.effects import Effects
from sclcs.core.seeds import generator

__all__ = ["Anatomy", "fisher_change", "mixing_matrix", "population_anatomy"]

Floats = NDArray[np.float64]

# The population is the same for every seed, as the human default-mode network is.
_POPULATION_SEED = 33
_N_NETWORKS = 5
_GLOBAL_LOADING = 0.62
_NETWORK_LOADING = 0.565
_LOADING_SPREAD = 0.155
_HIGHEST_COMMUNALITY = 0.92
N_STATES = 4


@dataclass(frozen=True)
class Anatomy:
    """What all simulated subjects share.

    Parameters
    ----------
    log_connectivity : ndarray, shape (region, region)
        Matrix logarithm of the population's correlation matrix.
    strongest_mode : ndarray, shape (region, region)
        Projector on the leading eigenvector of the population.
    """

    log_connectivity: Floats
    strongest_mode: Floats

    def pattern(self, strength: float, seed: int, *axes: object) -> Floats:
        """Draw a symmetric deviation of the log-connectivity.

        Its off-diagonal root mean square is `strength` exactly.
        """
        n = len(self.log_connectivity)
        draw = generator(seed, "simulate", *axes).standard_normal((n, n))
        deviation = draw + draw.T
        # The exponential magnifies the strongest mode; left in, it would drown the pattern.
        deviation -= self.strongest_mode @ deviation @ self.strongest_mode
        np.fill_diagonal(deviation, 0.0)
        size = np.sqrt(np.sum(deviation**2) / (n * (n - 1)))
        return np.asarray(deviation * (strength / size))

    def states(self, effects: Effects, seed: int) -> Floats:
        """Draw the brain states (state, region, region), zero on average."""
        drawn = np.stack(
            [self.pattern(effects.state, seed, "state", number) for number in range(N_STATES)]
        )
        centred = drawn - drawn.mean(axis=0)
        return np.asarray(centred * np.sqrt(N_STATES / (N_STATES - 1)))

    def subject(self, effects: Effects, seed: int, name: str) -> Floats:
        """Draw the stable deviation of a subject."""
        level = generator(seed, "simulate", "level", name).standard_normal()
        return (
            self.pattern(effects.subject, seed, "subject", name)
            + effects.subject_global * level * self.strongest_mode
        )


def population_anatomy(regions: int) -> Anatomy:
    """Return the population of a number of regions: one global factor and a few networks."""
    draw = generator(_POPULATION_SEED, "simulate", "population", regions)
    network = np.arange(regions) * min(_N_NETWORKS, regions) // regions
    loadings = np.zeros((regions, 1 + _N_NETWORKS))
    loadings[:, 0] = _GLOBAL_LOADING
    loadings[np.arange(regions), 1 + network] = _NETWORK_LOADING
    used = loadings != 0
    loadings[used] += _LOADING_SPREAD * draw.standard_normal(used.sum())
    communality = np.sum(loadings**2, axis=1, keepdims=True)
    loadings *= np.sqrt(np.minimum(1.0, _HIGHEST_COMMUNALITY / communality))
    correlation = loadings @ loadings.T
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    leading = vectors[:, -1]
    log_connectivity = (vectors * np.log(values)) @ vectors.T
    return Anatomy(log_connectivity, np.outer(leading, leading))


def mixing_matrix(log_connectivity: Floats) -> Floats:
    """Return A such that A times white noise has the connectivity (batches allowed)."""
    values, vectors = np.linalg.eigh(log_connectivity)
    root = (vectors * np.exp(values / 2)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return np.asarray(root / np.linalg.norm(root, axis=-1, keepdims=True))


def correlation_of(log_connectivity: Floats) -> Floats:
    """Return the correlation matrix of a log-connectivity (batches allowed)."""
    root = mixing_matrix(log_connectivity)
    return np.asarray(root @ np.swapaxes(root, -1, -2))


def fisher_change(anatomy: Anatomy, deviations: Floats) -> NDArray[np.float32]:
    """Return the change of the Fisher-z connectivity that deviations alone make.

    Parameters
    ----------
    anatomy : Anatomy
        The population.
    deviations : ndarray, shape (name, region, region)
        Deviations of the log-connectivity.

    Returns
    -------
    ndarray of float32, shape (name, region, region)
        Zero on the diagonal.
    """
    reference = _fisher_z(correlation_of(anatomy.log_connectivity))
    changed = _fisher_z(correlation_of(anatomy.log_connectivity + deviations))
    return np.asarray(changed - reference, dtype=np.float32)


def _fisher_z(correlation: Floats) -> Floats:
    off_diagonal = correlation * (1.0 - np.eye(correlation.shape[-1]))
    return np.arctanh(np.clip(off_diagonal, -1 + 1e-12, 1 - 1e-12))
