"""Kernels are made in blocks of samples; how large they are has no part in any number."""

import numpy as np
import pandas as pd
import pytest
from small_fc import make_cohort, make_fc

from sclcs.benchmark import ArraySource, make_kernel, rank
from sclcs.benchmark.memory import memory_budget, room, with_memory

SMALL = 4 * 6 * 6 * 16  # about one matrix at a time; everything else goes to a file


def bits(kernel, cases=None):
    found = kernel.units, kernel.usable, kernel.similarity
    return [np.asarray(part).tobytes() for part in found]


@pytest.mark.parametrize("kind", ["symmetric", "directed", "one directed matrix", "holes"])
@pytest.mark.parametrize("how", ["offdiag", "upper", "sym_upper"])
def test_a_kernel_does_not_depend_on_the_blocks(rng, kind, how):
    fc = rng.normal(size=(13, 6, 6))
    if kind != "directed":
        fc = fc + fc.transpose(0, 2, 1)
    if kind == "one directed matrix":
        fc[11, 2, 4] += 1.0
    if kind == "holes":
        fc[3, 1, 2] = np.nan
        fc[7] = 2.0
    rows = np.array([0, 2, 3, 7, 8, 11, 12])
    whole = [make_kernel(fc, how), make_kernel(fc, how, rows=rows)]
    for budget in (SMALL, 3 * SMALL, 10 * SMALL):
        with with_memory(budget):
            parts = [make_kernel(fc, how), make_kernel(fc, how, rows=rows)]
            for one, other in zip(whole, parts, strict=True):
                assert bits(one) == bits(other)
                assert (one.screen.finite == other.screen.finite).all()
                assert (one.screen.constant == other.screen.constant).all()


@pytest.mark.parametrize("task", ["subject", "diagnosis"])
def test_a_ranking_does_not_depend_on_the_memory(rng, task):
    names = np.repeat([f"p{k}" for k in range(9)], 2)
    cohort = make_cohort(list(names), diagnosis=list(np.repeat(list("uvuvuvuvv"), 2)))
    source = ArraySource(make_fc(cohort, 4, rng), list("abcd"), cohort)
    asked = {"permutations": 19, "bootstrap": 20, "seed": 1}
    plain = rank(source, task, **asked).table
    with with_memory(SMALL):
        pd.testing.assert_frame_equal(rank(source, task, **asked).table, plain, check_exact=True)


class Counting:
    """Matrices that say how many samples were ever asked for at once."""

    def __init__(self, values):
        self.values, self.shape, self.most = values, values.shape, 0

    def __len__(self):
        return len(self.values)

    def __getitem__(self, rows):
        found = self.values[rows]
        self.most = max(self.most, len(found))
        return found


def test_never_more_samples_at_once_than_fit(rng):
    matrices = Counting(rng.normal(size=(50, 8, 8)).astype("f4"))
    with with_memory(4 * 16 * 64 * 5):  # four parts of five samples
        kernel = make_kernel(matrices)
        assert matrices.most == 5
        assert isinstance(room((10**4, 10)), np.memmap)
    assert isinstance(room((10**4, 10)), np.ndarray)
    assert len(kernel) == 50
    assert memory_budget() == 2**30
