"""How to cite a run: the methods paragraph, the literature behind it, and what it was made with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import sclcs
from sclcs.compute.exports.crate import CRATE_FILE, crate_graph
from sclcs.core.arguments import checked
from sclcs.core.files import write_json
from sclcs.report.html.parts import RunParts
from sclcs.report.html.sections.methods import methods_text
from sclcs.run_folder import RunFolder

__all__ = ["Citation", "how_to_cite", "write_run_crate"]


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


@checked
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


@checked
def write_run_crate(folder: RunFolder | str | os.PathLike[str]) -> Path:
    """Describe the folder of a run as an RO-Crate, in the folder itself.

    Parameters
    ----------
    folder : path-like or RunFolder
        Of a run.

    Returns
    -------
    Path
        ``ro-crate-metadata.json``.
    """
    home = folder if isinstance(folder, RunFolder) else RunFolder.open(folder)
    cohort = home.given_cohort()
    citation = how_to_cite(home)
    facts = {
        "name": home.config().title or "A run of sclcs",
        "description": citation.methods,
        "citation": citation.references,
    }
    source = {
        "@id": f"#cohort-{cohort.fingerprint}",
        "@type": "Dataset",
        "name": "The cohort",
        "identifier": cohort.fingerprint,
        "isBasedOn": str(cohort.provenance.get("source", "")),
    }
    path = home.path / CRATE_FILE
    write_json(path, crate_graph(home.path, facts, [source]))
    return path
