from __future__ import annotations

import numpy as np
import pytest
from family_signals import assert_same, by_pairs, context, coupled, off_diagonal, zscore
from scipy.spatial import cKDTree
from scipy.special import digamma, gammaln

from sclcs.spi.families.nearest_neighbour import MEMBERS, compute, kraskov
from sclcs.spi.families.nearest_neighbour.kraskov import normal_draws, theiler_windows

N_NEIGHBOURS = 4
NOISE = 1e-8 * normal_draws(42, 30_000)


def noisy(variables: list[np.ndarray]) -> np.ndarray:
    """Points (time, variable) with noise dealt to the variables of a point in turn."""
    points = np.stack(variables, axis=1)
    return points + NOISE[: points.size].reshape(points.shape)


def entropy(*variables: np.ndarray) -> float:
    points = noisy(list(variables))
    n, size = points.shape
    distance = cKDTree(points).query(points, k=2)[0][:, 1]
    ball = 0.5 * size * np.log(np.pi) - gammaln(0.5 * size + 1)
    return float(size * np.log(distance).mean() + digamma(n) - digamma(1) + ball)


def lags(series: np.ndarray, count: int) -> list[np.ndarray]:
    return [series[count - 1 - lag : series.size - lag] for lag in range(count)]


def joint(x, i, j):
    return entropy(x[max(i, j)], x[min(i, j)])


def cross_map(x, i, j, start, n_lags):
    times = np.arange(start, x.shape[1])
    past = [x[i, times - lag] for lag in range(1, n_lags + 1)]
    return entropy(*past, x[j, times]) - entropy(*past)


def causally_conditioned(x, i, j):
    total = 0.0
    for m in range(1, 6):
        present, *past = lags(x[j], m)
        rest = [*past, *lags(x[i], m)]
        total += entropy(present, *rest) - entropy(*rest)
    return total


def directed_information(x, i, j):
    blocks = sum(entropy(*lags(x[j], m)) / m for m in range(1, 6))
    return blocks - causally_conditioned(x, i, j)


def interaction(x, i, j):
    (a, a_past), (b, b_past) = lags(x[min(i, j)], 2), lags(x[max(i, j)], 2)
    apart = entropy(a, a_past) - entropy(a_past) + entropy(b, b_past) - entropy(b_past)
    return apart - (entropy(a, b, a_past, b_past) - entropy(a_past, b_past))


def cubes(parts: list[list[np.ndarray]], window: int):
    """Distances (part, point, point) of standardised parts, reach, and what may count."""
    rows = [(v - v.mean()) / v.std(ddof=1) for part in parts for v in part]
    points = noisy(rows).T
    ends = np.cumsum([len(part) for part in parts])[:-1]
    distances = [
        np.abs(part[:, :, None] - part[:, None, :]).max(axis=0) for part in np.split(points, ends)
    ]
    times = np.arange(points.shape[1])
    far = np.abs(times[:, None] - times) > window
    reach = np.sort(np.where(far, np.max(distances, axis=0), np.inf), axis=1)[:, N_NEIGHBOURS - 1]
    return distances, reach[:, None], far


def inside(distances, reach, far):
    return ((distances < reach) & far).sum(axis=1)


def information(a: list[np.ndarray], b: list[np.ndarray], window: int = 0) -> float:
    (one, two), reach, far = cubes([a, b], window)
    counts = digamma(inside(one, reach, far) + 1) + digamma(inside(two, reach, far) + 1)
    return float(digamma(N_NEIGHBOURS) + digamma(len(far)) - counts.mean())


def window_of(x, i, j):
    def correlations(v):
        full = np.correlate(v - v.mean(), v - v.mean(), "full")[v.size - 1 :]
        return full / full[0]

    return int(2 * np.sum(correlations(x[i]) * correlations(x[j])))


def embedded(series, start, shape):
    n = series.size - 1 - start
    length, delay = shape
    return [series[start - a * delay : start - a * delay + n] for a in range(length)]


def transfer(x, i, j, *, target=(1, 1), source=(1, 1), window=0):
    start = max((length - 1) * delay for length, delay in (target, source))
    parts = [embedded(x[i], start, source), [x[j, start + 1 :]], embedded(x[j], start, target)]
    (from_source, from_next, past), reach, far = cubes(parts, window)
    terms = (
        digamma(inside(past, reach, far) + 1)
        - digamma(inside(np.maximum(from_source, past), reach, far) + 1)
        - digamma(inside(np.maximum(from_next, past), reach, far) + 1)
    )
    return float(digamma(N_NEIGHBOURS) + terms.mean())


def best_history(series, window):
    candidates = [(k, tau) for k in range(1, 11) for tau in range(1, 5) if k > 1 or tau == 1]
    stored = []
    for shape in candidates:
        start = (shape[0] - 1) * shape[1]
        past = embedded(series, start, shape)
        stored.append(information(past, [series[start + 1 :]], window))
    return candidates[int(np.argmax(stored))]


def chosen_transfer(x, i, j, exclude):
    window = window_of(x, i, j) if exclude else 0
    target, source = best_history(x[j], window), best_history(x[i], window)
    return transfer(x, i, j, target=target, source=source, window=window)


def upper(function):
    return lambda x, i, j: function(x, min(i, j), max(i, j))


ORACLES = {
    "je_kozachenko": joint,
    "ce_kozachenko": lambda x, i, j: joint(x, i, j) - entropy(x[i]),
    "cce_kozachenko": causally_conditioned,
    "xme_kozachenko_k1": lambda x, i, j: cross_map(x, i, j, 1, 1),
    "xme_kozachenko_k10": lambda x, i, j: cross_map(x, i, j, 10, 9),
    "di_kozachenko": directed_information,
    "si_kozachenko_k-1": interaction,
    "mi_kraskov_NN-4": upper(lambda x, i, j: information([x[i]], [x[j]])),
    "mi_kraskov_NN-4_DCE": upper(lambda x, i, j: information([x[i]], [x[j]], window_of(x, i, j))),
    "tlmi_kraskov_NN-4": lambda x, i, j: information([x[i, :-1]], [x[j, 1:]]),
    "tlmi_kraskov_NN-4_DCE": lambda x, i, j: information(
        [x[i, :-1]], [x[j, 1:]], window_of(x, i, j)
    ),
    "te_kraskov_NN-4_k-max-10_tau-max-4": lambda x, i, j: chosen_transfer(x, i, j, False),
    "te_kraskov_NN-4_DCE_k-max-10_tau-max-4": lambda x, i, j: chosen_transfer(x, i, j, True),
    "te_kraskov_NN-4_DCE_k-2_kt-1_l-1_lt-1": lambda x, i, j: transfer(
        x, i, j, target=(2, 1), window=window_of(x, i, j)
    ),
    "te_kraskov_NN-4_DCE_k-1_kt-1_l-1_lt-1": lambda x, i, j: transfer(
        x, i, j, window=window_of(x, i, j)
    ),
    "te_kraskov_NN-4_k-1_kt-1_l-1_lt-1": transfer,
}


def test_every_member_has_an_oracle():
    assert set(ORACLES) == set(MEMBERS)


@pytest.mark.parametrize("name", MEMBERS)
def test_definition(name):
    chosen = "k-max" in name
    signals = coupled(1 if chosen else 2, 3 if chosen else 4, 60 if chosen else 41)
    found = compute(signals, [name], context(len(signals)))[name]
    assert_same(found, by_pairs(ORACLES[name], signals))


@pytest.mark.parametrize("name", [name for name in MEMBERS if "k-max" not in name])
def test_ties_are_broken_by_the_fixed_noise(name):
    values = np.random.default_rng(2).integers(-2, 3, size=(1, 3, 40))
    values[..., :2] = -4, 4
    signals = zscore(values.astype(np.float64))
    found = compute(signals, [name], context(1))[name]
    # Distances of 1e-8 between numbers near one have eight digits left.
    assert_same(found, by_pairs(ORACLES[name], signals), atol=1e-6)


def test_noise_is_that_of_java():
    """As printed by ``new java.util.Random(42).nextGaussian()``, called four times."""
    expected = [1.1419053154730547, 0.9194079489827879, -0.9498666368908959, -1.1069902863993377]
    np.testing.assert_allclose(normal_draws(42, 4), expected, rtol=1e-15)
    np.testing.assert_array_equal(normal_draws(42, 3), normal_draws(42, 4)[:3])


def test_window_grows_with_autocorrelation_and_never_vanishes():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(3, 400))
    slow = noise.copy()
    for t in range(1, 400):
        slow[:, t] += 0.9 * slow[:, t - 1]
    alternating = np.where(np.arange(400) % 2, 1.0, -1.0) + 1e-3 * noise[0]
    windows = theiler_windows(zscore(np.vstack([noise[:1], slow[:1], alternating[None]])))
    assert windows[1, 1] > 3 * windows[0, 0]
    assert windows.min() >= 1
    np.testing.assert_array_equal(windows, windows.T)


def test_gaussian_values_for_long_records():
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(2, 3000))
    x = np.stack([noise[0], 0.8 * noise[0] + 0.6 * noise[1]])
    names = ["mi_kraskov_NN-4", "je_kozachenko", "ce_kozachenko"]
    found = compute(zscore(x)[None], names, context(1))
    unit = 0.5 * (1 + np.log(2 * np.pi))
    shared = -0.5 * np.log(1 - 0.64)
    assert found["mi_kraskov_NN-4"][0, 0, 1] == pytest.approx(shared, abs=0.04)
    assert found["je_kozachenko"][0, 0, 1] == pytest.approx(2 * unit - shared, abs=0.06)
    assert found["ce_kozachenko"][0, 0, 1] == pytest.approx(unit - shared, abs=0.06)


def test_transfer_entropy_finds_the_direction():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2, 1500))
    x[1, 1:] += x[0, :-1]
    name = "te_kraskov_NN-4_k-1_kt-1_l-1_lt-1"
    found = compute(zscore(x)[None], [name], context(1))[name][0]
    assert found[0, 1] == pytest.approx(0.5 * np.log(2), abs=0.06)
    assert abs(found[1, 0]) < 0.04


@pytest.mark.parametrize(
    ("name", "enough"),
    [
        ("mi_kraskov_NN-4", 5),
        ("tlmi_kraskov_NN-4", 6),
        ("te_kraskov_NN-4_k-1_kt-1_l-1_lt-1", 6),
        ("te_kraskov_NN-4_k-max-10_tau-max-4", 42),
        ("cce_kozachenko", 6),
        ("xme_kozachenko_k10", 12),
    ],
)
def test_shortest_record(name, enough):
    for n_times in (2, enough - 1, enough):
        found = compute(coupled(1, 3, n_times), [name], context(1))[name]
        assert (np.isfinite(off_diagonal(found)) == (n_times == enough)).all()


def test_a_window_too_wide_loses_only_its_pairs():
    name, n_times = "mi_kraskov_NN-4_DCE", 11
    signals = coupled(1, 4, n_times)
    signals[0, :2] += 10.0 * np.arange(n_times)
    signals = zscore(signals)
    lost = n_times - 2 * theiler_windows(signals[0]) - 1 < N_NEIGHBOURS
    assert lost[0, 1]
    assert not lost[2, 3]
    found = compute(signals, [name], context(1))[name]
    np.testing.assert_array_equal(np.isnan(off_diagonal(found)), off_diagonal(lost[None]))


@pytest.mark.parametrize(
    "name", ["mi_kraskov_NN-4", "mi_kraskov_NN-4_DCE", "tlmi_kraskov_NN-4_DCE"]
)
def test_long_records_are_searched_in_order_with_the_same_numbers(monkeypatch, name):
    signals = zscore(coupled(n_samples=2, n_regions=3, n_times=90).cumsum(axis=-1))
    compared = compute(signals, [name], context(2))[name]
    monkeypatch.setattr(kraskov, "_LONGEST_COMPARED", 1)
    np.testing.assert_array_equal(compute(signals, [name], context(2))[name], compared)
    assert np.isfinite(compared).any()
