"""Compare the simulator with a real cohort, side by side.

    python tools/calibrate_simulator.py ../shared/data/abide_dos160_dmn33.npz
    python tools/calibrate_simulator.py ../shared/data/abide_dos160_dmn33.npz --write

The real cohort is the restriction of ABIDE I to 33 default-mode regions (see the README
beside the file). Two settings are measured on both cohorts by the same functions:

windows
    scans of at least 210 time points, cut into the paper's five windows (307 subjects);
scans
    all valid scans in full (1013 subjects, 20 sites), for identification and decodability.

The simulated cohort has the same sites, sizes and scan lengths: in seconds, as the real
repetition times differ (1.5 to 3 s) and what a band-limited scan tells grows with its seconds.
Single strengths can be tried with ``--set subject=0.3``. ``--write`` stores the scalars that the
package and its tests use (sizes, lengths, targets and the simulator's spread over seeds; never
signals or matrices).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from calibration import (
    CALIBRATION_FILE,
    measure_scans,
    measure_simulated_scans,
    measure_simulated_windows,
    measure_windows,
)
from numpy.typing import NDArray

from sclcs._core import write_json
from sclcs.cohort import Cohort
from sclcs.cohort.simulated_signals import Effects

PAPER_LENGTH = 210
DIGITS = 4

Signals = NDArray[np.float32]


def main() -> None:
    """Measure, print, and write if asked."""
    options = _parse()
    effects = Effects().change({name: float(value) for name, value in options.set})
    real = RealCohort(options.npz)
    settings: dict[str, Any] = {}
    if options.setting in ("windows", "both"):
        sites: dict[str, float] = dict(real.sites_of_long_scans)
        settings["windows"] = {
            "sites": sites,
            "targets": _rounded(measure_windows(real.windows())),
            "simulated": _over_seeds(
                lambda seed: measure_simulated_windows(sites, effects, seed), options.seeds
            ),
        }
        _print("windows", settings["windows"])
    if options.setting in ("scans", "both"):
        layout = real.layout
        settings["scans"] = {
            "sites": layout,
            "targets": _rounded(measure_scans(real.scans, real.diagnosis, real.site)),
            "simulated": _over_seeds(
                lambda seed: measure_simulated_scans(layout, effects, seed), options.seeds
            ),
        }
        _print("scans", settings["scans"])
    if options.write:
        source = "ABIDE I, PCP, CCS pipeline, filt_noglobal, rois_dosenbach160, 33 regions"
        made_by = "python tools/calibrate_simulator.py abide_dos160_dmn33.npz --write"
        header = {"source": source, "made_by": made_by, "seeds": options.seeds}
        write_json(CALIBRATION_FILE, {**header, **settings})


class RealCohort:
    """The valid scans of the npz, without the first time point (it repeats the second)."""

    def __init__(self, path: Path) -> None:
        with np.load(path, allow_pickle=False) as data:
            valid = np.flatnonzero(data["roi_valid"].all(axis=1))
            lengths = data["n_timepoints"].astype(int)
            series = data["timeseries"]
            self.scans: list[Signals] = [series[i, 1 : lengths[i]].T for i in valid]
            self.site = [str(name) for name in data["site"][valid]]
            self.diagnosis = [str(name) for name in data["diagnosis"][valid]]
            self.subject = [str(name) for name in data["subject"][valid]]
            self.tr = [float(seconds) for seconds in data["tr"][valid]]

    @property
    def long(self) -> list[int]:
        """Scans that give the paper's five windows."""
        return [i for i, scan in enumerate(self.scans) if scan.shape[1] >= PAPER_LENGTH]

    @property
    def sites_of_long_scans(self) -> Counter[str]:
        """Subjects per site among the long scans."""
        return Counter(self.site[i] for i in self.long)

    @property
    def layout(self) -> dict[str, dict[str, int]]:
        """Subjects and median scan length in seconds of each site."""
        seconds: dict[str, list[float]] = {name: [] for name in sorted(set(self.site))}
        for scan, site, tr in zip(self.scans, self.site, self.tr, strict=True):
            seconds[site].append(scan.shape[1] * tr)
        return {
            name: {"subjects": len(found), "seconds": round(float(np.median(found)))}
            for name, found in seconds.items()
        }

    def windows(self) -> Cohort:
        """Cut the long scans into the paper's windows."""
        table = pd.DataFrame({"subject": [self.subject[i] for i in self.long]})
        series = [self.scans[i].T for i in self.long]
        return Cohort.from_arrays(series, table, window=70, stride=35, truncate=PAPER_LENGTH)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("npz", type=Path, help="abide_dos160_dmn33.npz")
    parser.add_argument("--seeds", type=int, default=10, help="simulated cohorts (default 10)")
    parser.add_argument("--setting", choices=["windows", "scans", "both"], default="both")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=lambda text: text.split("=", 1),
        metavar="NAME=VALUE",
        help="try another strength; may be repeated",
    )
    parser.add_argument("--write", action="store_true", help=f"write {CALIBRATION_FILE.name}")
    options = parser.parse_args()
    if options.write and (options.set or options.setting != "both"):
        parser.error("--write stores the defaults in both settings; leave out --set and --setting.")
    return options


def _over_seeds(
    measure: Callable[[int], dict[str, float]], n_seeds: int
) -> dict[str, dict[str, float]]:
    """Return mean and standard deviation of each measure over simulated cohorts."""
    measured = [measure(seed) for seed in range(n_seeds)]
    columns = {name: [one[name] for one in measured] for name in measured[0]}
    return {
        "mean": _rounded({name: np.mean(values) for name, values in columns.items()}),
        "spread": _rounded({name: np.std(values) for name, values in columns.items()}),
    }


def _rounded(values: dict[str, Any]) -> dict[str, float]:
    return {name: round(float(value), DIGITS) for name, value in values.items()}


def _print(title: str, setting: dict[str, Any]) -> None:
    simulated = setting["simulated"]
    print(f"{title:<24}{'real':>9}{'simulated':>11}{'± seeds':>9}")
    for name, target in setting["targets"].items():
        mean, spread = simulated["mean"][name], simulated["spread"][name]
        print(f"  {name:<22}{target:>9.3f}{mean:>11.3f}{spread:>9.3f}", flush=True)


if __name__ == "__main__":
    main()
