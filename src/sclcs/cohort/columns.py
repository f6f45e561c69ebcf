"""The contract of a column of labels: what it holds, what it writes for "not known", its levels.

One odd cell never changes what a column is. Cells that do not fit are named and asked about;
codes for "not known" and spellings that differ by case become what they mean, with a note.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sclcs._core import CLASS_NUMBERS, InputError, UnknownNameError, did_you_mean, name_first
from sclcs.cohort.problems import Problem

if TYPE_CHECKING:
    from sclcs.cohort.scans import Scans


MAX_CLASSES = 30
NEVER_QUANTITIES = ("site", "scanner", "session")  # whatever code people give them

#: What always means "not known": BIDS says n/a, Stata and SPSS a dot, REST-meta-MDD [].
_MISSING = frozenset({"", "n/a", "na", "nan", "null", "[]", ".", "#n/a", "<na>", "n.a.", "nat"})
#: What may be a class of that name, or mean "not known".
_NONE = "none"
_VAGUE = frozenset({"unknown", "unk", "missing", "?", "-", "not known", "not available", "nil"})
#: Codes for "not known" among numbers, where they stand outside the range of the others.
_CODES = frozenset(
    [
        -9,
        *(
            sign * int(digit * count)
            for sign in (1, -1)
            for digit in "789"
            for count in range(2, 6)
        ),
    ]
)
_TWO_DIGITS = 100

_INTEGER = re.compile(r"[+-]?(0|[1-9]\d{0,17})", re.ASCII)
_FLOAT = re.compile(r"[+-]?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: Numbers as other programs write them: 12,5 and 1_234 and 1 234.
_FOREIGN = re.compile(r"[+-]?(\d+,\d+|\d{1,3}([_' ]\d{3})+)(\.\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{4}")
_UNIT = re.compile(r"_(years?|yrs?|months?|days?|mm|cm|kg|sec|seconds|ms|hz|mg|percent)$")
_ID = re.compile(r"(^|_)(id|guid|code|number|nr)$")
ID_FROM = 1000  # whole numbers from here on, all different, may be ids


@dataclass(frozen=True)
class ColumnRules:
    """What is said of columns: by the user, or by ``participants.json``."""

    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the classes, as written
    #: What else means "not known"; an empty list says that no number does.
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    asked: Sequence[str] = ()  # columns that the user named, which must be there

    @classmethod
    def of(
        cls,
        levels: Sequence[str] = (),
        missing: Sequence[str] = (),
        sidecar: Mapping[str, Any] | None = None,
    ) -> ColumnRules:
        """Read ``["group=HC", "None"]``, where None is of group too, and a sidecar."""
        said = {name: entry for name, entry in (sidecar or {}).items() if isinstance(entry, dict)}
        listed = {
            name: [str(level) for level in entry["Levels"]]
            for name, entry in said.items()
            if isinstance(entry.get("Levels"), dict | list)
        }
        units = {name: str(entry["Units"]) for name, entry in said.items() if entry.get("Units")}
        classes, codes = _assigned(levels, "levels"), _assigned(missing, "missing")
        return cls({**listed, **classes}, codes, units, [*classes, *codes])

    def check(self, columns: Sequence[str]) -> None:
        """Raise if something was said of a column that is not there."""
        for name in self.asked:
            if name not in columns:
                raise UnknownNameError(
                    f"There is no column {name!r}; known are {name_first(columns, 20)}."
                    f"{did_you_mean(name, columns)}"
                )


def _assigned(words: Sequence[str], option: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for word in words:
        column, equals, value = word.rpartition("=")
        name = column.strip() if equals else name
        if not name:
            raise InputError(f"Expected --{option} COLUMN=VALUE,VALUE, got {word!r}.")
        found.setdefault(name, []).extend(filter(None, [value.strip()]))
    return found


def plain_values(cells: Sequence[str], levels: Sequence[str] = ()) -> list[Any]:
    """Turn cells of a file into numbers if all are, and what is not known into None."""
    known = [_known(cell.strip(), levels) for cell in cells]
    filled = [cell for cell in known if cell is not None and cell.lower() != _NONE]
    convert = int if all(_INTEGER.fullmatch(cell) for cell in filled) else float
    if not filled or not all(map(_is_plain, filled)):
        return list(known)
    return [None if cell is None or cell.lower() == _NONE else convert(cell) for cell in known]


def _known(cell: str, levels: Sequence[str]) -> str | None:
    return None if cell.lower() in _MISSING and cell not in levels else cell


def _is_plain(cell: str) -> bool:
    return bool(_FLOAT.fullmatch(cell)) and math.isfinite(float(cell))


def read_columns(
    table: Mapping[str, Sequence[Any]], rules: ColumnRules | None = None
) -> tuple[dict[str, list[Any]], dict[str, dict[str, Any]], list[Problem]]:
    """Say what every column of a table holds: its values, profiles and problems.

    Values are numbers, or strings with one spelling per class; None where nothing is known. A
    profile has a ``kind`` (classes, number, "number or classes", id, date, text), ``unknown``
    (rows), and where there are any ``unit``, ``missing`` (codes and how often), ``levels``,
    ``notes``. Problems are cells that do not fit, and what has to be asked.
    """
    rules = rules or ColumnRules()
    rules.check(list(table))
    values, profiles, problems = {}, {}, []
    for name, column in table.items():
        one = _Column(name, [_plain(value) for value in column], rules)
        values[name], profiles[name] = one.cells, one.profile()
        problems += one.problems
    return values, profiles, problems


def with_columns(scans: Scans, levels: Sequence[str] = (), missing: Sequence[str] = ()) -> Scans:
    """Return scans whose labels are what they mean, see :func:`read_columns`.

    What does not fit is among the problems, what the columns hold in the provenance.
    """
    names = dict.fromkeys(name for scan in scans for name in scan.metadata)
    table = {name: [scan.metadata.get(name) for scan in scans] for name in names}
    sidecar = scans.provenance.get("labels", {}).get("sidecar", {})
    rules = ColumnRules.of(levels, missing, sidecar)
    values, profiles, problems = read_columns(table, rules)
    read = [
        replace(scan, metadata={name: values[name][row] for name in scan.metadata})
        for row, scan in enumerate(scans)
    ]
    provenance = {**scans.provenance, "columns": profiles} if profiles else scans.provenance
    return scans.with_scans(read, provenance=provenance, problems=[*scans.problems, *problems])


def unclear(column: pd.Series) -> str:
    """Say which values of a column of a cohort do not fit; empty if all do.

    A cohort that was imported has been asked about None and about single codes.
    """
    name = str(column.name)
    _, profiles, problems = read_columns({name: column.tolist()})
    found = [problem.detail for problem in problems if problem.kind == "mixed-column"]
    notes = profiles[name].get("notes", [])
    return "; ".join([*found, *(notes[:-1] if "vague" in profiles[name] else notes)])


def vague_levels(column: pd.Series) -> list[str]:
    """Return the classes of a column whose names may mean that nothing is known."""
    name = str(column.name)
    return list(read_columns({name: column.tolist()})[1][name].get("vague", ()))


def as_days(column: pd.Series) -> pd.Series | None:
    """Return dates as days; None if a column does not hold dates."""
    dates = column.dropna().astype(str)
    if not len(dates) or not dates.map(lambda text: bool(_DATE.fullmatch(text))).all():
        return None
    day_first = not dates.str.match(r"\d{4}").all()
    days = pd.to_datetime(column, errors="coerce", dayfirst=day_first, format="mixed", utc=True)
    return (days - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)


def _plain(value: object) -> Any:  # noqa: ANN401
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NaT:
        return None
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value).strip()


class _Column:
    """One column while it is read."""

    def __init__(self, name: str, values: list[Any], rules: ColumnRules) -> None:
        self.name = name
        self.levels = list(rules.levels.get(name, ()))
        self.unit = rules.units.get(name)
        self.codes = rules.missing.get(name)
        self.notes: list[str] = []
        self.vague: list[str] = []
        self.missing: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.cells = [self._without_codes(value) for value in values]
        if self.codes:  # without them a column of a file may be numbers
            strings = [value if isinstance(value, str) else "" for value in self.cells]
            if all(strings[row] or value is None for row, value in enumerate(self.cells)):
                self.cells = plain_values(strings, self.levels)
        known = [value for value in self.cells if value is not None]
        self.numeric = bool(known) and all(_is_number(value) for value in known)
        if self.numeric:
            self._read_numbers()
        elif known and not all(isinstance(value, bool) for value in known):
            self._read_strings()

    def _without_codes(self, value: Any) -> Any:  # noqa: ANN401
        text = f"{value:g}" if isinstance(value, float) else str(value)
        said = self.codes is not None and (text in self.codes or str(value) in self.codes)
        empty = isinstance(value, str) and _known(value, self.levels) is None
        if said or empty:
            self.missing[text] += 1
            return None
        return value

    def _ask(self, kind: str, detail: str) -> None:
        self.problems.append(Problem(kind, self.name, detail))

    def _read_numbers(self) -> None:
        endless = [value for value in self.cells if isinstance(value, float) and math.isinf(value)]
        if endless:
            self._ask("mixed-column", f"numbers without end: {_counted(endless)}")
            return
        if self.codes is not None:
            return
        found = Counter(value for value in self.cells if value in _CODES)
        rest = sorted({value for value in self.cells if value is not None} - set(found))
        if len(rest) < 2:
            return
        span = rest[-1] - rest[0]
        for code, count in found.items():
            gap = max(rest[0] - code, code - rest[-1])
            if not (gap > span / 2 or (code < 0 <= rest[0])):
                continue
            inside = f"the others lie between {rest[0]:g} and {rest[-1]:g}"
            if 0 < code < _TWO_DIGITS:
                self._ask("code-or-number", f"{code:g} in {_rows(count)}, {inside}")
                continue
            self.missing[f"{code:g}"] += count
            self.notes.append(f"{code:g} means not known ({_rows(count)}; {inside})")
            self.cells = [None if value == code else value for value in self.cells]

    def _read_strings(self) -> None:
        known = [str(value) for value in self.cells if value is not None]
        if self.levels or self.name in NEVER_QUANTITIES:
            numbers = []
        else:
            numbers = [cell for cell in known if _is_plain(cell)]
        odd = [cell for cell in known if not _is_plain(cell)]
        foreign = [cell for cell in odd if _FOREIGN.fullmatch(cell)]
        padded = [cell for cell in odd if cell.isdigit()]
        if numbers and padded and {cell.lstrip("0") or "0" for cell in padded} & set(numbers):
            self._ask("mixed-column", f"the same number with and without zeros: {_counted(padded)}")
        elif len(foreign) * 2 > len(known) or (numbers and foreign):
            self._ask("mixed-column", f"numbers that no program reads alike: {_counted(foreign)}")
        elif len(numbers) * 2 > len(known) and len(padded) < len(odd) and not _ids(numbers):
            strange = [cell for cell in odd if not cell.isdigit()]
            self._ask("mixed-column", f"{_rows(len(numbers))} of numbers, but {_counted(strange)}")
        if self._few_levels(known):
            self._merge_spellings()

    def _few_levels(self, known: Sequence[str]) -> bool:
        return len({_spelling(cell) for cell in known}) <= min(MAX_CLASSES, max(2, len(known) / 2))

    def _merge_spellings(self) -> None:
        counts = Counter(str(value) for value in self.cells if value is not None)
        usual: dict[str, str] = {}
        for cell in sorted(counts, key=lambda cell: (cell not in self.levels, -counts[cell], cell)):
            usual.setdefault(_spelling(cell), cell)
        merged = {
            cell: usual[_spelling(cell)]
            for cell in counts
            if usual[_spelling(cell)] != cell and cell not in self.levels
        }
        self.cells = [
            value if value is None else merged.get(str(value), str(value)) for value in self.cells
        ]
        if merged:
            spelled = ", ".join(f"{cell} is {level}" for cell, level in sorted(merged.items()))
            self.notes.append(f"spellings of one class: {spelled}")
        for cell, level in usual.items():
            if cell == _NONE and level not in self.levels:
                self._ask("class-or-missing", f"{level} in {_rows(counts[level])}")
            elif cell in _VAGUE and level not in self.levels:
                self.vague.append(level)
        strange = set(usual.values()) - set(self.levels) if self.levels else ()
        if strange:
            self.notes.append(
                f"not among the levels that were listed: {name_first(sorted(strange))}"
            )

    def profile(self) -> dict[str, Any]:
        """Return what the column holds; see :func:`read_columns`."""
        known = [value for value in self.cells if value is not None]
        counts = Counter(map(_level, known))
        kind = self._kind(known, counts)
        unit = self.unit or (m.group(1) if (m := _UNIT.search(self.name)) else None)
        found: dict[str, Any] = {"kind": kind, "unknown": len(self.cells) - len(known)}
        if unit and kind.startswith("number"):
            found["unit"] = unit
        if kind.startswith("number"):
            found["range"] = [min(known), max(known)]
        if kind.endswith("classes"):
            found["levels"] = dict(sorted(counts.items()))
        if self.missing:
            found["missing"] = dict(self.missing)
        if self.vague:
            self.notes.append(f"{name_first(self.vague)}: a class, unless --missing says otherwise")
            found["vague"] = self.vague
        if self.notes:
            found["notes"] = self.notes
        return found

    def _kind(self, known: Sequence[Any], counts: Counter[str]) -> str:
        several = len(known) > 1 and len(counts) == len(known)
        if self.numeric:
            whole = all(value == int(value) for value in known if math.isfinite(value))
            if len(counts) <= 2 or self.name in NEVER_QUANTITIES:
                return "classes"
            if several and whole and _ID.search(self.name) and min(known) >= ID_FROM:
                return "id"
            return "number" if len(counts) > CLASS_NUMBERS or not whole else "number or classes"
        if known and all(_DATE.fullmatch(str(value)) for value in known):
            return "date"
        settled = self.levels or self.name in NEVER_QUANTITIES
        if not known or settled or self._few_levels(list(map(str, known))):
            return "classes"
        return "id" if several else "text"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _level(value: object) -> str:
    """Write a class as a ranking does: a code that a missing value made a decimal is whole."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _spelling(cell: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", cell).casefold().split())


def _ids(numbers: Sequence[str]) -> bool:
    """Say whether numbers look like ids: whole, large, all different."""
    whole = all(_INTEGER.fullmatch(cell) and int(cell) >= ID_FROM for cell in numbers)
    return whole and len(set(numbers)) == len(numbers)


def _counted(cells: Sequence[object]) -> str:
    return name_first([f"{cell!r} ({count})" for cell, count in Counter(cells).most_common()])


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
