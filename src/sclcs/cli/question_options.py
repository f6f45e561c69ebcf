"""Options that say what is asked: shared by ``sclcs rank`` and ``sclcs run``."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "CardCriteria",
    "Covariates",
    "DropMissing",
    "Folds",
    "Harmonise",
    "LeaveOut",
    "Permutations",
    "Repeats",
    "ScoreName",
    "TreatAs",
    "Within",
    "split_names",
]

ScoreName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How operators are scored, for example predict; a wrong name lists all. "
        "[share for labels and numbers, cohen_d for subject]",
    ),
]
Covariates = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns whose influence is taken out: site,mean_fd,age,sex; repeated or with commas.",
    ),
]
Within = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Compare inside its groups only (site).")
]
TreatAs = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="number|classes",
        help="What columns of numbers are, where they do not tell: number, classes, or "
        "age=number for one of several.",
    ),
]
Harmonise = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="ComBat: bring the features of its groups (site) to one location and scale, learned "
        "from training subjects.",
    ),
]
CardCriteria = Annotated[
    list[str] | None,
    typer.Option(
        "--criteria",
        metavar="NAMES",
        help="The card: what else operators are judged by: reliability, motion, site, or columns "
        "(sex=unwanted); none for no card. [those that the cohort has]",
    ),
]
DropMissing = Annotated[
    bool | None,
    typer.Option("--drop-missing", help="Leave subjects out whose covariates are unknown."),
]
Folds = Annotated[int | None, typer.Option(help="Score predict: parts of the subjects. [10]")]
Repeats = Annotated[int | None, typer.Option(help="Score predict: divisions into parts. [10]")]
LeaveOut = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Score predict: leave one of its groups out (site)."),
]
Permutations = Annotated[
    int | None, typer.Option(help="Permutations of the target, for p; 0 for none. [1000]")
]


def split_names(values: list[str] | None) -> list[str] | None:
    """Return names given by repeated options or with commas; None if there are none."""
    if not values:
        return None
    return [part.strip() for value in values for part in value.split(",") if part.strip()]
