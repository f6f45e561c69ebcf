from __future__ import annotations

import numpy as np
import pytest
from family_signals import assert_same, context, coupled, off_diagonal

from sclcs.spi.families.spectral_granger import (
    MEMBERS,
    _careful,
    _is_regular,
    _log_sum,
    compute,
)


def products(z: np.ndarray, lag: int) -> np.ndarray:
    n_times = z.shape[1]
    return z[:, lag:] @ z[:, : n_times - lag].T / (n_times - lag)


def yule_walker(z: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (with a_0 = I) and residual covariance from one block linear system."""
    lags = {k: products(z, k) for k in range(order + 1)}
    lags |= {-k: r.T for k, r in lags.items()}
    if order == 0:
        return np.eye(2)[None], lags[0]
    blocks = np.block([[lags[j - i] for j in range(1, order + 1)] for i in range(1, order + 1)])
    right = np.hstack([lags[k] for k in range(1, order + 1)])
    solved = -np.linalg.solve(blocks.T, right.T).T
    coefficients = [np.eye(2), *np.split(solved, order, axis=1)]
    sigma = sum(a @ lags[-k] for k, a in enumerate(coefficients))
    return np.array(coefficients), sigma


def best_order(z: np.ndarray) -> int:
    n_times = z.shape[1]

    def score(order: int) -> float:
        sigma = yule_walker(z, order)[1]
        return 2 * np.log(np.linalg.det(sigma)) + 8 * order * np.log(2 * n_times) / (2 * n_times)

    order = 0
    while score(order + 1) <= score(order):
        order += 1
    return order


def causalities(x: np.ndarray, i: int, j: int, order: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Geweke's causalities j -> i and i -> j on the 513 frequencies, from the 2 x 2 transfer."""
    z = x[[i, j]]
    coefficients, sigma = yule_walker(z, best_order(z) if order is None else order)
    (s, u), (_, g) = sigma
    delays = np.exp(-2j * np.pi * np.outer(np.arange(513) / 1026, np.arange(len(coefficients))))
    h = np.linalg.inv(np.einsum("fk,kij->fij", delays, coefficients))
    onto_i = s * np.abs(h[:, 0, 0] + u / s * h[:, 0, 1]) ** 2
    onto_j = g * np.abs(h[:, 1, 1] + u / g * h[:, 1, 0]) ** 2
    return (
        np.log((onto_i + (g - u**2 / s) * np.abs(h[:, 0, 1]) ** 2) / onto_i),
        np.log((onto_j + (s - u**2 / g) * np.abs(h[:, 1, 0]) ** 2) / onto_j),
    )


def oracle(name: str, x: np.ndarray) -> np.ndarray:
    member = MEMBERS[name]
    labels = np.linspace(0, 0.5, 513)
    inside = (labels >= max(member.lowest, 1e-5)) & (labels <= member.highest)
    reduce = np.mean if member.statistic == "mean" else np.max
    out = np.full((len(x), len(x)), np.nan)
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            onto_i, onto_j = causalities(x, i, j, member.order)
            # Oriented column -> row.
            out[i, j], out[j, i] = reduce(onto_i[inside]), reduce(onto_j[inside])
    return out


@pytest.mark.parametrize("name", MEMBERS)
def test_definition(name):
    first = MEMBERS[name].order == 1
    signals = coupled() if first else coupled(n_samples=2, n_regions=3, n_times=230)
    expected = np.stack([oracle(name, x) for x in signals])
    atol = 1e-12 if first else 1e-9
    assert_same(compute(signals, [name], context(len(signals)))[name], expected, atol=atol)


def test_automatic_order_differs_between_pairs():
    signals = coupled(n_samples=1, n_regions=5, n_times=300, seed=3)
    signals[0, 4, 3:] += 2.0 * signals[0, 0, :-3]
    orders = {best_order(signals[0][[i, j]]) for i in range(5) for j in range(i)}
    assert len(orders) > 1


def test_unstoppable_search_loses_the_matrix():
    name = "sgc_parametric_mean_fs-1_fmin-0_fmax-0-5_order-None"
    signals = coupled(n_samples=1, n_regions=3, n_times=60)
    time = np.arange(60)
    signals[0, 0], signals[0, 1] = np.sin(time), np.sin(time + 1.0)  # without noise: det < 0
    assert np.isnan(off_diagonal(compute(signals, [name], context(1))[name])).all()


def test_orientation_is_column_to_row():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 2, 400))
    x[0, 1, 1:] += 2 * x[0, 0, :-1]  # region 0 drives region 1
    name = "sgc_parametric_mean_fs-1_fmin-0_fmax-0-25_order-1"
    value = compute(
        (x - x.mean(-1, keepdims=True)) / x.std(-1, ddof=1, keepdims=True), [name], context(1)
    )
    assert value[name][0, 1, 0] > 10 * value[name][0, 0, 1]


def test_copies_are_nan_and_leave_the_others_alone():
    signals = coupled()
    name = "sgc_parametric_mean_fs-1_fmin-0_fmax-0-25_order-1"
    without = compute(signals[:, [0, 2, 3, 4]], [name], context())[name]
    signals[:, 1] = signals[:, 0]
    value = compute(signals, [name], context())[name]
    assert np.isnan(value[:, 0, 1]).all()
    rest = np.delete(np.delete(value, 1, axis=1), 1, axis=2)
    # Logarithms of ratios near 1, here of five and of four regions: rounding of 1 is what is left.
    np.testing.assert_allclose(off_diagonal(rest), off_diagonal(without), rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("n_bins", [1, 5, 31, 32, 33, 257])
@pytest.mark.parametrize(("p", "q", "h"), [(1.5, 1.2, 0.3), (1.1, -0.6, 4.0), (1.0, 0.0, -0.2)])
def test_products_replace_logarithms(n_bins, p, q, h):
    cosines = np.cos(np.linspace(0, np.pi / 2, n_bins))
    assert _is_regular(p, q, h, cosines)
    expected = np.log1p(h / (p + q * cosines))
    assert _log_sum(p, q, h, cosines) == pytest.approx(expected.sum(), rel=1e-12)
    assert _careful(p, q, h, cosines) == pytest.approx((expected.mean(), expected.max()))


def test_nan_bins_are_skipped_up_to_a_half():
    cosines = np.array([-1.0, -0.5, 0.5, 1.0])
    # 1 + h/(p + q cos) is negative where p + q cos < 0.9
    assert not _is_regular(1.0, 0.5, -0.9, cosines)
    mean, highest = _careful(1.0, 0.5, -0.9, cosines)
    expected = np.log(1 - 0.9 / (1 + 0.5 * cosines[2:]))
    assert (mean, highest) == pytest.approx((expected.mean(), expected.max()))
    assert np.isnan(_careful(1.0, 0.5, -1.3, cosines)).all()
