"""Tables for people: the same cells in Markdown and in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

__all__ = ["Table", "beside", "number", "spread"]

MISSING = "–"
_LATEX = {
    "\\": r"\textbackslash{}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "±": r"$\pm$",
    "–": "--",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "²": r"$^2$",
    "→": r"$\rightarrow$",
}


@dataclass(frozen=True)
class Table:
    """A table with what it shows.

    Parameters
    ----------
    name : str
        Short name, unique within an experiment.
    caption : str
        One or two sentences; how to read a cell.
    header : sequence of str
    rows : sequence of sequence of str
    """

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table in Markdown, caption first."""
        lines = ["| " + " | ".join(self.header) + " |", "|" + "---|" * len(self.header)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return f"{self.caption}\n\n" + "\n".join(lines) + "\n"

    def latex(self) -> str:
        """Return the table in LaTeX (needs booktabs)."""
        columns = "l" + "r" * (len(self.header) - 1)
        body = [" & ".join(_escape(cell) for cell in row) + r" \\" for row in self.rows]
        return "\n".join(
            [
                r"\begin{table}[ht]",
                r"\centering\small",
                rf"\caption{{{_escape(self.caption)}}}",
                rf"\label{{tab:sclcs-{self.name}}}",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                " & ".join(_escape(cell) for cell in self.header) + r" \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


def _escape(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text.replace("`", ""))


def number(value: float, digits: int = 1) -> str:
    """Return a number with so many digits after the point, or a dash."""
    return MISSING if pd.isna(value) else f"{value:.{digits}f}"


def spread(mean: float, std: float, worst: float | None = None, digits: int = 1) -> str:
    """Return ``mean ±std (worst)``; parts that are not known are left out."""
    if pd.isna(mean):
        return MISSING
    text = number(mean, digits)
    if not pd.isna(std):
        text += f" ±{number(std, digits)}"
    if worst is not None and not pd.isna(worst):
        text += f" ({number(worst, digits)})"
    return text


def beside(ours: str, paper: str) -> str:
    """Return our cell and the paper's."""
    return ours if paper == MISSING else f"{ours} / {paper}"
