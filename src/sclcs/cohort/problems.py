"""Kinds of problems of scans and cohorts, and what is done about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from sclcs._core import InputError, UnreadableFileError, name_first

OnBad = Literal["error", "skip"]


@dataclass(frozen=True)
class Kind:
    """One kind of problem: what it means and what a user can do about it."""

    meaning: str
    advice: str
    fatal: bool = True


def _note(meaning: str, advice: str) -> Kind:
    return Kind(meaning, advice, fatal=False)


_SKIP = "drop them with --on-bad skip (on_bad='skip')"
_DROP = "--drop-regions NAMES, or --max-missing-subjects 5% for those that many lack"

KINDS: Mapping[str, Kind] = {
    "unreadable": Kind(
        "Files that cannot be read",
        f"fetch the file again, or {_SKIP}",
    ),
    "non-finite": Kind(
        "Scans with NaN or infinite values",
        f"leave regions out of all scans ({_DROP}), repair the extraction, or {_SKIP}",
    ),
    "constant-region": Kind(
        "Scans with a region that does not vary over time",
        f"leave regions out of all scans ({_DROP}), or {_SKIP}",
    ),
    "same-scan": Kind(
        "Scans that are equal, under different names",
        f"find out whose they are and leave the others out, or {_SKIP} (all of them)",
    ),
    "similar-scan": _note(
        "Scans so similar that they may be one",
        "find out whether it is one scan that was extracted twice",
    ),
    "index-region": Kind(
        "Scans with a region that only rises or only falls, like a counter of time",
        f"leave the column out ({_DROP}), or {_SKIP}",
    ),
    "equal-regions": Kind(
        "Scans in which two regions have the same signal",
        f"leave one of them out ({_DROP}), or {_SKIP}",
    ),
    "repeated-frames": Kind(
        "Scans with time points that repeat others in all regions (padding, copies)",
        f"cut them off (--truncate, --drop-first), or {_SKIP}",
    ),
    "spike": Kind(
        "Scans with values that no signal of its kind has",
        f"repair the extraction, leave the region out ({_DROP}), or {_SKIP}",
    ),
    "large-value": _note(
        "Scans with values far from the others",
        "look at them: motion or an artefact",
    ),
    "flat-stretch": _note(
        "Scans with a region that often keeps its value",
        "look at them: clipping, few digits or a gap that was filled",
    ),
    "lost-digits": _note(
        "Scans whose offset is so large that single precision keeps few digits of the signal",
        "subtract the mean of every region in double precision before saving, and import again",
    ),
    "implausible-tr": Kind(
        "Repetition times that are no seconds",
        "give it in seconds with --tr (tr=); 2000 is often milliseconds, 250 a rate in Hz",
    ),
    "too-short": Kind(
        "Scans with fewer time points than the windows need",
        f"choose a smaller --window or --truncate, or {_SKIP}",
    ),
    "region-count": Kind(
        "Scans with other regions than the rest",
        f"extract all scans with one atlas, or {_SKIP}",
    ),
    "duplicate-id": Kind(
        "Ids used by more than one scan",
        "give every scan its own id; none is dropped for you, as either could be the right one",
    ),
    "missing-label": Kind(
        "Scans without a row in the label table",
        f"add the rows, or {_SKIP}",
    ),
    "extra-label": _note(
        "Rows of the label table without a scan",
        "scans may be missing: check that all were processed",
    ),
    "mixed-column": Kind(
        "Columns in which some cells do not fit",
        "correct the cells, write n/a where nothing is known, or say what the column holds: "
        "--missing COLUMN=CELL,CELL (missing=), --levels COLUMN=CLASS,CLASS (levels=)",
    ),
    "class-or-missing": Kind(
        "Columns with None, which may be a class or mean that nothing is known",
        "say which: --levels COLUMN=None,OTHER (levels=) or --missing COLUMN=None (missing=)",
    ),
    "code-or-number": Kind(
        "Columns of numbers with one that may mean that nothing is known",
        "say which: --missing COLUMN=CODE (missing=), or --missing COLUMN= if it is a number",
    ),
    "vague-level": _note(
        "Classes whose name may mean that nothing is known",
        "if so, `sclcs cohort label COHORT --missing COLUMN=CLASS`",
    ),
    "high-motion": _note(
        "Scans left out because their head moved more than --max-fd allows",
        "raise --max-fd (max_fd=) to keep them",
    ),
    "single-window": _note(
        "Subjects with one sample only (no positive pair for fingerprinting or the encoder)",
        "use shorter windows or a smaller stride, or leave these subjects out",
    ),
    "single-member-class": _note(
        "Classes with one subject only (no within-class pair)",
        "leave the class out when ranking by this label",
    ),
    "missing-value": _note(
        "Label columns with missing values",
        "complete the table, or leave these samples out when ranking by this label",
    ),
    "small-class": _note(
        "Classes with fewer than ten subjects",
        "expect wide intervals, or join classes",
    ),
    "unequal-classes": _note(
        "Labels with a class more than three times as large as another",
        "scores count classes alike, but the small class decides how sure they are",
    ),
    "goes-with-site": _note(
        "Labels that go with the site",
        "take the site out with --covariates site, or compare inside sites with --within site",
    ),
    "goes-with-motion": _note(
        "Labels that go with head motion",
        "take it out with --covariates and the name of the column",
    ),
    "goes-with-length": _note(
        "Labels that go with the length, the repetition time or the number of scans",
        "import equally long scans (--truncate, --resample)",
    ),
    "goes-with-column": _note(
        "Labels that go with another column",
        "take it out with --covariates and its name if it is not another measure of the same",
    ),
    "same-as-column": _note(
        "Labels that another column says as well",
        "no analysis of these subjects can tell the two apart",
    ),
    "acts-as-site": _note(
        "Columns whose groups have scans alike, as sites have",
        "name it with --within, or take it out with --covariates",
    ),
    "mixed-tr": _note(
        "Repetition times that differ between subjects",
        "windows of equal length then last unequally long; take the site out, or resample",
    ),
    "number-as-label": _note(
        "Columns of text that hold many different numbers and would be taken for labels",
        "write plain numbers into them, and rank them as a quantity",
    ),
    "damaged": Kind(
        "Stored data that do not match their checksum or fingerprint",
        "make the store again from its source",
    ),
}


#: What no scan can be dropped for: which of them is right is not known.
NEVER_SKIPPED = {"duplicate-id", "mixed-column", "class-or-missing", "code-or-number"}


@dataclass(frozen=True)
class Problem:
    """One offender and what is wrong with it.

    Parameters
    ----------
    kind : str
        What is wrong, for example ``constant-region``.
    where : str
        The scan, subject, file or class.
    detail : str
        What was found.
    """

    kind: str
    where: str
    detail: str

    @property
    def fatal(self) -> bool:
        """Whether the cohort cannot be used as it is."""
        return KINDS[self.kind].fatal

    def __str__(self) -> str:
        return f"{self.where} ({self.detail})" if self.detail else self.where

    def to_dict(self) -> dict[str, str]:
        """Return the problem as plain strings, for provenance and JSON."""
        return asdict(self)


def explain(problems: Iterable[Problem]) -> str:
    """Say in one sentence per kind how many offenders there are, who, and what to do."""
    grouped: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        grouped[problem.kind].append(problem)
    return " ".join(_sentence(kind, group) for kind, group in grouped.items())


def _sentence(kind: str, group: Sequence[Problem]) -> str:
    found = KINDS[kind]
    return f"{found.meaning} ({len(group)}): {name_first(group)}; {found.advice}."


def raise_for(problems: Sequence[Problem]) -> None:
    """Raise one error for all fatal problems, if there are any."""
    fatal = [problem for problem in problems if problem.fatal]
    if not fatal:
        return
    unreadable = {"unreadable", "damaged"}.issuperset(p.kind for p in fatal)
    error = UnreadableFileError if unreadable else InputError
    raise error(explain(fatal))
