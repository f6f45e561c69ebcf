"""Options that every import command shares, declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from sclcs.cohort.cohort import Cohort
    from sclcs.cohort.scans import Scans
    from sclcs.cohort.windows import Windowing

PANEL = "From scans to samples"

__all__ = ["CutOptions", "OnBadChoice", "ZScoreChoice", "with_cut_options"]


class OnBadChoice(StrEnum):
    """What to do with bad scans."""

    error = "error"
    skip = "skip"


class ZScoreChoice(StrEnum):
    """Over what each region is standardised."""

    none = "none"
    scan = "scan"
    window = "window"


@dataclass(frozen=True)
class CutOptions:
    """How scans become a cohort, and where it goes."""

    out: Annotated[Path, typer.Option(help="Folder of the new cohort.", rich_help_panel=PANEL)]
    length: Annotated[int, typer.Option(help="Time points per window.", rich_help_panel=PANEL)] = 70
    stride: Annotated[
        int, typer.Option(help="Time points from one start to the next.", rich_help_panel=PANEL)
    ] = 35
    truncate: Annotated[
        int | None,
        typer.Option(
            help="Use exactly the first N time points (the paper: 210).", rich_help_panel=PANEL
        ),
    ] = None
    whole: Annotated[
        bool,
        typer.Option("--whole", help="One sample per scan, no windows.", rich_help_panel=PANEL),
    ] = False
    drop_first: Annotated[
        int, typer.Option(help="Time points to drop at the start.", rich_help_panel=PANEL)
    ] = 0
    zscore: Annotated[
        ZScoreChoice, typer.Option(help="Standardise each region over this.", rich_help_panel=PANEL)
    ] = ZScoreChoice.none
    on_bad: Annotated[
        OnBadChoice, typer.Option(help="Stop at bad scans, or drop them.", rich_help_panel=PANEL)
    ] = OnBadChoice.error

    def windowing(self) -> Windowing:
        """Return the windowing these options describe."""
        from sclcs.cohort.windows import Windowing

        if self.whole:
            return Windowing(None, truncate=self.truncate, drop_first=self.drop_first)
        return Windowing(self.length, self.stride, self.truncate, self.drop_first)

    def write(self, scans: Scans) -> Cohort:
        """Cut the scans and write the cohort."""
        return scans.cut(
            self.windowing(), zscore=self.zscore.value, on_bad=self.on_bad.value, out=self.out
        )


def with_cut_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`CutOptions`; it receives them as ``cut``."""
    hints = get_type_hints(CutOptions, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default if field.name != "out" else inspect.Parameter.empty,
            annotation=hints[field.name],
        )
        for field in fields(CutOptions)
    ]
    own = get_type_hints(command, include_extras=True)
    parameters = [
        parameter.replace(annotation=own[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "cut"
    ]

    @wraps(command)
    def wrapped(**options: Any) -> None:  # noqa: ANN401
        cut = CutOptions(**{field.name: options.pop(field.name) for field in fields(CutOptions)})
        command(cut=cut, **options)

    wrapped.__signature__ = inspect.Signature([*parameters, *shared])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in [*parameters, *shared]}
    return wrapped
