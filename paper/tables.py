"""Tables: the paper's own numbers, and ours in Markdown and in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

import pandas as pd

from sclcs._core import UnknownNameError

PUBLISHED = Path(__file__).parent / "published"
#: The files of ``published/``, transcribed from the paper, and what they hold.
TABLES = {
    "table2": "the two main tables (fingerprinting, MDD diagnosis), nDCG in percent",
    "table7": "the two tables of the appendix on labels, nDCG in percent",
    "table9": "the table of slow-only and mixture operators, nDCG from 0 to 1",
    "table11": "the table of windows 50/45, nDCG from 0 to 1",
    "table10": "the table of site balance, L1 distance",
    "table4": "the table of Theorem 2, mean squared errors",
    "table6": "the table of the cost of selection methods, seconds",
    "operator_times": "the time bins of 266 operators in the text of the appendix on cost",
    "sites": "the summary of the cohort by site",
}


def paper_table(name: str) -> pd.DataFrame:
    """Read one of the paper's tables.

    Parameters
    ----------
    name : str
        A key of :data:`TABLES`.

    Examples
    --------
    >>> len(paper_table("table2"))
    216
    """
    if name not in TABLES:
        raise UnknownNameError(f"Unknown table {name!r}; the known ones are {', '.join(TABLES)}.")
    return pd.read_csv(PUBLISHED / f"{name}.csv")


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

    def text(self) -> str:
        """Return the table for a terminal."""
        lines = [list(self.header), *map(list, self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        rule = "─" * max(map(len, shown))
        return "\n".join([*wrap(self.caption, 100), "", shown[0], rule, *shown[1:], ""])

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
