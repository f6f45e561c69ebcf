"""One scan in a text file: csv, tsv, txt or C-PAC .1D, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from sclcs._core import UnreadableFileError, name_first, open_gzip, regular_file

__all__ = ["TextLayout", "load_text_matrix", "peek_text_matrix", "plain_suffix", "row_labels"]

_MISSING = frozenset({"", "n/a", "na", "nan"})
# Header and comment lines are expected among the first lines only.
_PEEKED_LINES = 50


@dataclass(frozen=True)
class TextLayout:
    """How the numbers are laid out in a text file.

    `n_skipped`: lines before the first row of numbers: comments and the header; `names`: names of
    the columns, if there is a header; `delimiter`: what separates cells; None is any white space;
    `index_column`: whether the first column numbers the rows (pandas writes one, under an empty
    name); `label_column`: whether the first column names the rows: they are regions then, and
    columns time points.
    """

    n_skipped: int
    n_columns: int
    names: tuple[str, ...] | None
    delimiter: str | None
    index_column: bool = False
    label_column: bool = False


def plain_suffix(path: Path) -> str:
    """Return the ending of a file in lower case, without ``.gz``: ``.tsv`` of ``a.tsv.gz``."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """Open a text file, plain or compressed; bytes that are no text are an error that says so."""
    regular_file(path, "a file of numbers")
    try:
        if path.name.lower().endswith(".gz"):
            with open_gzip(path) as stream:
                yield stream
        else:
            with path.open(encoding="utf-8-sig") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise _not_text(path) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UnreadableFileError(
            f"Expected text compressed with gzip in {path}, but it is cut off or damaged "
            f"({error}); fetch it again."
        ) from error


def peek_text_matrix(path: Path) -> TextLayout:
    """Find out how a text file is laid out from its first lines.

    A header is a line that starts with ``#`` and has as many cells as the numbers below
    (C-PAC), a first line with a cell that is not a number, or one that counts 0, 1, 2, ...
    or 1, 2, 3, ... (pandas). Other lines that start with ``#`` are comments.
    """
    with _opened(path) as stream:
        lines = list(islice(stream, _PEEKED_LINES))
    n_comments = next((i for i, line in enumerate(lines) if not _is_comment(line)), len(lines))
    if n_comments == len(lines):
        raise UnreadableFileError(
            f"Expected rows of numbers in {path}, found none; fetch or extract it again."
        )
    first = lines[n_comments].rstrip("\r\n")
    delimiter = _delimiter(path, first)
    cells = _split(first, delimiter)
    below = next((line for line in lines[n_comments + 1 :] if line.strip()), first)
    if _is_labelled(_split(below.rstrip("\r\n"), delimiter)):
        headed = not _is_labelled(cells) or _is_header(cells[1:])
        return TextLayout(n_comments + headed, len(cells) - 1, None, delimiter, label_column=True)
    if _is_header(cells):
        index_column = cells[0] == "" and len(cells) > 1
        names = tuple(cells[1:] if index_column else cells)
        return TextLayout(n_comments + 1, len(names), names, delimiter, index_column)
    names_above = _comment_header(lines[:n_comments], delimiter, len(cells))
    return TextLayout(n_comments, len(cells), names_above, delimiter)


def load_text_matrix(path: Path, layout: TextLayout) -> NDArray[np.float64]:
    """Load the numbers of a text file; empty cells and n/a become NaN."""
    lines = _lines(path, layout)
    if layout.label_column:
        lines = [_split_label(line, layout.delimiter)[1] for line in lines]
    try:
        matrix = np.loadtxt(lines, delimiter=layout.delimiter, comments=None, ndmin=2)
    except ValueError:  # an empty cell, n/a, or damage: look at every cell
        matrix = _parse_cells(path, lines, layout)
    matrix = matrix[:, 1:] if layout.index_column else matrix
    if matrix.shape[1] != layout.n_columns:
        raise _ragged(path, layout.n_columns, [f"{matrix.shape[1]} in all rows of numbers"])
    return matrix


def row_labels(path: Path, layout: TextLayout) -> tuple[str, ...]:
    """Return the names of the rows of a file with a label column; each must be there once."""
    names = tuple(_split_label(line, layout.delimiter)[0] for line in _lines(path, layout))
    repeated = sorted({name for name in names if names.count(name) > 1 or not name})
    if repeated:
        raise UnreadableFileError(
            f"Expected the name of one region at the beginning of each row of {path}; empty or "
            f"repeated: {name_first(repeated)}; correct the file."
        )
    return names


def _lines(path: Path, layout: TextLayout) -> list[str]:
    with _opened(path) as stream:
        lines = [line for line in islice(stream, layout.n_skipped, None) if line.strip()]
    if not lines:
        raise UnreadableFileError(
            f"Expected rows of numbers below the header of {path}, found none; extract it again."
        )
    return lines


def _split_label(line: str, delimiter: str | None) -> tuple[str, str]:
    label, *rest = line.strip().split(delimiter, 1)
    return label.strip().strip('"'), rest[0] if rest else ""


def _is_labelled(cells: Sequence[str]) -> bool:
    """Tell whether a line is a name followed by numbers; a header has names only."""
    if len(cells) < 3 or _is_number(cells[0]) or cells[0] == "" or cells[0].startswith("#"):
        return False
    return all(_is_number(cell) or cell == "" for cell in cells[1:])


def _parse_cells(path: Path, lines: Sequence[str], layout: TextLayout) -> NDArray[np.float64]:
    rows = [_split(line.rstrip("\r\n"), layout.delimiter) for line in lines]
    width = layout.n_columns + layout.index_column
    ragged = [
        f"{len(row)} in line {number}"
        for number, row in enumerate(rows, start=layout.n_skipped + 1)
        if len(row) != width
    ]
    if ragged:
        raise _ragged(path, width, ragged)
    try:
        return np.array([[_number(cell) for cell in row] for row in rows], dtype=np.float64)
    except ValueError as error:
        raise UnreadableFileError(
            f"Expected numbers only below the header of {path} ({error}); extract it again."
        ) from error


def _ragged(path: Path, width: int, found: Sequence[str]) -> UnreadableFileError:
    return UnreadableFileError(
        f"Expected {width} columns in every row of {path}, found {name_first(found)}; the file is "
        "cut off or of another format."
    )


def _not_text(path: Path) -> UnreadableFileError:
    return UnreadableFileError(f"Expected text in {path}, found binary data; check the format.")


def _is_comment(line: str) -> bool:
    return line.startswith("#") or not line.strip()


def _delimiter(path: Path, line: str) -> str | None:
    if plain_suffix(path) == ".tsv" or "\t" in line.strip():
        return "\t"
    if plain_suffix(path) == ".csv" or "," in line:
        return ";" if ";" in line and "," not in line else ","
    return None


def _split(line: str, delimiter: str | None) -> list[str]:
    # C-PAC ends some rows with a tab; it separates nothing.
    text = line.rstrip("\t ") if delimiter == "\t" else line
    return [cell.strip().strip('"') for cell in text.split(delimiter)]


def _is_header(cells: Sequence[str]) -> bool:
    if not all(_is_number(cell) for cell in cells):
        return True
    if len(cells) < 3 or not all(cell.isdigit() for cell in cells):
        return False
    return [int(cell) for cell in cells] in ([*range(len(cells))], [*range(1, len(cells) + 1)])


def _comment_header(
    comments: Iterable[str], delimiter: str | None, n_columns: int
) -> tuple[str, ...] | None:
    for line in reversed(list(comments)):
        for separator in (delimiter, None):
            cells = _split(line.strip(), separator)
            names = tuple(cell.lstrip("#").strip() for cell in cells)
            if len(names) == n_columns and all(names):
                return names
    return None


def _number(cell: str) -> float:
    """Read a number; Python would take 1_234 for one, which no other program does."""
    if "_" in cell:
        raise ValueError(f"could not convert string to float: {cell!r}")
    return float("nan") if cell.lower() in _MISSING else float(cell)


def _is_number(cell: str) -> bool:
    try:
        _number(cell or "?")  # an empty first cell is pandas' header over its index
    except ValueError:
        return False
    return True
