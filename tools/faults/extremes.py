"""Operators on signals that no scanner gives: numbers, NaN with a reason, never infinity."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from faults.tally import Tally
from sclcs._core import SclcsError
from sclcs.spi import compute_batch as compute, resolve, status_table

R, T = 5, 60
Floats = NDArray[np.float64]


def signals(seed: int) -> dict[str, Floats]:
    """Return extreme samples (region, time) by name."""
    draw = np.random.default_rng(seed)
    usual = draw.normal(size=(R, T))
    same = usual.copy()
    same[2] = same[1]
    flat = usual.copy()
    flat[3] = 7.0
    spike = np.zeros((R, T))
    spike[:, draw.integers(T)] = 1.0
    scales = usual * np.array([[1e-150], [1e150], [1.0], [1e-3], [1e8]])
    return {
        "huge": usual * 1e300,
        "tiny": usual * 1e-300,
        "denormal": usual * 5e-324,
        "zero": np.zeros((R, T)),
        "equal regions": same,
        "a flat region": flat,
        "opposite regions": np.stack([usual[0], -usual[0], *usual[2:]]),
        "one spike": spike,
        "two values": np.sign(usual),
        "a line": np.tile(np.arange(T, dtype=float), (R, 1)),
        "offset": usual + 1e12,
        "mixed scales": scales,
    }


def try_extremes(seed: int, spis: str = "paper-fast") -> list[Tally]:
    """Compute a set of operators on every extreme sample.

    Parameters
    ----------
    seed : int
    spis : str
        A set of operators.

    Returns
    -------
    list of Tally
        One trial is one operator on one sample: fine if all its numbers are finite, named if it is
        marked as failed, skipped or partly NaN, silent if there is an infinity or an unmarked NaN.
    """
    tally = Tally("operator")
    off = ~np.eye(R, dtype=bool)
    for name, sample in signals(seed).items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = compute(sample[None], spis)
        except SclcsError:
            for _ in resolve(spis):
                tally.add("named")
            continue
        except Exception as error:  # noqa: BLE001 (counted)
            tally.add("crashed", f"{name}: {error!r}")
            continue
        states = status_table(found).set_index("spi")["status"]
        for spi in found["spi"].to_numpy():
            values = found.sel(spi=spi).to_numpy()[0][off]
            if np.isfinite(values).all():
                tally.add("fine")
            elif np.isinf(values).any() or states[spi] == "ok":
                tally.add("silent", f"{spi} on {name}: {states[spi]}, {values[:4]}")
            else:
                tally.add("named")
    return [tally]
