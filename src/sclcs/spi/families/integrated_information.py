"""Integrated information of a pair over one time step, Gaussian (``phi_star``, ``phi_Geo``).

How much the two regions together tell about their next values beyond what each tells about its
own. ``phi_star`` is what a decoder loses that takes the two for independent (mismatched
decoding); ``phi_Geo`` the divergence from the nearest model without influences between them.
With two regions both problems are small: a maximum in one variable, a minimum in two.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import e, log, pi
from types import MappingProxyType

import numpy as np

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "IntegratedInformation", "compute"]

FEWEST_OBSERVATIONS = 2
HALVINGS = 100
MOST_STEPS = 1000
SMALL_STEP = 1e-15


@dataclass(frozen=True)
class IntegratedInformation:
    """One operator.

    Parameters
    ----------
    geometric : bool
        Divergence from the nearest disconnected model, else mismatched decoding.
    normalise : bool
        Divide by the smaller entropy of the two regions.
    """

    geometric: bool
    normalise: bool


MEMBERS: Mapping[str, IntegratedInformation] = MappingProxyType(
    {
        f"phi_{name}_t-1_norm-{int(normalise)}": IntegratedInformation(name == "Geo", normalise)
        for name in ("star", "Geo")
        for normalise in (False, True)
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the integrated information of every pair.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: nothing but matrices of pairs is allocated.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    n_samples, n_regions, n_times = signals.shape
    result = {name: np.full((n_samples, n_regions, n_regions), np.nan) for name in members}
    if n_times - 1 < FEWEST_OBSERVATIONS:
        return result
    kinds = sorted({MEMBERS[name].geometric for name in members})
    for sample in range(n_samples):
        past, present, cross = _covariances(signals[sample])
        entropy = 0.5 * np.log(2.0 * pi * e * np.diagonal(past))
        smaller = np.minimum(entropy[:, np.newaxis], entropy)
        for geometric in kinds:
            information = np.full((n_regions, n_regions), np.nan)
            _all_pairs(past, present, cross, geometric, information)
            for name, out in result.items():
                if MEMBERS[name].geometric == geometric:
                    scale = smaller if MEMBERS[name].normalise else 1.0
                    out[sample] = information / scale
    return result


def _covariances(x: Array) -> tuple[Array, Array, Array]:
    """Return the covariances of the past, of the present, and of present with past."""
    n = x.shape[1] - 1
    past = x[:, :-1] - x[:, :-1].mean(axis=1, keepdims=True)
    present = x[:, 1:] - x[:, 1:].mean(axis=1, keepdims=True)
    scale = n - 1.0
    return past @ past.T / scale, present @ present.T / scale, present @ past.T / scale


@kernel
def _all_pairs(past: Array, present: Array, cross: Array, geometric: bool, out: Array) -> None:
    n_regions = past.shape[0]
    s, f, c = np.empty((2, 2)), np.empty((2, 2)), np.empty((2, 2))
    for i in range(n_regions):
        for j in range(i + 1, n_regions):
            for a in range(2):
                for b in range(2):
                    row, column = (j if a else i), (j if b else i)
                    s[a, b] = past[row, column]
                    f[a, b] = present[row, column]
                    c[a, b] = cross[row, column]
            value = _divergence(s, f, c) if geometric else _mismatch(s, f, c)
            out[i, j] = out[j, i] = value


@kernel
def _determinant(m: Array) -> float:
    return float(m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0])


@kernel
def _innovations(s: Array, f: Array, c: Array) -> tuple[Array, Array]:
    """Return the regression of the present on the past, and the covariance it leaves."""
    inverse = np.empty((2, 2))
    determinant = _determinant(s)
    inverse[0, 0], inverse[1, 1] = s[1, 1] / determinant, s[0, 0] / determinant
    inverse[0, 1] = inverse[1, 0] = -s[0, 1] / determinant
    weights, rest = np.empty((2, 2)), np.empty((2, 2))
    for a in range(2):
        for b in range(2):
            weights[a, b] = c[a, 0] * inverse[0, b] + c[a, 1] * inverse[1, b]
    for a in range(2):
        for b in range(2):
            rest[a, b] = f[a, b] - weights[a, 0] * c[b, 0] - weights[a, 1] * c[b, 1]
    return weights, rest


@kernel
def _mismatch(s: Array, f: Array, c: Array) -> float:
    """Return the information that is lost by decoding the two regions separately.

    The decoder q(x_t | x_t-1) is the product of the two regions' own regressions; what it
    gets is the largest over beta of

        I(beta) = -E ln sum_x' p(x') q(x_t | x')^beta + beta E ln q(x_t | x_t-1),

    which is concave, and here (q Gaussian with diagonal weights and covariance)

        I(beta) = ln(D)/2 + k beta - beta^2 (u0 + u1 beta) / (2 D),   D = 1 + p beta + q beta^2.
    """
    spread = _determinant(s)
    own = f[0, 0] - c[0, 0] ** 2 / s[0, 0], f[1, 1] - c[1, 1] ** 2 / s[1, 1]
    weight = c[0, 0] / s[0, 0], c[1, 1] / s[1, 1]
    gain = weight[0] ** 2 / own[0], weight[1] ** 2 / own[1]
    pull = weight[0] / own[0], weight[1] / own[1]
    p = s[0, 0] * gain[0] + s[1, 1] * gain[1]
    q = spread * gain[0] * gain[1]
    k = 0.5 * (f[0, 0] / own[0] + f[1, 1] / own[1]) - 1.0
    u0 = pull[0] ** 2 * f[0, 0] * s[0, 0] + pull[1] ** 2 * f[1, 1] * s[1, 1]
    u0 += 2.0 * pull[0] * pull[1] * f[0, 1] * s[0, 1]
    u1 = spread * (pull[0] ** 2 * f[0, 0] * gain[1] + pull[1] ** 2 * f[1, 1] * gain[0])
    beta = _best_exponent(p, q, k, u0, u1)
    d = 1.0 + p * beta + q * beta**2
    decoded = 0.5 * log(d) + k * beta - 0.5 * beta**2 * (u0 + u1 * beta) / d
    _, rest = _innovations(s, f, c)
    whole = _determinant(f) / _determinant(rest)
    return 0.5 * log(whole) - decoded if whole > 0.0 and spread > 0.0 else np.nan


@kernel
def _best_exponent(p: float, q: float, k: float, u0: float, u1: float) -> float:
    """Return the root of the derivative of I, which falls."""
    low, high = 0.0, 1.0
    while _slope(high, p, q, k, u0, u1) > 0.0 and high < 1e9:
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _slope(middle, p, q, k, u0, u1) > 0.0:
            low = middle
        else:
            high = middle
    return low


@kernel
def _slope(beta: float, p: float, q: float, k: float, u0: float, u1: float) -> float:
    d = 1.0 + p * beta + q * beta**2
    change = p + 2.0 * q * beta
    fraction = (2.0 * beta * u0 + 3.0 * beta**2 * u1) / d
    fraction -= beta**2 * (u0 + u1 * beta) * change / d**2
    return 0.5 * change / d + k - 0.5 * fraction


@kernel
def _divergence(s: Array, f: Array, c: Array) -> float:
    """Return the divergence from the nearest model without influences between the regions.

    That model has diagonal weights and a free covariance of the innovations. For a given
    covariance the best weights solve two linear equations, and they determine it in turn.
    """
    weights, rest = _innovations(s, f, c)
    one, two = c[0, 0] / s[0, 0], c[1, 1] / s[1, 1]
    determinant = np.nan
    for _ in range(MOST_STEPS):
        aa, ab, bb = _disconnected(weights, rest, s, one, two)
        determinant = aa * bb - ab * ab
        # The inverse covariance up to a factor that cancels: (bb, -ab; -ab, aa).
        m00, m01, m11 = bb * s[0, 0], -ab * s[0, 1], aa * s[1, 1]
        right = bb * c[0, 0] - ab * c[1, 0], aa * c[1, 1] - ab * c[0, 1]
        scale = m00 * m11 - m01 * m01
        new_one = (m11 * right[0] - m01 * right[1]) / scale
        new_two = (m00 * right[1] - m01 * right[0]) / scale
        step = abs(new_one - one) + abs(new_two - two)
        one, two = new_one, new_two
        if not step > SMALL_STEP:
            break
    ratio = determinant / _determinant(rest)
    return 0.5 * log(ratio) if ratio > 0.0 else np.nan


@kernel
def _disconnected(
    weights: Array, rest: Array, s: Array, one: float, two: float
) -> tuple[float, float, float]:
    """Return the innovations' covariance of a model with the weights `one` and `two`."""
    a0, a1 = weights[0, 0] - one, weights[0, 1]
    b0, b1 = weights[1, 0], weights[1, 1] - two
    aa = rest[0, 0] + a0 * a0 * s[0, 0] + 2.0 * a0 * a1 * s[0, 1] + a1 * a1 * s[1, 1]
    bb = rest[1, 1] + b0 * b0 * s[0, 0] + 2.0 * b0 * b1 * s[0, 1] + b1 * b1 * s[1, 1]
    ab = rest[0, 1] + a0 * b0 * s[0, 0] + a1 * b1 * s[1, 1] + (a0 * b1 + a1 * b0) * s[0, 1]
    return aa, ab, bb
