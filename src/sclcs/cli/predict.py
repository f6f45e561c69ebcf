"""``sclcs predict``: labels or numbers of new scans, by a blend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json

if TYPE_CHECKING:
    import pandas as pd

    from sclcs.cohort import Cohort
    from sclcs.decision import Blend

__all__ = ["predict"]

#: How a run calls the blends that it keeps.
PATTERN = "blend*.npz"


def predict(
    model: Annotated[Path, typer.Argument(help="A run that kept its blend, or a saved blend.")],
    new: Annotated[
        Path, typer.Argument(help="New scans: a cohort, or files with the same regions.")
    ],
    *,
    out: Annotated[Path, typer.Option(help="The table of predictions: a new .csv file.")],
    task: Annotated[
        str | None, typer.Option(help="Which task's blend, if the run has several.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Predict labels or numbers of new scans with the blend of a run.

    Covariates that the blend was fitted with are taken from the table of the new scans; where
    they are missing there, the average of the training scans is used.

    Example: `sclcs predict RUN new_scans.zarr --out predictions.csv`
    """
    from sclcs._core import refuse_existing, write_text
    from sclcs.cohort import Cohort, open_source, table_to_csv
    from sclcs.decision import Blend

    refuse_existing(out)
    blend = Blend.load(_blend_file(model, task))
    found = open_source(new)
    cohort = found if isinstance(found, Cohort) else found.to_cohort()
    table = _predictions(blend, cohort)
    write_text(out, table_to_csv(table, guarded=True))
    if json:
        print_json({"predictions": str(out), "scans": len(table), "columns": list(table.columns)})
        return
    typer.echo(f"Predictions for {len(table)} scans: {out}")


def _blend_file(model: Path, task: str | None) -> Path:
    """Return the file of a blend, of a run the one of the task."""
    from sclcs._core import InputError, require_existing

    require_existing(model, "run or blend")
    if model.is_file():
        return model
    there = {path.stem.removeprefix("blend").lstrip("-"): path for path in model.glob(PATTERN)}
    if not there:
        raise InputError(f"{model} keeps no blend ({PATTERN}); run it again, or fit one in Python.")
    if task is None and len(there) == 1:
        return next(iter(there.values()))
    if task not in there:
        raise InputError(f"Expected --task to be one of {', '.join(sorted(there))}, got {task}.")
    return there[task]


def _predictions(blend: Blend, cohort: Cohort) -> pd.DataFrame:
    import pandas as pd

    names = blend.columns_.names
    known = names and set(names) <= set(cohort.samples.columns)
    covariates = cohort.samples[names] if known else None
    table = pd.DataFrame({"subject": cohort.samples["subject"]}, index=cohort.samples.index)
    table["prediction"] = blend.predict(cohort, covariates)
    if hasattr(blend, "classes_"):
        for name, column in zip(
            blend.classes_, blend.predict_proba(cohort, covariates).T, strict=True
        ):
            table[f"p_{name}"] = column
    return table
