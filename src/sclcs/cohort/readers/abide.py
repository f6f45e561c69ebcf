"""ABIDE, a public cohort of autism, as preprocessed by the Preprocessed Connectomes Project."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
    import_extra,
    name_first,
    progress,
)
from sclcs.cohort.readers.bids_metadata import split_tr
from sclcs.cohort.readers.text_matrix import load_text_matrix, peek_text_matrix
from sclcs.cohort.regions import choose_regions, region_set
from sclcs.cohort.scans import Scan, Scans

__all__ = ["Pipeline", "read_abide"]

Pipeline = Literal["ccs", "cpac", "dparsf", "niak"]

_DERIVATIVE = "rois_dosenbach160"
_ATLAS_SIZE = 160
_SUBJECTS_PER_FETCH = 20  # nilearn reads the whole phenotype table each time
_UNKNOWN = -9999  # how the phenotype table writes "not known"

# Repetition times of the sites in seconds, as users of ABIDE I state them; the release has none.
# Their tables agree except for LEUVEN (1.656 to 1.667) and one that gives 2.5 for SBL.
_SITE_TR = {
    **dict.fromkeys(("LEUVEN_1", "LEUVEN_2"), 1.656),
    **dict.fromkeys(("OLIN", "PITT"), 1.5),
    **dict.fromkeys(("CALTECH", "CMU", "NYU", "SDSU", "STANFORD", "TRINITY"), 2.0),
    **dict.fromkeys(("UM_1", "UM_2", "USM", "YALE"), 2.0),
    "SBL": 2.2,
    **dict.fromkeys(("KKI", "OHSU"), 2.5),
    **dict.fromkeys(("MAX_MUN", "UCLA_1", "UCLA_2"), 3.0),
}
_SECOND_PROTOCOL_TR = {"CMU_b": 1.5}  # one site measured with two protocols


def read_abide(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    pipeline: Pipeline = "ccs",
    band_pass: bool = True,
    global_signal: bool = False,
    regions: str | Sequence[str] | None = "dosenbach-dmn33",
    sites: Sequence[str] | None = None,
    subjects: int | None = None,
    quality_checked: bool = True,
    url: str | None = None,
    tr: float | None = None,
) -> Scans:
    """Download (once) and read ABIDE I through ``nilearn.datasets.fetch_abide_pcp``.

    Parameters
    ----------
    data_dir : path-like, optional
        Where downloads are kept; nilearn's data folder by default. What is there is not
        downloaded again.
    pipeline : {'ccs', 'cpac', 'dparsf', 'niak'}
        Which preprocessing.
    band_pass : bool
        Whether signals are band-passed (0.01-0.1 Hz).
    global_signal : bool
        Whether the global signal was regressed out.
    regions : str or sequence of str, optional
        A region set or region names of the Dosenbach-160 atlas; None takes all 160.
    sites : sequence of str, optional
        Keep some sites, for example ``["NYU", "UM_1"]``.
    subjects : int, optional
        Keep the first n subjects.
    quality_checked : bool
        Whether to keep only scans that all raters passed (871 of 1035).
    url : str, optional
        Where the release is, if not at its public address.
    tr : float, optional
        Repetition time in seconds. The release does not tell it. By default it is taken from
        a table by site, made from what others state (LEUVEN is uncertain by 0.7 %); as sites
        differ it is then the fact `tr` of each scan.

    Returns
    -------
    Scans
        Named by the release (``Pitt_0050003``), with the facts `site`, `diagnosis` (ASD or TC),
        `sex` (M or F), `age`, `fiq`, `mean_fd`, `eye_status` (open or closed).

    Notes
    -----
    Files have one column per atlas label, named ``#1`` to ``#160``, which are the numbers of the
    Dosenbach atlas. Most have a 161st, ``#223``: one voxel where the spheres 108 and 115
    overlap [1]_. It is left out. A region outside the field of view is constant. The first two
    time points of a scan are almost equal; drop one with ``drop_first=1``.

    ABIDE is for non-commercial use, with attribution.

    References
    ----------
    .. [1] https://github.com/preprocessed-connectomes-project/abide/issues/12
    """
    release = _Release(data_dir, pipeline, band_pass, global_signal, url)
    table = release.phenotype(sites, quality_checked)[:subjects]
    if table.empty:
        raise InputError("Expected at least one subject, but the filters leave none; relax them.")
    files = release.files(table)
    shared_tr, tr_facts = split_tr([tr or _site_tr(row) for row in table.itertuples()])
    scans = [
        Scan(str(row.FILE_ID), str(row.SUB_ID), partial(_load, path), {**_facts(row), **fact})
        for row, path, fact in zip(table.itertuples(), files, tr_facts, strict=True)
    ]
    options = {
        "pipeline": pipeline,
        "band_pass": band_pass,
        "global_signal": global_signal,
        "derivative": _DERIVATIVE,
        "regions": regions if regions is None or isinstance(regions, str) else list(regions),
        "sites": None if sites is None else list(sites),
        "subjects": subjects,
        "quality_checked": quality_checked,
        "tr": tr,
    }
    provenance = {"reader": "abide", "source": url or "ABIDE PCP", "options": options}
    names = region_set("dosenbach-160").names
    return choose_regions(Scans(scans, names, shared_tr, provenance), regions)


class _Release:
    """The release as nilearn downloads it."""

    def __init__(
        self,
        data_dir: str | os.PathLike[str] | None,
        pipeline: str,
        band_pass: bool,
        global_signal: bool,
        url: str | None,
    ) -> None:
        if pipeline not in get_args(Pipeline):
            raise UnknownNameError(
                f"Unknown pipeline {pipeline!r}; known ones are {', '.join(get_args(Pipeline))}."
            )
        self._datasets = import_extra("nilearn.datasets", "nifti")
        self._data_dir = None if data_dir is None else str(data_dir)
        self._pipeline = pipeline
        self._strategy = f"{'' if band_pass else 'no'}filt_{'' if global_signal else 'no'}global"
        self._options: dict[str, Any] = {
            "data_dir": self._data_dir,
            "pipeline": pipeline,
            "band_pass_filtering": band_pass,
            "global_signal_regression": global_signal,
            "url": url,
            "verbose": 0,
        }

    def phenotype(self, sites: Sequence[str] | None, quality_checked: bool) -> pd.DataFrame:
        """Return the rows of the phenotype table that are wanted."""
        try:
            # No derivative: only the table is fetched.
            fetched = self._datasets.fetch_abide_pcp(
                derivatives=[], quality_checked=quality_checked, **self._options
            )
            table: pd.DataFrame = fetched.phenotypic
        except OSError as error:
            raise _not_downloaded("the phenotype table of ABIDE", error) from error
        except (ValueError, KeyError) as error:
            raise UnreadableFileError(
                f"Expected the phenotype table of ABIDE in {self._folder()}, but it is damaged or "
                f"of another format ({error}); remove it there to download it again."
            ) from error
        known = sorted(table["SITE_ID"].unique())
        unknown = [site for site in sites or [] if site not in known]
        if unknown:
            raise UnknownNameError(
                f"Unknown sites {name_first(unknown)}; ABIDE has {name_first(known, 30)}."
            )
        return table if sites is None else table[table["SITE_ID"].isin(list(sites))]

    def files(self, table: pd.DataFrame) -> list[Path]:
        """Download what is not there yet, and return the file of each row."""
        folder = self._folder() / self._pipeline / self._strategy
        paths = [folder / f"{file_id}_{_DERIVATIVE}.1D" for file_id in table["FILE_ID"]]
        ids = {
            path: int(subject)
            for path, subject in zip(paths, table["SUB_ID"], strict=True)
            if not path.is_file()
        }
        missing = list(ids)
        if not missing:
            return paths
        with progress("Downloading ABIDE", len(missing)) as ticker:
            for start in range(0, len(missing), _SUBJECTS_PER_FETCH):
                batch = missing[start : start + _SUBJECTS_PER_FETCH]
                self._download(batch, [ids[path] for path in batch])
                ticker.advance(len(batch))
        return paths

    def _download(self, paths: Sequence[Path], subjects: list[int]) -> None:
        """Fetch a few subjects: progress is seen and not all scans are in memory."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about empty files: named when they are read
                self._datasets.fetch_abide_pcp(
                    derivatives=[_DERIVATIVE],
                    quality_checked=False,
                    SUB_ID=subjects,
                    **self._options,
                )
        except (OSError, ValueError) as error:
            # nilearn stops at the first file it cannot get. It also parses them all, but a
            # damaged file is named when it is read.
            failed = [path for path in paths if not path.is_file()]
            if failed:
                raise _not_downloaded(failed[0].name, error) from error

    def _folder(self) -> Path:
        places = [
            Path(place) / "ABIDE_pcp" for place in self._datasets.get_data_dirs(self._data_dir)
        ]
        return next((place for place in places if place.is_dir()), places[0])


def _not_downloaded(what: str, error: Exception) -> NotFoundError:
    reason = " ".join(str(error).split())
    return NotFoundError(
        f"Could not download {what} ({reason}); check the connection (or url) and run again: "
        "what is already downloaded is kept."
    )


def _site_tr(row: Any) -> float | None:  # noqa: ANN401
    protocol = str(row.FILE_ID).rpartition("_")[0]
    return _SECOND_PROTOCOL_TR.get(protocol, _SITE_TR.get(str(row.SITE_ID)))


def _facts(row: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "site": str(row.SITE_ID),
        "diagnosis": {1: "ASD", 2: "TC"}.get(row.DX_GROUP),
        "sex": {1: "M", 2: "F"}.get(row.SEX),
        "age": _known(row.AGE_AT_SCAN),
        "fiq": _known(row.FIQ),
        "mean_fd": _known(row.func_mean_fd),
        "eye_status": {1: "open", 2: "closed"}.get(row.EYE_STATUS_AT_SCAN),
    }


def _known(value: float) -> float:
    return float("nan") if value == _UNKNOWN else float(value)


def _load(path: Path) -> NDArray[np.float64]:
    """Read one file as (region, time), regions in the order of the atlas."""
    try:
        layout = peek_text_matrix(path)
        values = load_text_matrix(path, layout)
    except UnreadableFileError as error:
        raise UnreadableFileError(f"{error} Remove it to download it again.") from error
    signals = np.full((_ATLAS_SIZE, len(values)), np.nan)
    for column, name in enumerate(_labels(path, layout.names, layout.n_columns)):
        if name.isdigit() and 1 <= int(name) <= _ATLAS_SIZE:
            signals[int(name) - 1] = values[:, column]
    return signals


def _labels(path: Path, names: Sequence[str] | None, n_columns: int) -> list[str]:
    if names is not None:
        return [name.lstrip("#") for name in names]
    if n_columns not in {_ATLAS_SIZE, _ATLAS_SIZE + 1}:
        raise UnreadableFileError(
            f"Expected 160 or 161 columns in {path}, found {n_columns}; remove it to download it "
            "again."
        )
    return [str(number) for number in range(1, n_columns + 1)]
