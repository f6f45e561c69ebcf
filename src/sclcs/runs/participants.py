"""A cohort made participant by participant: independent jobs that share one folder.

::

    OUT/
        dataset_description.json
        sub-01/cohort.zarr, sub-01/fc.zarr     made by the job of this participant alone
        group/cohort.zarr                      all of them as one cohort
        group/run/                             the run, with its report
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import sclcs
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.join import join_cohorts
from sclcs.compute import ExecutorChoice, fill_store, open_computation
from sclcs.compute.known_rows import rows_in
from sclcs.core.errors import InputError, name_first
from sclcs.core.files import write_text
from sclcs.run_folder import RunFolder
from sclcs.runs.matrices import remove_folder
from sclcs.spi.fc_store import FCStore

__all__ = ["describe_outputs", "gather_participants", "process_participant"]

COHORT, STORE, GROUP = "cohort.zarr", "fc.zarr", "group"
BIDS_VERSION = "1.10.0"


def describe_outputs(out: Path) -> None:
    """Write ``dataset_description.json``, which makes the folder a BIDS derivative."""
    path = out / "dataset_description.json"
    if path.exists():
        return
    facts = {
        "Name": "sclcs: functional connectivity of many operators",
        "BIDSVersion": BIDS_VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "sclcs", "Version": sclcs.__version__}],
    }
    write_text(path, json.dumps(facts, indent=2) + "\n")


def process_participant(
    out: Path,
    label: str,
    make_cohort: Callable[[Path], Cohort],
    spis: Sequence[str],
    *,
    seed: int = 0,
    who: ExecutorChoice | None = None,
) -> FCStore:
    """Read one participant's scans and compute the operators on them; go on where it stopped.

    Parameters
    ----------
    out : Path
        The folder that all participants share.
    label : str
        Of the participant, without ``sub-``.
    make_cohort : callable
        Writes the participant's cohort to the path it is given.
    spis : sequence of str
    seed : int
    who : ExecutorChoice, optional

    Returns
    -------
    FCStore
    """
    home = out / f"sub-{label}"
    home.mkdir(parents=True, exist_ok=True)
    path = home / COHORT
    cohort = Cohort.open(path) if path.exists() else make_cohort(path)
    return fill_store(open_computation(cohort, home / STORE, list(spis), seed=seed), who).store


def gather_participants(
    out: Path, spis: Sequence[str], *, seed: int = 0, who: ExecutorChoice | None = None
) -> tuple[Path, Path]:
    """Join the cohorts of all participants, and their matrices in the folder of a run.

    Matrices that a participant's job has not computed are computed here.

    Parameters
    ----------
    out : Path
        The folder that all participants share.
    spis : sequence of str
    seed : int
    who : ExecutorChoice, optional

    Returns
    -------
    cohort : Path
    run : Path
        A folder for :func:`sclcs.run`, whose matrices are there already.
    """
    homes = sorted(path.parent for path in out.glob(f"sub-*/{COHORT}"))
    if not homes:
        raise InputError(
            f"No participant was processed in {out} yet (expected {out}/sub-*/{COHORT}); run the "
            "participant level first."
        )
    unfinished = [home.name for home in homes if not (home / STORE).exists()]
    if unfinished:
        raise InputError(
            f"The participant level did not finish for {name_first(unfinished)}; run it again."
        )
    cohort = _joined(
        out / GROUP / COHORT, {home.name: Cohort.open(home / COHORT) for home in homes}
    )
    run = out / GROUP / "run"
    store = RunFolder.create(run).whole_store
    computation = open_computation(cohort, store, list(spis), seed=seed)
    parts = [rows_in(FCStore.open(home / STORE), cohort.sample_ids) for home in homes]
    fill_store(computation, who, known=[rows for rows in parts if rows is not None])
    return out / GROUP / COHORT, run


def _joined(path: Path, parts: dict[str, Cohort]) -> Cohort:
    """Return the cohort of all participants; one of other participants is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fingerprints = {name: cohort.fingerprint for name, cohort in parts.items()}
    if path.exists():
        cohort = Cohort.open(path)
        if cohort.provenance.get("parts") == fingerprints:
            return cohort
        remove_folder(path)
        remove_folder(path.parent / "run")
    return join_cohorts(parts, path)
