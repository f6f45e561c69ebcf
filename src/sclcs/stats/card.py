"""The criteria card: what the best operator for a question costs elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    ALPHA,
    InputError,
    UnreadableFileError,
    plain,
    read_sidecar,
    require_existing,
    write_with_sidecar,
)
from sclcs.cohort import Cohort, CoreSet, label_column
from sclcs.stats.criteria import find_criterion
from sclcs.stats.evaluation import Evaluation, Inquiry, Measure, evaluate
from sclcs.stats.question import Question, make_question
from sclcs.stats.ranking_table import Ranking
from sclcs.stats.sources import FCSource, as_source
from sclcs.stats.targets import Covariates, Target, TreatAs, find_target
from sclcs.stats.verdict import entry_name

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "MOTION_COLUMNS",
    "Aim",
    "Card",
    "card_inquiries",
    "find_aims",
    "make_card",
    "motion_column",
    "pareto_front",
]


MOTION_COLUMNS = ("mean_fd", "motion")
SITE = "site"
NONE = "none"
WORDS = {"wanted": True, "unwanted": False}


@dataclass(frozen=True)
class Aim:
    """One more thing that an operator is judged by.

    Parameters
    ----------
    name : str
        ``reliability``, ``motion``, ``site``, or a column.
    target : Target
        What is asked.
    score : str
        By which criterion.
    wanted : bool
        Whether more is better.
    given : tuple of str
        Columns that are taken out first: site out of motion, motion out of site.
    """

    name: str
    target: Target
    score: str
    wanted: bool
    given: tuple[str, ...] = ()


def find_aims(
    samples: pd.DataFrame,
    target: Target,
    criteria: str | Sequence[str] = (),
    treat_as: TreatAs = None,
) -> list[Aim]:
    """Return what a card judges operators by, besides the target.

    Parameters
    ----------
    samples : DataFrame
        The facts of the samples.
    target : Target
        By which the winner is chosen; it is not repeated.
    criteria : str or sequence of str
        ``reliability`` (wanted), ``motion`` and ``site`` (unwanted), any column (wanted) or
        ``column=unwanted``; ``none`` for no card. By default those of the first three that the
        samples can answer.
    treat_as : str, sequence of str or mapping, optional
        What columns of numbers are, where they do not tell.

    Returns
    -------
    list of Aim

    Examples
    --------
    ``find_aims(cohort.samples, Target("age", "number"), "reliability,motion,sex=unwanted")``
    """
    given = [criteria] if isinstance(criteria, str) else list(criteria)
    names = [part.strip() for text in given for part in text.split(",") if part.strip()]
    if names == [NONE]:
        return []
    aims = [_asked(samples, name, treat_as) for name in names] or _usual(samples)
    return [aim for aim in aims if aim.target.name != target.name]


def _usual(samples: pd.DataFrame) -> list[Aim]:
    """Return the usual ones that the samples can answer."""
    aims = []
    if samples["subject"].duplicated().any():
        aims.append(_reliability())
    if motion_column(samples) is not None:
        aims.append(_motion(samples))
    if _several_sites(samples):
        aims.append(_site(samples))
    return aims


def _asked(samples: pd.DataFrame, text: str, treat_as: TreatAs) -> Aim:
    name, _, word = text.partition("=")
    if word and word not in WORDS:
        raise InputError(
            f"A criterion is wanted or unwanted, not {word!r}: --criteria {name}=unwanted."
        )
    if name == "reliability":
        aim = _reliability()
    elif name == "motion":
        aim = _motion(samples)
    elif name == SITE:
        aim = _site(samples)
    else:
        label_column(samples, name)
        aim = Aim(name, find_target(samples, name, treat_as), "share", wanted=True)
    if not word:
        return aim
    return replace(aim, wanted=WORDS[word])


def _several_sites(samples: pd.DataFrame) -> bool:
    return SITE in samples.columns and len(samples[SITE].dropna().unique()) > 1


def motion_column(samples: pd.DataFrame) -> str | None:
    """Return the column of head motion: mean framewise displacement of every scan."""
    return next((name for name in MOTION_COLUMNS if name in samples.columns), None)


def _reliability() -> Aim:
    return Aim("reliability", Target("subject", "subject"), "i2c2", wanted=True)


def _motion(samples: pd.DataFrame) -> Aim:
    column = motion_column(samples)
    if column is None:
        raise InputError(
            "The criterion motion needs a column mean_fd; add it with `sclcs cohort label`."
        )
    given = (SITE,) if _several_sites(samples) else ()
    return Aim("motion", Target(column, "number"), "share", wanted=False, given=given)


def _site(samples: pd.DataFrame) -> Aim:
    label_column(samples, SITE)
    column = motion_column(samples)
    given = () if column is None else (column,)
    return Aim(SITE, Target(SITE, "classes"), "share", wanted=False, given=given)


KIND = "card"
TARGET = "target"
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Card:
    """What every operator sees: the target, and what else is wanted or unwanted.

    Parameters
    ----------
    table : DataFrame
        One row per operator (equivalent ones are one), best for the target first: ``spi``,
        ``name``, ``also`` (number of equivalents), ``target``, its family-wise ``p`` (NaN if it
        was not tested), one column per aim, ``front`` (no other operator is at least as good in
        every respect and better in one) and ``best_set`` (the data cannot tell it from
        the best for the target).
    task, score : str
        What the winner is chosen by.
    aims : list of dict
        Name, target, score, wanted and given of every other column.
    notes : list of str
        What was asked for and could not be answered, and why.
    seen : bool, optional
        Whether any operator sees the target beyond chance; None if that was not tested.
    """

    table: pd.DataFrame
    task: str
    score: str
    aims: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)
    seen: bool | None = None

    def __len__(self) -> int:
        return len(self.table)

    def aim(self, name: str) -> dict[str, Any]:
        """Return what is known of a column."""
        return next(aim for aim in self.aims if aim["name"] == name)

    @property
    def names(self) -> list[str]:
        """The columns besides the target."""
        return [str(aim["name"]) for aim in self.aims]

    @property
    def sentences(self) -> list[str]:
        """What the best operator for the target costs elsewhere, for a person."""
        if not len(self.table) or not self.aims:
            return list(self.notes)
        best = self.table.iloc[0]
        told = []
        if self.seen is False:
            told.append(
                f"No effect of {self.task} was found: the order of operators says nothing about it."
            )
        parts = [self._cost(best, name) for name in self.names]
        told.append(f"The first for {self.task}, {_entry(best)}: {'; '.join(parts)}.")
        if self.seen is not False:
            told += [part for name in self.names if (part := self._alternative(name))]
        return [*told, self._front(), *self.notes]

    def _front(self) -> str:
        n_front, count = int(self.table["front"].sum()), len(self.table)
        if n_front == count:
            return (
                f"All {count} operators are on the front: for none is there another that is at "
                "least as good in every respect and better in one."
            )
        return (
            f"{n_front} of {count} operators are on the front: for each of the others there is one "
            "that is at least as good in every respect and better in one."
        )

    def _cost(self, row: Mapping[Any, Any] | pd.Series, name: str) -> str:
        values = self.table[name]
        others = int(values.notna().sum()) - 1
        value = _words(self.aim(name), float(row[name]))
        if others < 1 or np.isnan(row[name]):
            return value
        below = int((values < row[name]).sum())
        if not below:
            return f"{value}, the least of all {others + 1}"
        return f"{value}, more than {below} of {others} others"

    def _alternative(self, name: str) -> str:
        """Name a better one for this aim among those that could be the best for the target.

        One that does not see the target at all is no alternative, although a small cohort may
        not tell it from the best.
        """
        rivals = self.table[self.table["best_set"].astype(bool) & self.table[name].notna()]
        sees = ""
        if "p" in rivals and rivals["p"].notna().any():
            rivals, sees = rivals[rivals["p"] < ALPHA], f"see {self.task} beyond chance and that "
        first = self.table["spi"].iloc[0]
        if len(rivals) < 2 or first not in set(rivals["spi"]):
            return ""
        aim = self.aim(name)
        values = rivals[name].to_numpy(dtype=np.float64)
        row = rivals.iloc[int(np.argmax(values if aim["wanted"] else -values))]
        if row["spi"] == first:
            return ""
        return (
            f"Of the {len(rivals)} operators that {sees}the data cannot tell from the best, "
            f"{_entry(row)} {_extreme(aim, float(row[name]))}."
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write ``card.csv`` and its JSON sidecar; :meth:`open` reads them back."""
        names = ("task", "score", "aims", "notes", "seen")
        facts = {name: getattr(self, name) for name in names}
        return write_with_sidecar(path, self.table.to_csv(index=False), KIND, plain(facts))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Card:
        """Read a card written by :meth:`save`."""
        path = require_existing(path, "card (a CSV file)")
        facts = read_sidecar(path, KIND)
        if facts is None:
            raise UnreadableFileError(f"Expected a sidecar beside {path}; keep the two together.")
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
        for name in table.columns:
            read = _READ.get(name, _number)
            table[name] = [read(cell) for cell in table[name]]
        names = ("task", "score", "aims", "notes", "seen")
        return cls(table, *(facts[name] for name in names))


def _number(cell: str) -> float:
    """Read a number as Python does; pandas' own may be off by the last digit."""
    return float(cell) if cell else float("nan")


_READ: Mapping[str, Callable[[str], Any]] = {
    "spi": str,
    "name": str,
    "also": int,
    "front": "True".__eq__,
    "best_set": "True".__eq__,
}


def _entry(row: Mapping[Any, Any] | pd.Series) -> str:
    """Return the name of a row as a person would say it; cards count equivalents."""
    return entry_name({**row, "also": [""] * int(row["also"])})


def _words(aim: Mapping[str, Any], value: float) -> str:
    if np.isnan(value):
        return f"{aim['name']} is not known"
    if aim["score"] == "share":
        return f"{aim['name']} explains {max(value, 0.0):.1%} of its variance"
    return f"{aim['name']} {value:.2f}"


def _extreme(aim: Mapping[str, Any], value: float) -> str:
    """Say that an operator has the best value of an aim."""
    if aim["score"] == "share":
        most = "most" if aim["wanted"] else "least"
        return f"sees {most} of {aim['name']}, which explains {max(value, 0.0):.1%} of its variance"
    return f"has the {'highest' if aim['wanted'] else 'lowest'} {aim['name']}, {value:.2f}"


def make_card(
    source: Cohort | FCSource | xr.DataArray,
    ranking: Ranking,
    criteria: str | Sequence[str] = (),
    *,
    coreset: CoreSet | None = None,
    cohort: Cohort | None = None,
    treat_as: TreatAs = None,
    n_jobs: int = 1,
    answers: Sequence[Evaluation] | None = None,
) -> Card:
    """Say what every operator of a ranking sees besides the target.

    Parameters
    ----------
    source : Cohort, FC store or xarray.DataArray
        What the ranking was made from.
    ranking : Ranking
        Of the target; the winner is chosen by it.
    criteria : str or sequence of str
        See :func:`find_aims`.
    coreset : CoreSet, optional
        The samples of the ranking; all by default.
    cohort : Cohort, optional
        The facts of the samples of an array.
    treat_as : str, sequence of str or mapping, optional
        What columns of numbers are, where they do not tell.
    n_jobs : int
        Threads.
    answers : sequence of Evaluation, optional
        What the operators, and perhaps others, said to :func:`card_inquiries`, if they were asked
        before; the matrices are not needed then.

    Returns
    -------
    Card

    Examples
    --------
    ``make_card(store, rank(store, "diagnosis"), "reliability,motion,site").sentences``
    """
    table = ranking.groups
    table = table[table["score"].notna()].reset_index(drop=True)
    operators = [str(name) for name in table["spi"]]
    wanted_matrices = operators if answers is None else None
    matrices, _ = as_source(source, cohort, spis=wanted_matrices, n_jobs=n_jobs)
    kind = ranking.provenance.get("question", {}).get("kind", "classes")
    asked, inquiries, notes = card_inquiries(
        matrices, Target(ranking.task, kind), criteria, coreset=coreset, treat_as=treat_as
    )
    if answers is not None:
        found = [_of_operators(answer, operators) for answer in answers]
    elif asked:
        found = evaluate(matrices, operators, inquiries, _measure(ranking), n_jobs=n_jobs)
    else:
        found = []
    card = pd.DataFrame({"spi": operators, "name": table["name"], "also": table["also"].map(len)})
    card[TARGET], card["p"] = table["score"], table["p"]
    for aim, evaluation in zip(asked, found, strict=True):
        card[aim.name] = evaluation.point[aim.score]
    wanted = [True, *(aim.wanted for aim in asked)]
    values = card[[TARGET, *(aim.name for aim in asked)]].to_numpy(dtype=np.float64)
    card["front"] = pareto_front(values, wanted)
    card["best_set"] = table["best_set"].to_numpy(dtype=bool)
    facts = [{**asdict(aim), "target": aim.target.name, "given": list(aim.given)} for aim in asked]
    return Card(card, ranking.task, ranking.score, facts, notes, effect_seen(ranking))


def card_inquiries(
    source: FCSource,
    target: Target,
    criteria: str | Sequence[str] = (),
    *,
    coreset: CoreSet | None = None,
    treat_as: TreatAs = None,
) -> tuple[list[Aim], list[Inquiry], list[str]]:
    """Return what a card asks of operators, whichever they are.

    Parameters
    ----------
    source : FCSource
        Of the samples.
    target : Target
        By which the winner is chosen.
    criteria : str or sequence of str
        See :func:`find_aims`.
    coreset : CoreSet, optional
        The samples of the ranking; all by default.
    treat_as : str, sequence of str or mapping, optional
        What columns of numbers are, where they do not tell.

    Returns
    -------
    aims : list of Aim
        Those that can be answered.
    inquiries : list of Inquiry
        One per aim.
    notes : list of str
        Why others cannot.
    """
    aims = find_aims(source.samples, target, criteria, treat_as)
    asked, notes = _questions(source, aims, coreset)
    inquiries = [Inquiry(question, (find_criterion(aim.score),)) for aim, question in asked]
    return [aim for aim, _ in asked], inquiries, notes


def _of_operators(answer: Evaluation, operators: Sequence[str]) -> Evaluation:
    place = {name: k for k, name in enumerate(answer.operators)}
    return answer.in_order(np.array([place[name] for name in operators], dtype=np.intp))


def effect_seen(ranking: Ranking) -> bool | None:
    """Say whether any operator sees the target beyond chance; None if that is not known."""
    p = (ranking.findings.get("effect") or {}).get("p")
    return None if p is None else bool(p < ALPHA)


def _measure(ranking: Ranking) -> Measure:
    return Measure(**ranking.provenance.get("measure", {}))


def _questions(
    source: FCSource, aims: Sequence[Aim], coreset: CoreSet | None
) -> tuple[list[tuple[Aim, Question]], list[str]]:
    """Return the questions that can be answered, and why others cannot."""
    asked, notes = [], []
    for aim in aims:
        try:
            question = make_question(
                source.samples,
                aim.target,
                _without_single(source.samples, aim.target, coreset),
                covariates=Covariates(aim.given, {name: _kind(name) for name in aim.given}),
                drop_missing=True,
                n_timepoints=source.n_timepoints,
            )
            problem = question.degenerate
        except InputError as error:
            problem = str(error)
        if problem:
            notes.append(f"{aim.name} is not on the card: {problem}")
        else:
            asked.append((aim, question))
    return asked, notes


def _kind(name: str) -> str:
    return "classes" if name == "site" else "number"


def _without_single(
    samples: pd.DataFrame, target: Target, coreset: CoreSet | None
) -> CoreSet | None:
    """Leave out classes of one subject (a site with one person), which cannot be compared."""
    if target.kind != "classes":
        return coreset
    rows = np.arange(len(samples)) if coreset is None else np.sort(coreset.rows(samples.index))
    chosen = samples.iloc[rows]
    sizes = chosen.groupby(target.name)["subject"].nunique()
    kept = chosen[target.name].isin(sizes.index[sizes > 1])
    return coreset if kept.all() else CoreSet(list(chosen.index[kept]))


def pareto_front(values: Floats, wanted: Sequence[bool]) -> NDArray[np.bool_]:
    """Say which rows no other row beats: at least as good everywhere and better somewhere.

    Parameters
    ----------
    values : array, shape (operator, criterion)
        Unwanted shares below 0 mean chance and count as 0; a missing value is the worst.
    wanted : sequence of bool
        Whether more is better, by criterion.

    Returns
    -------
    array of bool, shape (operator,)
    """
    good = np.where(wanted, values, -np.maximum(values, 0.0))
    good = np.where(np.isnan(values), -np.inf, good)
    no_worse = np.all(good[None, :, :] >= good[:, None, :], axis=2)
    better = np.any(good[None, :, :] > good[:, None, :], axis=2)
    return np.asarray(~np.any(no_worse & better, axis=1))
