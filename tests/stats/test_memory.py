"""Kernels are made in blocks of samples; how large they are has no part in any number."""

import numpy as np
import pandas as pd
import pytest
from small_fc import make_cohort, make_fc

from sclcs._core.errors import InputError
from sclcs.stats import ArraySource, kernel as kernel_module, make_kernel, rank
from sclcs.stats.memory import (
    bytes_of,
    memory_budget,
    ranking_bytes,
    release,
    room,
    with_memory,
)
from sclcs.stats.question import make_question

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


@pytest.fixture
def many(rng):
    """Small matrices of 1100 samples, two of every subject."""
    cohort = make_cohort(
        [f"p{k // 2}" for k in range(1100)], diagnosis=[f"d{k // 2 % 2}" for k in range(1100)]
    )
    return ArraySource(make_fc(cohort, 1, rng), ["a"], cohort)


def test_similarities_of_many_samples_are_products_whatever_the_memory(many):
    plain = make_kernel(many.matrices("a"))
    np.testing.assert_allclose(plain.similarity, plain.units @ plain.units.T, rtol=0, atol=1e-6)
    assert (plain.similarity == plain.similarity.T).all()
    with with_memory(2**14):
        spilled = make_kernel(many.matrices("a"))
        assert isinstance(spilled.units, np.memmap)
        assert bits(spilled) == bits(plain)
        rows = np.arange(0, 1100, 3)
        assert spilled.take(rows).units.tobytes() == plain.units[rows].tobytes()


def test_cases_that_do_not_fit_are_multiplied_tile_by_tile(many, monkeypatch):
    question = make_question(many.samples, "diagnosis")
    kernel = make_kernel(many.matrices("a"))
    whole = kernel.of_cases(question.cases)
    monkeypatch.setattr(kernel_module, "WHOLE_BYTES", 0)
    monkeypatch.setattr(kernel_module, "TILE_BYTES", 70 * 8 * kernel.units.shape[1])
    tiled = kernel.of_cases(question.cases)
    assert tiled.shape == (550, 550)
    np.testing.assert_allclose(tiled, whole, rtol=0, atol=1e-14)
    with with_memory(2**14):
        assert make_kernel(many.matrices("a")).of_cases(question.cases).tobytes() == tiled.tobytes()


def test_an_allowance_changes_no_number_and_is_refused_if_it_is_too_small(many):
    asked = {"permutations": 9, "bootstrap": 10}
    plain = rank(many, "diagnosis", **asked).table
    pd.testing.assert_frame_equal(
        rank(many, "diagnosis", memory="600M", **asked).table, plain, check_exact=True
    )
    with pytest.raises(InputError, match=r"1100 samples .* 0\.4 GB .* 350M are allowed.*core-set"):
        rank(many, "diagnosis", memory="350M", **asked)


@pytest.mark.parametrize("wrong", ["much", "", "4 X", "-1G", "0", "1.2.3G"])
def test_an_amount_of_memory_is_read_or_refused(wrong):
    assert bytes_of("1.5 GB") == 1_500_000_000
    with pytest.raises(InputError, match="such as 4G"):
        bytes_of(wrong)


def test_what_is_given_back_stays_in_the_file():
    with with_memory(100):
        spilled = room((200, 300))
    spilled[:] = 7.0
    release(spilled)
    assert (spilled == 7.0).all()
    release(np.zeros(3))


def test_the_prediction_grows_with_the_square_of_the_samples():
    few, many = ranking_bytes(10_000, 400), ranking_bytes(50_000, 400)
    assert few < 4e9
    assert many > 20 * (few - 3e8)
