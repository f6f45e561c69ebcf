"""Does an operator keep the promises of its row? What ``sclcs spis check`` tries.

The checks need no reference: they compare an operator with itself, on noise of unequal axis
sizes, with its regions reordered and rescaled, with a constant region, with too few time points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.engine import compute_batch, load_family
from sclcs.spi.numerics.compiling import Array
from sclcs.spi.operators import catalogue_rows
from sclcs.spi.own import FamilyContext
from sclcs.spi.signals import sample_seeds, standardise
from sclcs.spi.versions import find_identifier

__all__ = ["Check", "check_operator"]

SAMPLES, REGIONS, TIMES = 3, 5, 61
TOLERANCE = 1e-8
ORDER = [3, 0, 4, 1, 2]
SCALES = np.array([0.3, 7.0, 1e3, 2e-4, 1.1])[:, None]


@dataclass(frozen=True)
class Check:
    """One promise and whether it is kept.

    Parameters
    ----------
    promise : str
        In words.
    kept : bool or None
        None if it does not apply to the operator.
    found : str
        What was found, if it is not kept, or why it does not apply.
    """

    promise: str
    kept: bool | None
    found: str = ""


def check_operator(name: str) -> list[Check]:
    """Try whether an operator keeps the promises of its row of the catalogue.

    Parameters
    ----------
    name : str
        An identifier or a name people know.

    Returns
    -------
    list of Check

    Examples
    --------
    >>> all(check.kept is not False for check in check_operator("pearson"))
    True
    """
    trial = _Trial(find_identifier(name))
    return [check(trial) for check in _checks()]


class _Trial:
    """An operator, its facts, and its matrices of ordinary signals."""

    def __init__(self, identifier: str) -> None:
        self.identifier = identifier
        self.row = catalogue_rows()[identifier]
        n_times = max(TIMES, int(self.row["minimum_length"]) + 3)
        rng = np.random.default_rng(20)
        noise = rng.normal(size=(SAMPLES, REGIONS, n_times))
        for time in range(1, n_times):
            noise[..., time] += 0.4 * noise[..., time - 1]
        mixing = np.eye(REGIONS) + 0.4 * rng.normal(size=(SAMPLES, REGIONS, REGIONS))
        self.signals: Array = 3.0 * (mixing @ noise)
        self.result = compute_batch(self.signals, identifier)
        self.matrices: Array = self.result.to_numpy()[0]

    def again(self, signals: Array) -> Array:
        return np.asarray(compute_batch(signals, self.identifier).to_numpy()[0])


def _checks() -> list[Callable[[_Trial], Check]]:
    return [
        _finite,
        _not_constant,
        _symmetry,
        _repeatable,
        _batch_equals_loop,
        _reordering,
        _rescaling,
        _constant_region,
        _few_time_points,
        _threads,
    ]


def _verdict(promise: str, kept: bool, found: str) -> Check:
    return Check(promise, bool(kept), "" if kept else found)


def _off_diagonal() -> NDArray[np.bool_]:
    return ~np.eye(REGIONS, dtype=bool)


def _finite(trial: _Trial) -> Check:
    states = trial.result["status"].to_numpy().ravel()
    reasons = [reason for reason in trial.result["reason"].to_numpy().ravel() if reason]
    found = reasons[0] if reasons else ""
    return _verdict(
        "is finite for every pair of ordinary signals", bool((states == "ok").all()), found
    )


def _not_constant(trial: _Trial) -> Check:
    spread = np.ptp(trial.matrices[:, _off_diagonal()], axis=1)
    return _verdict(
        "tells pairs of regions apart", bool((spread > 0).all()), "every pair has the same value"
    )


def _symmetry(trial: _Trial) -> Check:
    """Ask the function itself, because the engine makes symmetry exact."""
    context = FamilyContext(sample_seeds=sample_seeds(trial.signals, 0))
    prepared = standardise(trial.signals).values
    declared = str(trial.row["symmetry"])
    promise = f"has the symmetry it declares ({declared})"
    try:
        family = load_family(str(trial.row["family"]))
        raw = family.compute(prepared, [trial.identifier], context)[trial.identifier]
        values, mirrored = raw[:, _off_diagonal()], np.swapaxes(raw, 1, 2)[:, _off_diagonal()]
    except Exception as error:  # noqa: BLE001 - the function is somebody else's
        return Check(promise, False, f"{type(error).__name__}: {error}")
    kinds = {
        "symmetric": _close(values, mirrored, 1e-9),
        "antisymmetric": _close(values, -mirrored, 1e-9),
    }
    found = next((kind for kind, holds in kinds.items() if holds), "none")
    return _verdict(promise, found == declared, f"the matrices have {found}")


def _repeatable(trial: _Trial) -> Check:
    same = np.array_equal(trial.again(trial.signals), trial.matrices, equal_nan=True)
    return _verdict(
        "gives the same numbers for the same signals", same, "two calls give other numbers"
    )


def _batch_equals_loop(trial: _Trial) -> Check:
    alone = np.stack([trial.again(sample)[0] for sample in trial.signals])
    same = np.array_equal(alone, trial.matrices, equal_nan=True)
    return _verdict(
        "gives a sample the same matrix alone and beside others",
        same,
        f"they differ by up to {_gap(alone, trial.matrices):.1e}",
    )


def _reordering(trial: _Trial) -> Check:
    promise = "gives a pair the same value wherever its regions stand"
    if not trial.row["deterministic"]:
        return Check(promise, None, "random operators are seeded by the content of a sample")
    if "later region" in str(trial.row["quirk"]):
        return Check(promise, None, str(trial.row["quirk"]))
    expected = trial.matrices[:, ORDER][:, :, ORDER]
    found = trial.again(trial.signals[:, ORDER])
    kept = _close(found, expected, TOLERANCE)
    return _verdict(promise, kept, f"they differ by up to {_gap(found, expected):.1e}")


def _rescaling(trial: _Trial) -> Check:
    promise = "does not depend on the scale of a region"
    if not trial.row["scale_invariant"]:
        return Check(promise, None, "not promised")
    if not trial.row["deterministic"]:
        return Check(promise, None, "random operators are seeded by the content of a sample")
    found = trial.again(trial.signals * SCALES + 5.0 * SCALES)
    kept = _close(found, trial.matrices, TOLERANCE)
    return _verdict(promise, kept, f"values move by up to {_gap(found, trial.matrices):.1e}")


def _constant_region(trial: _Trial) -> Check:
    flat = trial.signals.copy()
    flat[1, 2] = -4.25
    broken = trial.again(flat)
    others = [0, 1, 3, 4]
    kept = (
        np.isnan(broken[1, 2]).all()
        and np.isfinite(broken[1][np.ix_(others, others)][~np.eye(4, dtype=bool)]).all()
        and np.array_equal(broken[[0, 2]], trial.matrices[[0, 2]], equal_nan=True)
    )
    return _verdict(
        "loses a constant region and nothing else", bool(kept), "other values changed or are NaN"
    )


def _few_time_points(trial: _Trial) -> Check:
    needed = int(trial.row["minimum_length"])
    found = compute_batch(trial.signals[..., :needed], trial.identifier)
    reasons = [str(reason) for reason in found["reason"].to_numpy().ravel() if reason]
    kept = not any("Error" in reason for reason in reasons)
    return _verdict(
        f"can be computed on {needed} time points, the fewest it says it needs",
        kept,
        reasons[0] if reasons else "",
    )


def _threads(trial: _Trial) -> Check:
    many = np.concatenate([trial.signals + shift for shift in range(4)])
    one, four = (
        compute_batch(many, trial.identifier, n_jobs=jobs, memory_bytes=2**12).to_numpy()
        for jobs in (1, 4)
    )
    same = np.array_equal(one, four, equal_nan=True)
    return _verdict("gives the same numbers in several threads", same, "they differ")


def _close(first: Array, second: Array, tolerance: float) -> bool:
    return np.allclose(first, second, rtol=tolerance, atol=tolerance, equal_nan=True)


def _gap(first: Array, second: Array) -> float:
    gaps = np.abs(first - second)
    return float(np.nanmax(gaps)) if np.isfinite(gaps).any() else float("nan")


def failures(checks: list[Check]) -> Iterator[Check]:
    """Go through the promises that are not kept."""
    return (check for check in checks if check.kept is False)
