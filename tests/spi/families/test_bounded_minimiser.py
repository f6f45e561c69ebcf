from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sclcs.spi.numerics.bounded_minimiser import minimise


def rosenbrock(x: np.ndarray) -> tuple[float, np.ndarray]:
    a, b = x[0] - 1.3, x[1] - x[0] ** 2
    return a**2 + 20 * b**2, np.array([2 * a - 80 * x[0] * b, 40 * b])


def steep_valley(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Pushes against two bounds, with a curved interior direction."""
    value = np.exp(x[0]) - 3 * x[1] + (x[2] - np.sin(x[0])) ** 2 + 0.1 * x[2] ** 4
    bend = 2 * (x[2] - np.sin(x[0]))
    slopes = [np.exp(x[0]) - bend * np.cos(x[0]), -3.0, bend + 0.4 * x[2] ** 3]
    return value, np.array(slopes)


def huge_start(x: np.ndarray) -> tuple[float, np.ndarray]:
    """A gradient that throws the first step into a corner."""
    wave = np.cos(1.7 * x[0]) + 0.3 * (x[0] - x[1]) ** 2
    value = wave + 1e6 * np.exp(-5 * (x[0] + 2) ** 2)
    hill = -1e7 * (x[0] + 2) * np.exp(-5 * (x[0] + 2) ** 2)
    pull = 0.6 * (x[0] - x[1])
    return value, np.array([-1.7 * np.sin(1.7 * x[0]) + pull + hill, -pull])


@pytest.mark.parametrize(
    ("function", "n_variables"), [(rosenbrock, 2), (steep_valley, 3), (huge_start, 2)]
)
@pytest.mark.parametrize("bound", [0.8, 2.0, 11.5])
def test_takes_the_steps_of_scipy(function, n_variables, bound):
    theirs = []

    def traced(x: np.ndarray) -> tuple[float, np.ndarray]:
        theirs.append(x.copy())
        return function(x)

    box = [(-bound, bound)] * n_variables
    found = minimize(traced, np.zeros(n_variables), jac=True, method="L-BFGS-B", bounds=box)
    ours = []

    def evaluate(points, active, values, gradients):
        for k in active:
            if k == 1:
                ours.append(points[k].copy())
            values[k], gradients[k] = function(points[k])

    points = minimise(evaluate, 3, np.full(n_variables, bound))  # three copies of one problem
    np.testing.assert_allclose(ours[:6], theirs[:6], atol=1e-8)
    np.testing.assert_allclose(points, np.tile(found.x, (3, 1)), atol=1e-5)
    assert abs(len(ours) - len(theirs)) <= 2
