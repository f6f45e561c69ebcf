"""What operators are judged by besides the target: wanted or unwanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from sclcs.benchmark.targets import Target, TreatAs, find_target
from sclcs.cohort.table import label_column
from sclcs.core.errors import InputError

__all__ = ["MOTION_COLUMNS", "Aim", "find_aims", "motion_column"]

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
