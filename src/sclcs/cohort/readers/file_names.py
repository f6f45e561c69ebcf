"""What the name of a file says: subject, session, task, run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sclcs.cohort.bids_files import BidsFile
from sclcs.cohort.bids_names import parse_bids_name
from sclcs.cohort.label_table import fact_name
from sclcs.core.errors import InputError

__all__ = ["NameTemplate", "name_facts"]

_FIELD = re.compile(r"\{(\w+)\}|(\*\*?)")


def name_facts(stem: str) -> tuple[str, str, dict[str, Any]]:
    """Return the scan id, subject and facts that a name of BIDS tells.

    Parameters
    ----------
    stem : str
        A file name without its ending.

    Returns
    -------
    scan_id, subject : str
        The name itself if it is not one of BIDS.
    facts : dict
        `session`, `task`, `run` as far as the name has them.

    Examples
    --------
    >>> name_facts("sub-01_ses-2_task-rest_timeseries")
    ('sub-01_ses-2_task-rest', 'sub-01', {'session': '2', 'task': 'rest'})
    >>> name_facts("Pitt_0050003")
    ('Pitt_0050003', 'Pitt_0050003', {})
    """
    for text in (f"{stem}.x", f"{stem}_x.x"):  # with or without a suffix
        name = parse_bids_name(text)
        if name is not None and "sub" in name.entities:
            file = BidsFile(Path(text), name)
            facts = {key: label for key, label in file.facts().items() if label is not None}
            return name.scan_id, file.subject, facts
    return stem, stem, {}


class NameTemplate:
    """What a user says about the names of files.

    Parameters
    ----------
    template : str
        The name (or path below the folder) of a file without its ending, with fields:
        ``"{subject}_{session}"``, ``"{subject}/MNINonLinear/Results/{run}/*"``. Each field but
        the subject becomes a fact; ``*`` is any text inside a name.
    """

    def __init__(self, template: str) -> None:
        fields = [found[1] for found in _FIELD.finditer(template) if found[1]]
        if "subject" not in fields or len(set(fields)) < len(fields):
            raise InputError(
                f"Expected names with the field {{subject}} and each field once, such as "
                f"'{{subject}}_{{session}}', got {template!r}."
            )
        self._template = template
        self._with_folders = "/" in template
        pattern, start = "", 0
        for found in _FIELD.finditer(template):
            pattern += re.escape(template[start : found.start()])
            pattern += f"(?P<{found[1]}>[^/]+?)" if found[1] else "[^/]*"
            start = found.end()
        self._pattern = re.compile(pattern + re.escape(template[start:]))

    def facts(self, path: Path, stem: str) -> tuple[str, str, dict[str, Any]]:
        """Take the name of a file apart.

        Parameters
        ----------
        path : Path
            Below the folder that is read.
        stem : str
            Its name without the ending.

        Returns
        -------
        scan_id, subject : str
        facts : dict
            The other fields.
        """
        text = (path.parent / stem).as_posix() if self._with_folders else stem
        found = self._pattern.fullmatch(text)
        if found is None:
            raise InputError(
                f"Expected names like {self._template!r}, but {text!r} is not; correct --names "
                "(names=...), or choose the files with --pattern."
            )
        fields = found.groupdict()
        subject = fields.pop("subject")
        scan_id = "_".join([subject, *(f"{key}-{value}" for key, value in fields.items())])
        return scan_id, subject, {fact_name(key): value for key, value in fields.items()}
