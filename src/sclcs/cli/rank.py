"""``sclcs rank``: which operator sees the target best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs.cli.output import UNPROVEN, JsonFlag, print_json, print_table
from sclcs.cli.question_options import (
    CardCriteria,
    Covariates,
    DropMissing,
    Folds,
    Harmonise,
    LeaveOut,
    Permutations,
    Repeats,
    ScoreName,
    TreatAs,
    Within,
    split_names,
)

if TYPE_CHECKING:
    from sclcs.benchmark.ranking import Ranking

__all__ = ["rank"]

SHOWN = 20


class SimilarityChoice(StrEnum):
    """How two matrices are compared."""

    spearman = "spearman"
    pearson = "pearson"


def rank(
    source: Annotated[Path, typer.Argument(help="An FC store, or a cohort to compute first.")],
    *,
    out: Annotated[Path, typer.Option(help="The ranking: a new .csv file.")],
    task: Annotated[
        str, typer.Option(help="subject (fingerprinting), a label or a number.")
    ] = "subject",
    coreset: Annotated[Path | None, typer.Option(help="Rank on these samples only.")] = None,
    spis: Annotated[
        str | None, typer.Option(help="A set, identifiers or globs, separated by commas.")
    ] = None,
    score: ScoreName = None,
    covariates: Covariates = None,
    within: Within = None,
    harmonise: Harmonise = None,
    treat_as: TreatAs = None,
    drop_missing: DropMissing = None,
    folds: Folds = None,
    repeats: Repeats = None,
    leave_out: LeaveOut = None,
    permutations: Permutations = None,
    criteria: CardCriteria = None,
    similarity: Annotated[
        SimilarityChoice, typer.Option(help="How two matrices are compared.")
    ] = SimilarityChoice.spearman,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Redraws of subjects for the intervals; 0 for none.")
    ] = 1000,
    confidence: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    same_subject: Annotated[
        bool,
        typer.Option(
            "--same-subject", help="Label tasks: also compare samples of one subject (rarely wise)."
        ),
    ] = False,
    pooled: Annotated[
        bool,
        typer.Option(
            "--pooled", help="Pair scores: let every pair count alike, as the paper does."
        ),
    ] = False,
    overlapping: Annotated[
        bool,
        typer.Option(
            "--overlapping",
            help="Pair scores: compare windows that share time points, as the paper.",
        ),
    ] = False,
    max_nonfinite: Annotated[
        float, typer.Option(help="Share of samples an operator may fail on.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Same seed, same intervals.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Threads.")] = 1,
    memory: Annotated[
        str | None,
        typer.Option(help="At most so much of it, for example 4G."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the ranking: .png, .svg or .pdf.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Rank operators by how well they see persons, diagnoses, ages, ...

    Example: `sclcs rank abide.zarr --task diagnosis --covariates site,mean_fd --out ranking.csv`
    """
    from sclcs.benchmark import find_aims, find_target, make_card
    from sclcs.benchmark import rank as rank_operators
    from sclcs.cli.open_matrices import open_matrices
    from sclcs.cohort.coreset import CoreSet
    from sclcs.core.provenance import refuse_table
    from sclcs.report.style import check_format

    refuse_table(out)
    card_path = out.with_name(f"{out.stem}-card.csv")
    if criteria is not None:
        refuse_table(card_path)
    if plot is not None:
        check_format(plot)
    matrices = open_matrices(source)
    core = None if coreset is None else CoreSet.open(coreset)
    kinds, asked = split_names(treat_as), split_names(criteria) or ()
    if criteria is not None:  # a wrong name is told before the work, not after it
        find_aims(matrices.samples, find_target(matrices.samples, task, kinds), asked, kinds)
    ranking = rank_operators(
        matrices,
        task,
        spis,
        core,
        score,
        covariates=split_names(covariates) or (),
        within=within,
        harmonise=harmonise,
        treat_as=kinds,
        drop_missing=bool(drop_missing),
        folds=10 if folds is None else folds,
        repeats=10 if repeats is None else repeats,
        leave_out=leave_out,
        permutations=1000 if permutations is None else permutations,
        bootstrap=bootstrap,
        confidence=confidence,
        seed=seed,
        pooled=pooled,
        overlapping=overlapping,
        exclude_same_subject=not same_subject,
        similarity=similarity.value,
        max_nonfinite=max_nonfinite,
        memory=memory,
        n_jobs=jobs,
    )
    ranking.expect_scores()
    ranking.save(out)
    card = None
    if criteria is not None:
        card = make_card(matrices, ranking, asked, coreset=core, treat_as=kinds, n_jobs=jobs)
        card.save(card_path)
    if plot is not None:
        _draw(ranking, plot)
    _announce(ranking, out, plot, json)
    if card is not None and not json:
        for sentence in card.sentences:
            typer.echo(f"- {sentence}")
        typer.echo(f"Wrote {card_path}")


def _draw(ranking: Ranking, path: Path) -> None:
    from sclcs.report.ranking_figure import draw_ranking
    from sclcs.report.style import save_figure

    save_figure(draw_ranking(ranking), path)


def _announce(ranking: Ranking, out: Path, plot: Path | None, as_json: bool) -> None:
    from sclcs.benchmark import find_criterion
    from sclcs.benchmark.verdict import find_verdict
    from sclcs.core.provenance import plain

    warning = find_criterion(ranking.score).warning
    if warning:
        typer.echo(f"Note: the score {ranking.score} {warning}.", err=True)
    if as_json:
        hidden = ["score", "low", "high"] if ranking.ranks_only else []
        rows = plain(ranking.table.drop(columns=hidden).to_dict(orient="records"))
        facts = {"ranking": str(out), "plot": None if plot is None else str(plot)}
        asked = {"task": ranking.task, "score": ranking.score}
        found = {"answer": ranking.answer, "findings": ranking.findings, "table": rows}
        print_json(facts | asked | found)
        return
    table = ranking.groups
    scored = table[table["score"].notna()]
    rows = [_row(row) for row in scored.head(SHOWN).to_dict(orient="records")]
    header = ["rank", "operator", ranking.score, "interval", "rank interval", "p", "best set"]
    title = "best operators"
    if find_verdict(ranking).kind in {"no-effect", "untestable"}:  # the order may be noise
        title, header, rows = UNPROVEN, header[:-1], [row[:-1] for row in rows]
    if ranking.ranks_only:  # scores of a guided core-set are no effects
        header, rows = header[:2], [row[:2] for row in rows]
    print_table(f"{title}, task {ranking.task}", header, rows)
    if len(scored) > SHOWN:
        typer.echo(f"... and {len(scored) - SHOWN} more")
    for status, group in table[table["score"].isna()].groupby("status"):
        names = ", ".join(group["spi"])
        typer.echo(f"Without a score ({status}): {names}")
    for sentence in ranking.answer:
        typer.echo(f"- {sentence}")
    typer.echo(_used(ranking))
    typer.echo(f"Wrote {out}" + (f" and {plot}" if plot else ""))


def _used(ranking: Ranking) -> str:
    """Say who was asked, and who could not be."""
    from sclcs.core.errors import name_first

    question = ranking.provenance["question"]
    used = f"On {question['samples']} samples of {question['subjects']} subjects"
    unknown, left_out = question["unlabelled_samples"], question["left_out_subjects"]
    parts = [f"{unknown} samples have no known {ranking.task}"] if unknown else []
    if left_out:
        why = ["seen under one condition only"] if question["repeated"] else []
        why += ["a covariate is unknown"] if question["covariates"] else []
        parts.append(f"{len(left_out)} left out ({' or '.join(why)}): {name_first(left_out)}")
    return "; ".join([used, *parts]) + "."


def _p(p: float) -> str:
    if math.isnan(p):
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _row(facts: Mapping[Any, Any]) -> tuple[str, ...]:
    from sclcs.benchmark import entry_name

    known = not math.isnan(facts["low"])
    return (
        f"{facts['rank']:g}",
        entry_name(facts),
        f"{facts['score']:.4f}",
        f"{facts['low']:.4f} to {facts['high']:.4f}" if known else "",
        f"{facts['rank_low']:g} to {facts['rank_high']:g}" if known else "",
        _p(facts["p"]),
        "yes" if facts["best_set"] else "",
    )
