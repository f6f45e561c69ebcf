"""Pages made from the package's own tables, so that the documentation cannot disagree with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from sclcs.cohort.simulation.calibration import calibration

MEANING = {
    "lag_one": "lag-1 autocorrelation",
    "mean_connectivity": "mean correlation between regions",
    "spread_over_pairs": "its spread over pairs of regions",
    "spread_over_subjects": "its spread over subjects",
    "within": "similarity of two windows of one subject",
    "within_apart": "... that do not overlap",
    "within_far": "... first and last window",
    "between": "similarity of windows of two subjects",
    "identification": "identification rate",
    "diagnosis": "diagnosis, balanced accuracy (chance 0.50)",
    "site": "site, balanced accuracy (20 sites, chance 0.05)",
}
SETTING = {"windows": "307 subjects x 5 windows", "scans": "1013 whole scans"}


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def calibration_table() -> str:
    """Return the real and the simulated cohort side by side."""
    record = calibration()
    rows = [
        (
            SETTING[setting],
            MEANING[name],
            f"{target:.3f}",
            f"{record[setting]['simulated']['mean'][name]:.3f}",
            f"{record[setting]['simulated']['spread'][name]:.3f}",
        )
        for setting in SETTING
        for name, target in record[setting]["targets"].items()
    ]
    header = ["setting", "measure", "real", "simulated, mean", "std over seeds"]
    return table(header, rows)


PAGES: dict[str, Callable[[], str]] = {"calibration_table.md": calibration_table}


def write_pages(docs: Path) -> None:
    """Write all generated pages."""
    folder = docs / "generated"
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        (folder / name).write_text(make(), encoding="utf-8")
