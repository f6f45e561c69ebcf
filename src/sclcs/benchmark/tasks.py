"""Tasks: what makes two samples alike.

A task gives every sample two codes. Samples of one *class* form within pairs, samples of
different classes between pairs. Samples of one *block* are never compared: a sample with
itself, windows of one session when sessions are compared, windows of one subject when a
diagnosis is asked for. A new task is one small class with these two codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.table import label_column
from sclcs.core.errors import InputError

__all__ = ["Codes", "LabelTask", "SubjectTask", "Task", "make_task"]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Codes:
    """Class, block and subject of every sample, as integers; class -1 means no label."""

    classes: Integers
    blocks: Integers
    subjects: Integers


class Task(Protocol):
    """What separates samples."""

    @property
    def name(self) -> str:
        """Short name, as on the command line."""

    def codes(self, samples: pd.DataFrame) -> Codes:
        """Return class and block of every sample."""

    def facts(self) -> dict[str, object]:
        """Return what is needed to make the task again."""


@dataclass(frozen=True)
class SubjectTask:
    """Fingerprinting: samples of one subject against those of others.

    Parameters
    ----------
    across_sessions : bool, optional
        Compare a subject's samples only if they come from different sessions. By default
        this is so when some subject has several.
    """

    across_sessions: bool | None = None
    name: str = "subject"

    def codes(self, samples: pd.DataFrame) -> Codes:
        """Return the subject as class, and the sample or the session as block."""
        subjects = _factorize(samples["subject"])
        if not self._sessions_matter(samples):
            return Codes(subjects, np.arange(len(samples)), subjects)
        sessions = _factorize(label_column(samples, "session"))
        unknown = sessions < 0
        if unknown.any():
            raise InputError(
                f"Fingerprinting across sessions needs the session of every sample; it is missing "
                f"for {int(unknown.sum())} of {len(samples)}. Fill the column `session`."
            )
        return Codes(subjects, subjects * (sessions.max() + 1) + sessions, subjects)

    def facts(self) -> dict[str, object]:
        """Return the task as JSON."""
        return {"name": self.name, "across_sessions": self.across_sessions}

    def _sessions_matter(self, samples: pd.DataFrame) -> bool:
        if self.across_sessions is not None:
            return self.across_sessions
        if "session" not in samples.columns:
            return False
        scans = samples[["subject", "session"]].dropna().drop_duplicates()
        return bool(scans["subject"].duplicated().any())


@dataclass(frozen=True)
class LabelTask:
    """Samples with one label (diagnosis, site, sex, ...) against those with another.

    Parameters
    ----------
    column : str
        The label column.
    exclude_same_subject : bool
        Never compare two samples of one subject. They share the label *and* the person:
        counting them measures fingerprinting instead of the label.
    """

    column: str
    exclude_same_subject: bool = True

    @property
    def name(self) -> str:
        """The column."""
        return self.column

    def codes(self, samples: pd.DataFrame) -> Codes:
        """Return the label as class, and the subject (or the sample) as block."""
        subjects = _factorize(samples["subject"])
        classes = _factorize(label_column(samples, self.column))
        blocks = subjects if self.exclude_same_subject else np.arange(len(samples))
        return Codes(classes, blocks, subjects)

    def facts(self) -> dict[str, object]:
        """Return the task as JSON."""
        return {"name": self.column, "exclude_same_subject": self.exclude_same_subject}


def make_task(
    task: str | Task,
    *,
    exclude_same_subject: bool = True,
    across_sessions: bool | None = None,
) -> Task:
    """Return the task of a name: ``"subject"`` or a label column.

    Parameters
    ----------
    task : str or Task
        A name, or a task, which is returned unchanged.
    exclude_same_subject : bool
        For label tasks, see :class:`LabelTask`.
    across_sessions : bool, optional
        For fingerprinting, see :class:`SubjectTask`.

    Returns
    -------
    Task
    """
    if not isinstance(task, str):
        return task
    if task == "subject":
        return SubjectTask(across_sessions)
    return LabelTask(task, exclude_same_subject)


def _factorize(column: pd.Series) -> Integers:
    codes, _ = pd.factorize(column, sort=True)
    return np.asarray(codes, dtype=np.int64)
