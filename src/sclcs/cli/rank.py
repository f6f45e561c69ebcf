"""``sclcs rank``: which operator separates the classes best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table

if TYPE_CHECKING:
    from sclcs.benchmark.ranking import Ranking

__all__ = ["rank"]

SHOWN = 20


class ScoreChoice(StrEnum):
    """Names of :data:`sclcs.benchmark.scores.SCORES`, so that --help loads nothing heavy."""

    cohen_d = "cohen_d"
    difference = "difference"
    auc = "auc"
    rsa = "rsa"
    discr = "discr"
    ident_rate = "ident_rate"
    ratio = "ratio"
    rel_difference = "rel_difference"


class SimilarityChoice(StrEnum):
    """How two matrices are compared."""

    spearman = "spearman"
    pearson = "pearson"


def rank(
    source: Annotated[Path, typer.Argument(help="An FC store, or a cohort to compute first.")],
    *,
    out: Annotated[Path, typer.Option(help="The ranking: a new .csv file.")],
    task: Annotated[
        str, typer.Option(help="subject (fingerprinting) or a label column.")
    ] = "subject",
    coreset: Annotated[Path | None, typer.Option(help="Rank on these samples only.")] = None,
    spis: Annotated[
        str | None, typer.Option(help="A set, identifiers or globs, separated by commas.")
    ] = None,
    score: Annotated[
        ScoreChoice, typer.Option(help="How separation is measured.")
    ] = ScoreChoice.cohen_d,
    similarity: Annotated[
        SimilarityChoice, typer.Option(help="How two matrices are compared.")
    ] = SimilarityChoice.spearman,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Draws of subjects for the intervals; 0 for none.")
    ] = 1000,
    confidence: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    same_subject: Annotated[
        bool,
        typer.Option(
            "--same-subject", help="Label tasks: also compare samples of one subject (rarely wise)."
        ),
    ] = False,
    max_nonfinite: Annotated[
        float, typer.Option(help="Share of samples an operator may fail on.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Same seed, same intervals.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Threads.")] = 1,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the ranking: .png, .svg or .pdf.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Rank operators by how well they separate subjects, diagnoses, sites, ...

    Example: `sclcs rank abide.zarr --task diagnosis --coreset core.csv --out ranking.csv`
    """
    from sclcs.benchmark import rank as rank_operators
    from sclcs.cli.open_matrices import open_matrices
    from sclcs.cohort.coreset import CoreSet
    from sclcs.core.files import refuse_existing
    from sclcs.report.style import check_format

    refuse_existing(out)
    if plot is not None:
        check_format(plot)
    ranking = rank_operators(
        open_matrices(source),
        task,
        spis,
        None if coreset is None else CoreSet.open(coreset),
        score.value,
        bootstrap=bootstrap,
        confidence=confidence,
        seed=seed,
        exclude_same_subject=not same_subject,
        similarity=similarity.value,
        max_nonfinite=max_nonfinite,
        n_jobs=jobs,
    )
    _refuse_empty(ranking)
    ranking.save(out)
    if plot is not None:
        _draw(ranking, plot)
    _announce(ranking, out, plot, json)


def _refuse_empty(ranking: Ranking) -> None:
    """Raise if no operator has a score; the reason says which set is degenerate."""
    from sclcs.core.errors import InputError

    if ranking.table["score"].notna().any():
        return
    reasons = ranking.table["reason"].unique()
    raise InputError(f"No operator can be ranked. {reasons[0] if len(reasons) else ''}".strip())


def _draw(ranking: Ranking, path: Path) -> None:
    from sclcs.report.ranking_figure import draw_ranking
    from sclcs.report.style import save_figure

    save_figure(draw_ranking(ranking), path)


def _announce(ranking: Ranking, out: Path, plot: Path | None, as_json: bool) -> None:
    from sclcs.benchmark.scores import SCORES
    from sclcs.core.provenance import plain

    warning = SCORES[ranking.score].warning
    if warning:
        typer.echo(f"Note: the score {ranking.score} {warning}.", err=True)
    if as_json:
        rows = plain(ranking.table.to_dict(orient="records"))
        facts = {"ranking": str(out), "plot": None if plot is None else str(plot)}
        print_json(facts | {"task": ranking.task, "score": ranking.score, "table": rows})
        return
    table = ranking.groups
    scored = table[table["score"].notna()]
    rows = [_row(row) for row in scored.head(SHOWN).to_dict(orient="records")]
    header = ["rank", "operator", ranking.score, "interval", "rank interval"]
    print_table(f"best operators, task {ranking.task}", header, rows)
    if len(scored) > SHOWN:
        typer.echo(f"... and {len(scored) - SHOWN} more")
    for status, group in table[table["score"].isna()].groupby("status"):
        names = ", ".join(group["spi"])
        typer.echo(f"Without a score ({status}): {names}")
    typer.echo(f"Wrote {out}" + (f" and {plot}" if plot else ""))


def _row(facts: Mapping[Any, Any]) -> tuple[str, ...]:
    more = f" (+{len(facts['also'])} tied)" if facts["also"] else ""
    known = not math.isnan(facts["low"])
    return (
        f"{facts['rank']:g}",
        f"{facts['spi']}{more}",
        f"{facts['score']:.4f}",
        f"{facts['low']:.4f} to {facts['high']:.4f}" if known else "",
        f"{facts['rank_low']:g} to {facts['rank_high']:g}" if known else "",
    )
