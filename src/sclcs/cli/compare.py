"""``sclcs compare`` and ``sclcs balance``: how good a core-set is."""

from __future__ import annotations

from enum import StrEnum
from math import isinf
from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table

__all__ = ["balance", "compare"]


class GainChoice(StrEnum):
    """What finding a good operator is worth."""

    minmax = "minmax"
    raw = "raw"
    rank = "rank"
    exp = "exp"


def compare(
    reference: Annotated[Path, typer.Argument(help="The ranking on all samples.")],
    other: Annotated[Path, typer.Argument(help="The ranking on a core-set.")],
    *,
    gain: Annotated[
        GainChoice, typer.Option(help="What finding a good operator is worth.")
    ] = GainChoice.minmax,
    k: Annotated[list[int] | None, typer.Option(help="Cut-off; may be repeated.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw rank against rank: .png, .svg or .pdf.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Say how well two rankings agree: nDCG, Kendall, Spearman, shared top operators.

    Example: `sclcs compare full.csv core_ranking.csv --plot agreement.png`
    """
    from sclcs.benchmark.consistency import consistency
    from sclcs.benchmark.ranking import Ranking
    from sclcs.core.provenance import plain

    full, core = Ranking.open(reference), Ranking.open(other)
    if (full.task, full.score) != (core.task, core.score):
        from sclcs.core.errors import InputError

        raise InputError(
            f"Expected two rankings of one task and score, but {reference} is {full.task} by "
            f"{full.score} and {other} is {core.task} by {core.score}; rank both alike."
        )
    found = consistency(full, core, tuple(k or (5, 10, 20)), gain.value)
    if plot is not None:
        from sclcs.report.ranking_figure import draw_rank_rank
        from sclcs.report.style import save_figure

        save_figure(draw_rank_rank(full, core), plot)
    if json:
        print_json(plain(found))
        return
    rows = [(name, f"{value:.4f}") for name, value in found.items() if name != "operators"]
    title = f"{int(found['operators'])} operators, task {full.task}, {full.score}"
    print_table(title, ["agreement", "value"], rows)
    if plot is not None:
        typer.echo(f"Wrote {plot}")


def balance(
    cohort: Annotated[Path, typer.Argument(help="The cohort.")],
    coreset: Annotated[Path, typer.Argument(help="The core-set, a .csv file.")],
    *,
    label: Annotated[
        list[str] | None, typer.Option(help="Only this label column; may be repeated.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the shares: .png, .svg or .pdf.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Compare the subjects, classes and sites of a core-set with its cohort.

    Example: `sclcs balance abide.zarr core.csv`
    """
    from sclcs.benchmark.balance import balance as measure
    from sclcs.cohort.cohort import Cohort
    from sclcs.cohort.coreset import CoreSet
    from sclcs.core.provenance import plain

    found = measure(Cohort.open(cohort), CoreSet.open(coreset), label)
    if plot is not None:
        from sclcs.report.pairs_figure import draw_balance
        from sclcs.report.style import save_figure

        save_figure(draw_balance(found), plot)
    if json:
        infinite = [
            name for name, value in found.items() if isinstance(value, float) and isinf(value)
        ]
        print_json(plain(found | {"infinite": infinite}))
        return
    rows = [
        (name.replace("_", " "), value if isinstance(value, int | str) else f"{value:.4f}")
        for name, value in found.items()
        if name != "shares"
    ]
    print_table("core-set against cohort", ["measure", "value"], rows)
    if plot is not None:
        typer.echo(f"Wrote {plot}")
