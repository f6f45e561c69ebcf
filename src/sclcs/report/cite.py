"""How to cite a run: the methods paragraph, the literature behind it, and what it was made with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import sclcs
from sclcs.report.methods import methods_text
from sclcs.report.page import Content
from sclcs.report.parts import RunParts
from sclcs.run_folder import RunFolder

__all__ = ["Citation", "how_to_cite", "provenance_section"]


@dataclass(frozen=True)
class Citation:
    """What to write into a paper.

    Parameters
    ----------
    methods : str
        A paragraph; only what was really done is in it.
    references : list of str
        The literature it names, in its order.
    software : str
        The program and its version.
    data : str
        Where the cohort came from, and its fingerprint.
    """

    methods: str
    references: list[str]
    software: str
    data: str

    def __str__(self) -> str:
        listed = "\n".join(f"{n}. {text}" for n, text in enumerate(self.references, start=1))
        return "\n\n".join(
            [
                f"Methods\n{self.methods}",
                f"References\n{listed}",
                f"Software\n{self.software}",
                f"Data\n{self.data}",
            ]
        )


def how_to_cite(folder: RunFolder | str | os.PathLike[str]) -> Citation:
    """Return what a paper should say about a run.

    Parameters
    ----------
    folder : path-like or RunFolder
        Of a run.

    Returns
    -------
    Citation
    """
    home = folder if isinstance(folder, RunFolder) else RunFolder.open(folder)
    methods, references = methods_text(RunParts(home))
    cohort = home.given_cohort()
    source = cohort.provenance.get("source") or "not recorded"
    return Citation(
        methods,
        references,
        f"The sclcs developers. sclcs {sclcs.__version__} [computer software], BSD-3-Clause.",
        f"Cohort made from {source} (reader {cohort.provenance.get('reader', 'unknown')}), "
        f"fingerprint {cohort.fingerprint}. Cite the data set as its providers ask.",
    )


def provenance_section(run: RunParts) -> Content:
    """Make the section."""
    text, references = methods_text(run)
    return Content(
        "provenance.jinja",
        {
            "methods": text,
            "references": references,
            "command": f"sclcs run --config {run.folder.config_file.name} --out NEW_RUN",
            "config": run.folder.config_file.read_text(encoding="utf-8"),
            "facts": _facts(run),
        },
    )


def _facts(run: RunParts) -> list[tuple[str, str]]:
    cohort = run.check.get("cohort") or {}
    facts: list[tuple[str, Any]] = [
        ("run folder", run.folder.path.resolve().name),
        ("cohort", cohort.get("source") or run.config.cohort),
        ("how it was made", cohort.get("preparation")),
        ("cohort fingerprint", cohort.get("fingerprint") or run.check.get("fingerprint")),
        ("seed", run.config.seed),
        *((f"{name} version", version) for name, version in _versions(run).items()),
        ("started", _first(run, "started", min)),
        ("finished", _first(run, "finished", max)),
    ]
    return [(name, str(value)) for name, value in facts if value not in (None, "")]


def _versions(run: RunParts) -> dict[str, str]:
    """Return the versions that made the rankings, not those that write the report."""
    for task in run.tasks:
        ranking = run.ranking(task)
        if ranking is not None:
            return dict(ranking.provenance.get("versions", {}))
    return {}


def _first(run: RunParts, name: str, choose: Any) -> str | None:  # noqa: ANN401
    times = [str(record[name]) for record in run.work.values() if record.get(name)]
    return choose(times) if times else None
