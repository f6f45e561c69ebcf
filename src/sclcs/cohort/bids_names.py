"""BIDS file names: entities, suffix, extension.

``sub-01_ses-2_task-rest_run-1_space-fsLR_seg-Glasser_timeseries.tsv`` is a chain of
entities (``key-label``), a suffix (``timeseries``) and an extension (``.tsv``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

__all__ = ["BidsName", "parse_bids_name"]

# What was done to a scan, as opposed to which scan it is.
DERIVED_ENTITIES = frozenset(
    {"space", "res", "den", "seg", "atlas", "scale", "label", "stat", "desc", "cohort"}
    | {"reg", "feature", "setting"}  # of C-PAC and HALFpipe: which regressors, which feature
)

_KEY = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True)
class BidsName:
    """A file name taken apart.

    Parameters
    ----------
    entities : mapping of str to str
        Labels by key, in the order of the name.
    suffix : str
        The last part, for example ``timeseries`` or ``bold``.
    extension : str
        With its first dot, for example ``.nii.gz``; may be empty.
    """

    entities: Mapping[str, str]
    suffix: str
    extension: str

    def __str__(self) -> str:
        return f"{_joined(self.entities)}_{self.suffix}{self.extension}"

    @property
    def identity(self) -> dict[str, str]:
        """The entities that say which scan it is (subject, session, task, run, ...)."""
        return {k: v for k, v in self.entities.items() if k not in DERIVED_ENTITIES}

    @property
    def scan_id(self) -> str:
        """The identity as one name, for example ``sub-01_ses-2_task-rest_run-1``."""
        return _joined(self.identity)

    @property
    def parcellation(self) -> str | None:
        """The atlas the regions come from: the `seg` entity or the older `atlas`."""
        return self.entities.get("seg") or self.entities.get("atlas")


def _joined(entities: Mapping[str, str]) -> str:
    return "_".join(f"{key}-{label}" for key, label in entities.items())


def parse_bids_name(path: str | os.PathLike[str]) -> BidsName | None:
    """Take a file name apart.

    Parameters
    ----------
    path : path-like
        A file; folders in front are ignored.

    Returns
    -------
    BidsName or None
        None if the name is not one of BIDS: no entity, no suffix, or an entity twice.

    Examples
    --------
    >>> name = parse_bids_name("sub-01_task-rest_seg-Glasser_timeseries.tsv")
    >>> name.scan_id, name.parcellation, name.suffix, name.extension
    ('sub-01_task-rest', 'Glasser', 'timeseries', '.tsv')
    >>> parse_bids_name("README.md") is None
    True
    """
    *parts, last = PurePath(path).name.split("_")
    suffix, dot, rest = last.partition(".")
    entities: dict[str, str] = {}
    for part in parts:
        key, _, label = part.partition("-")
        if not label or not _KEY.fullmatch(key) or key in entities:
            return None
        entities[key] = label
    if not entities or not suffix or "-" in suffix:
        return None
    return BidsName(entities, suffix, dot + rest)
