"""What the pictures share: colours that colour-blind readers can tell apart, and small helpers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sclcs.core.errors import InputError
from sclcs.core.files import explain_write_errors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "FAINT",
    "FORMATS",
    "INK",
    "MUTED",
    "ORANGE",
    "check_format",
    "finish",
    "save_figure",
    "shorten",
]

# Blue and orange differ for every kind of colour blindness, and in grey.
INK, MUTED, FAINT, BLUE, ORANGE = "#1b1f24", "#6b7280", "#e5e7eb", "#2563a8", "#d97706"
FORMATS = {".png", ".svg", ".pdf"}


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: int = 150) -> Path:
    """Save a picture as .png, .svg or .pdf."""
    path = Path(path)
    check_format(path)
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=dpi)
    return path


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuse a file name that is not a picture's, before any work is done."""
    if Path(path).suffix not in FORMATS:
        raise InputError(
            f"A picture is saved as {', '.join(sorted(FORMATS))}, got {Path(path).name!r}."
        )


def finish(axes: Axes, title: str, x: str = "", y: str = "") -> None:
    """Give axes the house's title, labels and ticks."""
    axes.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold")
    axes.set_xlabel(x, color=MUTED, fontsize=9)
    axes.set_ylabel(y, color=MUTED, fontsize=9)
    axes.tick_params(colors=MUTED, labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)


def shorten(name: str, length: int = 44) -> str:
    """Shorten a long operator name in the middle, where the parameters are alike."""
    if len(name) <= length:
        return name
    tail = length // 2 - 1
    return f"{name[: length - tail - 1]}…{name[-tail:]}"
