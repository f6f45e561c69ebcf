"""The engine: what it accepts, what it promises, and how it fails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import zscore
from spi_reference import coupled_noise

from sclcs._core import InputError
from sclcs.spi import compute_batch as compute, compute_block, engine as runner, status_table
from sclcs.spi.engine import plan_blocks
from sclcs.spi.signals import sample_seeds, standardise

CHEAP = ["cov_EmpiricalCovariance", "kendalltau", "tlmi_gaussian"]
RANDOM = ["cov_MinCovDet", "prec_EllipticEnvelope"]


def test_labels_and_type(signals):
    result = compute(signals, CHEAP)
    assert result.dims == ("spi", "scan", "source", "target")
    assert result.shape == (3, 3, 5, 5)
    assert result.dtype == np.float64
    assert result["spi"].to_numpy().tolist() == CHEAP
    assert (result["status"] == "ok").all()
    assert (result["reason"] == "").all()


def test_one_sample_may_leave_its_axis_out(signals):
    np.testing.assert_array_equal(
        compute(signals[1], CHEAP).to_numpy()[:, 0], compute(signals, CHEAP).to_numpy()[:, 1]
    )


def test_correlation_is_correlation(signals):
    n_times = signals.shape[-1]
    ours = compute(signals, "cov_PearsonCorrelation").to_numpy()[0]
    for matrix, sample in zip(ours, signals, strict=True):
        expected = np.corrcoef(sample) * (n_times - 1) / n_times
        np.fill_diagonal(expected, np.nan)
        np.testing.assert_allclose(matrix, expected, rtol=1e-12)


def test_source_is_the_row():
    rng = np.random.default_rng(0)
    leader = rng.normal(size=400)
    follower = np.roll(leader, 1) + 0.1 * rng.normal(size=400)
    result = compute(np.stack([leader, follower]), "tlmi_gaussian").isel(spi=0, scan=0)
    assert result.sel(source=0, target=1) > 10 * result.sel(source=1, target=0)


def test_float32_and_integers_are_taken(signals):
    single = signals.astype(np.float32)
    np.testing.assert_array_equal(
        compute(single, CHEAP).to_numpy(), compute(single.astype(np.float64), CHEAP).to_numpy()
    )
    assert np.isfinite(compute(np.round(10 * signals).astype(int), "kendalltau")).any()


def test_z_scores_as_scipy(signals):
    ours = standardise(signals).values
    np.testing.assert_allclose(ours, zscore(signals, axis=-1, ddof=1), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_extreme_scales_neither_overflow_nor_vanish(signals, scale):
    ours = standardise(signals * scale)
    assert ours.usable.all()
    np.testing.assert_allclose(ours.values, standardise(signals).values, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_name_their_samples(signals, value):
    broken = signals.copy()
    broken[1, 2, 3] = value
    with pytest.raises(InputError, match=r"infinite values: 1\."):
        compute(broken, CHEAP)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((40,), "axes"),
        ((2, 3, 4, 40), "axes"),
        ((2, 1, 40), "at least 2 regions"),
        ((2, 3, 1), "2 time points"),
        ((0, 3, 40), "no sample"),
    ],
)
def test_wrong_shapes(shape, words):
    with pytest.raises(InputError, match=words):
        compute(np.ones(shape), CHEAP)


def test_wrong_types(signals):
    with pytest.raises(InputError, match="real numbers"):
        compute(signals.astype(complex), CHEAP)
    with pytest.raises(InputError, match="real numbers"):
        compute([["a", "b"], ["c", "d"]], CHEAP)


@pytest.mark.parametrize("n_jobs", [0, -2])
def test_wrong_number_of_jobs(signals, n_jobs):
    with pytest.raises(InputError, match="n_jobs"):
        compute(signals, CHEAP, n_jobs=n_jobs)


def test_too_short_records_skip_only_what_needs_more(signals):
    result = compute(signals[..., :16], ["kendalltau", "xme_gaussian_k10"])
    assert result["status"].sel(spi="kendalltau").to_numpy().tolist() == ["ok"] * 3
    assert result["status"].sel(spi="xme_gaussian_k10").to_numpy().tolist() == ["skipped"] * 3
    assert result["reason"].sel(spi="xme_gaussian_k10")[0] == "needs 21 time points, has 16"
    assert np.isnan(result.sel(spi="xme_gaussian_k10")).all()


def test_a_sample_with_one_usable_region_is_all_nan(signals):
    flat = signals.copy()
    flat[1, 1:] = 7.0
    result = compute(flat, "kendalltau").isel(spi=0)
    assert result["status"].to_numpy().tolist() == ["ok", "failed", "ok"]
    assert result["reason"][1].item() == "constant region 1, 2, 3, 4"
    assert np.isnan(result[1]).all()


def test_a_constant_that_rounds_is_still_constant(signals):
    almost = signals.copy()
    almost[0, 2] = np.float64(np.float32(0.1)) + np.tile([0.0, 1e-17], 31)[:61]
    assert standardise(almost).usable[0].tolist() == [True, True, False, True, True]


class BrokenFamily:
    """Wraps a family; fails on one operator, for samples whose first value is negative."""

    def __init__(self, family, culprit):
        self.family, self.culprit = family, culprit

    def compute(self, signals, members, context):
        if self.culprit in members and (signals[:, 0, 0] < 0).any():
            raise ArithmeticError("this sample is cursed")
        return self.family.compute(signals, members, context)


@pytest.fixture
def cursed(monkeypatch, signals):
    """The samples on which kendalltau fails."""
    healthy = runner.load_family
    broken = BrokenFamily(healthy("kendall"), "kendalltau")
    monkeypatch.setattr(
        runner, "load_family", lambda name: broken if name == "kendall" else healthy(name)
    )
    mean = signals[:, 0].mean(axis=-1)
    return signals[:, 0, 0] < mean


def test_a_failure_stays_inside_its_operator_and_sample(signals, cursed):
    asked = ["kendalltau", "kendalltau-sq", "pec"]
    assert 0 < cursed.sum() < len(signals)
    result = compute(signals, asked)
    expected = np.where(cursed, "failed", "ok")
    np.testing.assert_array_equal(result["status"].sel(spi="kendalltau"), expected)
    reasons = result["reason"].sel(spi="kendalltau").to_numpy()[cursed]
    assert set(reasons) == {"ArithmeticError: this sample is cursed"}
    assert np.isnan(result.sel(spi="kendalltau").to_numpy()[cursed]).all()
    healthy = result.sel(spi="kendalltau-sq").to_numpy()
    np.testing.assert_allclose(
        result.sel(spi="kendalltau").to_numpy()[~cursed] ** 2, healthy[~cursed]
    )
    assert (result["status"].sel(spi=["kendalltau-sq", "pec"]) == "ok").all()


def test_status_table(signals):
    flat = signals.copy()
    flat[2, 0] = 0.0
    table = status_table(compute(flat, CHEAP, sample_keys=["a", "b", "c"]))
    assert table.columns.tolist() == ["spi", "scan", "status", "reason"]
    assert len(table) == 9
    partial = table[table["status"] == "partial-nan"]
    assert set(partial["scan"]) == {"c"}
    assert set(partial["reason"]) == {"constant region 0"}


def test_seeds_belong_to_samples_not_to_places(signals):
    order = [2, 0, 1]
    forward = compute(signals, RANDOM).to_numpy()
    np.testing.assert_array_equal(forward[:, order], compute(signals[order], RANDOM).to_numpy())


def test_sample_keys_label_and_do_not_seed(signals):
    by_key = compute(signals, RANDOM, sample_keys=["x", "y", "z"])
    assert by_key["scan"].to_numpy().tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(by_key.to_numpy(), compute(signals, RANDOM).to_numpy())
    seeds = sample_seeds(signals, 0)
    assert len({*seeds.tolist(), *sample_seeds(signals * 2, 0).tolist()}) == 6
    assert len({*seeds.tolist(), *sample_seeds(signals, 1).tolist()}) == 6
    with pytest.raises(InputError, match="sample_keys"):
        compute(signals, RANDOM, sample_keys=["x"])


def test_blocks_are_complete_and_fit_the_budget():
    per_sample = 131 * 33**2 * 8
    blocks = plan_blocks(100, 33, 131, memory_bytes=7 * per_sample)
    assert blocks[0] == slice(0, 7)
    assert [k for block in blocks for k in range(block.start, block.stop)] == list(range(100))
    assert plan_blocks(2, 400, 131, memory_bytes=1) == [slice(0, 1), slice(1, 2)]


def test_block_of_the_executors_equals_compute(signals):
    asked = [*CHEAP, *RANDOM]
    whole = compute(signals, asked, seed=3)
    outcomes = compute_block(signals[1:], asked, sample_seeds=sample_seeds(signals[1:], 3))
    assert list(outcomes) == asked
    for identifier, outcome in outcomes.items():
        np.testing.assert_array_equal(outcome.matrices, whole.sel(spi=identifier)[1:])
        assert outcome.status == ["ok", "ok"]
        assert outcome.seconds > 0


def test_memory_budget_does_not_change_the_result():
    many = coupled_noise(5, 4, 7, 45)
    small = compute(many, "all", memory_bytes=1)
    whole = compute(many, "all")
    np.testing.assert_allclose(small, whole, rtol=1e-10, atol=1e-12)


def test_infinite_values_are_undefined_like_any_other():
    signals = np.random.default_rng(5).normal(size=(4, 40))
    signals[3] = signals[1]  # their mutual information is infinite
    result = compute(signals, ["mi_gaussian", "tlmi_gaussian"])
    matrix = result.sel(spi="mi_gaussian").to_numpy()[0]
    assert np.isnan(matrix[1, 3])
    assert np.isnan(matrix[3, 1])
    assert np.isfinite(matrix).sum() == 10
    assert not np.isinf(result).any()
    assert result["status"].sel(spi="mi_gaussian").item() == "partial-nan"
    assert "2 of 12 values are not finite" in result["reason"].sel(spi="mi_gaussian").item()
