"""``sclcs rank``, ``compare`` and ``balance``: rankings, their agreement, who is in a core-set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs.cli.options import with_settings
from sclcs.cli.output import UNPROVEN, JsonFlag, print_json, print_table

if TYPE_CHECKING:
    from sclcs.cohort import Cohort
    from sclcs.stats import FCSource, Ranking


def open_matrices(path: Path) -> Cohort | FCSource:
    """Open an FC store or a cohort, whichever is there."""
    from sclcs._core import InputError
    from sclcs.cohort import Cohort
    from sclcs.run_folder import kind_of
    from sclcs.store import FCStore

    try:
        kind = kind_of(path)
    except InputError:
        kind = "cohort"  # opening it explains
    return FCStore.open(path) if kind == "fc-store" else Cohort.open(path)


SHOWN_ROWS = 20


@with_settings("RankSettings", "CardSettings")
def rank(
    source: Annotated[Path, typer.Argument(help="An FC store, or a cohort to compute first.")],
    *,
    out: Annotated[Path, typer.Option(help="The ranking: a new .csv file.")],
    coreset: Annotated[Path | None, typer.Option(help="Rank on these samples only.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the ranking: .png, .svg or .pdf.")
    ] = None,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Rank operators by how well they identify subjects, or are associated with labels or numbers.

    Example: `sclcs rank abide.zarr --task diagnosis --covariates site,mean_fd --out ranking.csv`
    """
    from sclcs._core import refuse_table
    from sclcs.cohort import CoreSet
    from sclcs.report import check_format
    from sclcs.stats import find_aims, find_target, make_card, rank as rank_operators

    criteria = settings.pop("criteria", None)
    refuse_table(out)
    card_path = out.with_name(f"{out.stem}-card.csv")
    if criteria is not None:
        refuse_table(card_path)
    if plot is not None:
        check_format(plot)
    matrices = open_matrices(source)
    core = None if coreset is None else CoreSet.open(coreset)
    kinds, asked = settings.get("treat_as"), criteria or ()
    if criteria is not None:  # a wrong name is an error before the work, not after it
        target = find_target(matrices.samples, settings.get("task", "subject"), kinds)
        find_aims(matrices.samples, target, asked, kinds)
    ranking = rank_operators(matrices, coreset=core, **settings)
    ranking.expect_scores()
    ranking.save(out)
    card = None
    if criteria is not None:
        jobs = settings.get("n_jobs", 1)
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
    from sclcs.report import draw_ranking, save_figure

    save_figure(draw_ranking(ranking), path)


def _announce(ranking: Ranking, out: Path, plot: Path | None, as_json: bool) -> None:
    from sclcs._core import plain
    from sclcs.stats import find_criterion, find_verdict

    warning = find_criterion(ranking.score).warning
    if warning:
        typer.echo(f"Note: the score {ranking.score} {warning}.", err=True)
    if as_json:
        hidden = ["score", "low", "high"] if ranking.ranks_only else []
        rows = plain(ranking.table.drop(columns=hidden).to_dict(orient="records"))
        files = {"ranking": str(out), "plot": None if plot is None else str(plot)}
        asked = {"task": ranking.task, "score": ranking.score}
        found = {"answer": ranking.answer, "findings": ranking.findings, "table": rows}
        print_json(files | asked | found)
        return
    table = ranking.groups
    scored = table[table["score"].notna()]
    rows = [_row(row) for row in scored.head(SHOWN_ROWS).to_dict(orient="records")]
    header = ["rank", "operator", ranking.score, "interval", "rank interval", "p", "best set"]
    title = "best operators"
    if find_verdict(ranking).kind in {"no-effect", "untestable"}:  # the order may be noise
        title, header, rows = UNPROVEN, header[:-1], [row[:-1] for row in rows]
    if ranking.ranks_only:  # scores are no effects there
        header, rows = header[:2], [row[:2] for row in rows]
    print_table(f"{title}, task {ranking.task}", header, rows)
    if len(scored) > SHOWN_ROWS:
        typer.echo(f"... and {len(scored) - SHOWN_ROWS} more")
    for status, group in table[table["score"].isna()].groupby("status"):
        names = ", ".join(group["spi"])
        typer.echo(f"Without a score ({status}): {names}")
    for sentence in ranking.answer:
        typer.echo(f"- {sentence}")
    typer.echo(_used(ranking))
    typer.echo(f"Wrote {out}" + (f" and {plot}" if plot else ""))


def _used(ranking: Ranking) -> str:
    """Say who was asked, and who could not be."""
    from sclcs._core import name_first

    question = ranking.provenance["question"]
    used = f"On {question['samples']} samples of {question['subjects']} subjects"
    unknown, left_out = question["unlabelled_samples"], question["left_out_subjects"]
    held = [f"{name}: {what}" for name, what in question["columns"].items()]
    parts = held + [f"{unknown} samples have no known {ranking.task}"] * bool(unknown)
    if left_out:
        why = ["seen under one condition only"] if question["repeated"] else []
        why += ["a covariate is unknown"] if question["covariates"] else []
        parts.append(f"{len(left_out)} left out ({' or '.join(why)}): {name_first(left_out)}")
    return "; ".join([used, *parts]) + "."


def _p(p: float) -> str:
    if math.isnan(p):
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _row(row: Mapping[Any, Any]) -> tuple[str, ...]:
    from sclcs.stats import entry_name

    known = not math.isnan(row["low"])
    return (
        f"{row['rank']:g}",
        entry_name(row),
        f"{row['score']:.4f}",
        f"{row['low']:.4f} to {row['high']:.4f}" if known else "",
        f"{row['rank_low']:g} to {row['rank_high']:g}" if known else "",
        _p(row["p"]),
        "yes" if row["best_set"] else "",
    )


def compare(
    reference: Annotated[Path, typer.Argument(help="The ranking on all samples, or a core-set.")],
    other: Annotated[Path, typer.Argument(help="The ranking on a core-set, or a core-set.")],
    *,
    gain: Annotated[
        str,
        typer.Option(help="What finding a good operator is worth.", metavar="minmax|raw|rank|exp"),
    ] = "minmax",
    k: Annotated[list[int] | None, typer.Option(help="Cut-off; may be repeated.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw rank against rank: .png, .svg or .pdf.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Say how well two rankings (nDCG, Kendall, Spearman, shared top operators) or core-sets agree.

    Example: `sclcs compare full.csv core_ranking.csv --plot agreement.png`
    """
    from sclcs._core import plain
    from sclcs.stats import Ranking, compare as measure

    found = measure(reference, other, k=tuple(k or (5, 10, 20)), gain=gain)  # type: ignore[arg-type]
    if plot is not None:
        from sclcs.report import draw_rank_rank, save_figure

        save_figure(draw_rank_rank(Ranking.open(reference), Ranking.open(other)), plot)
    if json:
        print_json(plain(found))
        return
    title = "core-sets"
    if "operators" in found:
        ranking = Ranking.open(reference)
        title = f"{int(found['operators'])} operators, task {ranking.task}, {ranking.score}"
    rows = [(name, f"{value:.4f}") for name, value in found.items() if name != "operators"]
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
    from sclcs._core import plain
    from sclcs.stats import balance as measure

    found = measure(cohort, coreset, label)
    if plot is not None:
        from sclcs.report import draw_balance, save_figure

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
