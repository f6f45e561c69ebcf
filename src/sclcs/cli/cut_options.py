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
    from sclcs.cohort.coverage import CoverageRule
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


class MixedTrChoice(StrEnum):
    """What to do with scans of different repetition times."""

    error = "error"
    keep = "keep"


@dataclass(frozen=True)
class CutOptions:
    """How scans become a cohort, and where it goes."""

    out: Annotated[Path, typer.Option(help="Folder of the new cohort.", rich_help_panel=PANEL)]
    length: Annotated[
        str, typer.Option(help="Time points per window, or seconds: 140s.", rich_help_panel=PANEL)
    ] = "70"
    stride: Annotated[
        str,
        typer.Option(
            help="Time points (or 70s) from one start to the next.", rich_help_panel=PANEL
        ),
    ] = "35"
    truncate: Annotated[
        str | None,
        typer.Option(
            help="Use exactly the first N time points (the paper: 210), or 420s.",
            rich_help_panel=PANEL,
        ),
    ] = None
    whole: Annotated[
        bool,
        typer.Option(
            "--whole", help="One sample per scan, of any length; no windows.", rich_help_panel=PANEL
        ),
    ] = False
    drop_first: Annotated[
        str, typer.Option(help="Time points (or 10s) to drop at the start.", rich_help_panel=PANEL)
    ] = "0"
    drop_regions: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave out regions: names or patterns with commas; repeatable.",
            rich_help_panel=PANEL,
        ),
    ] = None
    min_coverage: Annotated[
        float,
        typer.Option(
            help="A region a scan covers less of is missing there (0.5).", rich_help_panel=PANEL
        ),
    ] = 0.0
    max_missing_subjects: Annotated[
        str | None,
        typer.Option(
            help="Leave out regions that more subjects lack: 5%, or 3.", rich_help_panel=PANEL
        ),
    ] = None
    resample: Annotated[
        float | None,
        typer.Option(help="Bring all scans to this TR in seconds.", rich_help_panel=PANEL),
    ] = None
    mixed_tr: Annotated[
        MixedTrChoice, typer.Option(help="Scans of different TR.", rich_help_panel=PANEL)
    ] = MixedTrChoice.error
    max_fd: Annotated[
        float | None,
        typer.Option(
            help="Leave out scans whose mean_fd is above (0.5 mm) or unknown.",
            rich_help_panel=PANEL,
        ),
    ] = None
    zscore: Annotated[
        ZScoreChoice, typer.Option(help="Standardise each region over this.", rich_help_panel=PANEL)
    ] = ZScoreChoice.none
    on_bad: Annotated[
        OnBadChoice, typer.Option(help="Stop at bad scans, or drop them.", rich_help_panel=PANEL)
    ] = OnBadChoice.error

    def windowing(self) -> Windowing:
        """Return the windowing these options describe."""
        from sclcs.cohort.windows import Windowing, parse_extent

        truncate = None if self.truncate is None else parse_extent(self.truncate)
        first = parse_extent(self.drop_first)
        if self.whole:
            return Windowing(None, truncate=truncate, drop_first=first)
        return Windowing(parse_extent(self.length), parse_extent(self.stride), truncate, first)

    def coverage(self) -> CoverageRule:
        """Return which regions are left out for what the scans cover."""
        from sclcs.cohort.coverage import CoverageRule, parse_share

        most = self.max_missing_subjects
        return CoverageRule(self.min_coverage, None if most is None else parse_share(most))

    def write(self, scans: Scans) -> Cohort:
        """Choose regions, cut the scans and write the cohort."""
        from sclcs.cohort.regions import drop_regions
        from sclcs.core.files import refuse_existing

        windowing, coverage = self.windowing(), self.coverage()
        refuse_existing(self.out)
        if self.drop_regions:
            scans = drop_regions(scans, self.drop_regions)
        if self.max_fd is not None:
            from sclcs.cohort.facts.motion import without_motion

            scans = without_motion(scans, self.max_fd)
        if self.resample is not None:
            scans = scans.resample(self.resample)
        return coverage.apply(scans, windowing).cut(
            windowing,
            zscore=self.zscore.value,
            on_bad=self.on_bad.value,
            mixed_tr=self.mixed_tr.value,
            out=self.out,
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
