"""The real cohort's scalars and a simulated cohort laid out like it.

``calibration.json`` holds targets measured on 1013 scans of ABIDE I (33 default-mode regions
of the Dosenbach atlas). ``tools/calibrate_simulator.py`` makes the file again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from sclcs.cohort.simulation.effects import Effects
from sclcs.cohort.simulation.simulate import simulate_cohort
from sclcs.cohort.simulation.statistics import measure_scans, measure_windows

__all__ = ["calibration", "measure_simulated_scans", "measure_simulated_windows"]

CALIBRATION_FILE = "calibration.json"
_TR = 2.0


def calibration() -> dict[str, Any]:
    """Return the layout of the real cohort, its targets and the spread of the simulator."""
    text = files("sclcs.cohort.simulation").joinpath(CALIBRATION_FILE).read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def measure_simulated_windows(
    sites: Mapping[str, float], effects: Effects, seed: int
) -> dict[str, float]:
    """Measure a simulated cohort under the paper's windowing."""
    total = round(sum(sites.values()))
    return measure_windows(simulate_cohort(total, sites=sites, effects=effects, seed=seed))


def measure_simulated_scans(
    sites: Mapping[str, Mapping[str, int]], effects: Effects, seed: int
) -> dict[str, float]:
    """Measure whole simulated scans.

    Parameters
    ----------
    sites : mapping
        For each site its number of `subjects` and the `seconds` of its scans.
    effects : Effects
        Strengths.
    seed : int
        Seed of the cohort.
    """
    sizes = {name: float(site["subjects"]) for name, site in sites.items()}
    length = {name: round(site["seconds"] / _TR) for name, site in sites.items()}
    cohort = simulate_cohort(
        round(sum(sizes.values())),
        1,
        length=max(length.values()),
        tr=_TR,
        sites=sizes,
        effects=effects,
        seed=seed,
    )
    site_of_scan = list(cohort.labels("site"))
    scans = [
        scan[:, : length[site]]
        for scan, site in zip(np.asarray(cohort.signals), site_of_scan, strict=True)
    ]
    return measure_scans(scans, list(cohort.labels("diagnosis")), site_of_scan)
