"""Public releases of regional signals: ABIDE (downloaded) and REST-meta-MDD (on application)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

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
    require_existing,
    track,
)
from sclcs.cohort.labels import LabelTable, attach_labels, read_label_table
from sclcs.cohort.readers.mat_files import load_mat_matrix
from sclcs.cohort.readers.series_files import look_at
from sclcs.cohort.regions import choose_regions, region_set
from sclcs.cohort.scans import Scan, Scans, split_tr

_DERIVATIVE = "rois_dosenbach160"
_ATLAS_SIZE = 160
_SUBJECTS_PER_FETCH = 20  # nilearn reads the whole phenotype table each time
_UNKNOWN = -9999  # how phenotype tables write "not known"

#: Repetition times of ABIDE's sites in seconds, as its users state them; the release has none.
#: Their tables agree except for LEUVEN (1.656 to 1.667) and one that gives 2.5 for SBL.
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
    *,
    data_dir: str | None = None,
    pipeline: str = "ccs",
    band_pass: bool = True,
    global_signal: bool = False,
    regions: Sequence[str] | None = None,
    sites: Sequence[str] | None = None,
    subjects: int | None = None,
    quality_checked: bool = True,
    url: str | None = None,
) -> Scans:
    """Download (once) and read ABIDE I through ``nilearn.datasets.fetch_abide_pcp``.

    The 33 default-mode regions by default. `quality_checked` keeps the scans that all raters
    passed (871 of 1035). The release does not tell repetition times: they are taken from a table by
    site. Scans are named by the release (``Pitt_0050003``), with `site`, `diagnosis` (ASD or TC),
    `sex` (M or F), `age`, `fiq`, `mean_fd`, `eye_status` (open or closed).

    Files have one column per atlas label, named ``#1`` to ``#160``, which are the numbers of the
    Dosenbach atlas. Most have a 161st, ``#223``: one voxel where the spheres 108 and 115
    overlap [1]_. It is left out. A region outside the field of view is constant. The first two
    time points of a scan are almost equal; drop one with ``drop_first=1``.

    ABIDE is for non-commercial use, with attribution.

    References
    ----------
    .. [1] https://github.com/preprocessed-connectomes-project/abide/issues/12
    """
    datasets = import_extra("nilearn.datasets", "nifti")
    homes = [Path(place) / "ABIDE_pcp" for place in datasets.get_data_dirs(data_dir)]
    home = next((place for place in homes if place.is_dir()), homes[0])
    strategy = f"{'' if band_pass else 'no'}filt_{'' if global_signal else 'no'}global"
    fetch = partial(
        datasets.fetch_abide_pcp,
        data_dir=data_dir,
        pipeline=pipeline,
        band_pass_filtering=band_pass,
        global_signal_regression=global_signal,
        url=url,
        verbose=0,
    )
    table = _abide_table(partial(fetch, quality_checked=quality_checked), home, sites)[:subjects]
    paths = [
        home / pipeline / strategy / f"{file_id}_{_DERIVATIVE}.1D" for file_id in table["FILE_ID"]
    ]
    _download(fetch, dict(zip(paths, table["SUB_ID"].map(int), strict=True)))
    tr, own_tr = split_tr([_site_tr(row) for row in table.itertuples()])
    scans = [
        Scan(str(row.FILE_ID), str(row.SUB_ID), partial(_load, path), {**_phenotype(row), **own})
        for row, path, own in zip(table.itertuples(), paths, own_tr, strict=True)
    ]
    wanted = "dosenbach-dmn33" if regions is None else regions
    options = {"atlas": "dosenbach", "pipeline": pipeline, "regions": wanted}
    provenance = {"source": url or "ABIDE PCP", "options": options}
    read = Scans(scans, region_set("dosenbach-160").names, tr, provenance)
    return choose_regions(read, wanted)


def _abide_table(
    fetch: Callable[..., Any], home: Path, sites: Sequence[str] | None
) -> pd.DataFrame:
    """Return the rows of the phenotype table that are wanted."""
    try:
        table: pd.DataFrame = fetch(derivatives=[]).phenotypic  # without scans
    except OSError as error:
        raise _not_downloaded("the phenotype table of ABIDE", error) from error
    except (ValueError, KeyError) as error:
        raise UnreadableFileError(
            f"Expected the phenotype table of ABIDE in {home}, but it is damaged or "
            f"of another format ({error}); remove it there to download it again."
        ) from error
    chosen = _known_sites(sites, sorted(table["SITE_ID"].unique()))
    return table if chosen is None else table[table["SITE_ID"].isin(chosen)]


def _known_sites(wanted: Sequence[str] | None, known: Sequence[str]) -> list[str] | None:
    unknown = [site for site in wanted or () if site not in known]
    if unknown:
        raise UnknownNameError(
            f"Unknown sites: {name_first(unknown)}; the release has {name_first(known, 30)}."
        )
    return None if wanted is None else list(wanted)


def _download(fetch: Callable[..., Any], subjects: Mapping[Path, int]) -> None:
    """Fetch files that are not there, a few at a time: not all scans are in memory."""
    missing = [path for path in subjects if not path.is_file()]
    batches = range(0, len(missing), _SUBJECTS_PER_FETCH)
    for start in track(batches, "Downloading ABIDE") if missing else ():
        batch = missing[start : start + _SUBJECTS_PER_FETCH]
        numbers = [subjects[path] for path in batch]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about empty files: named when they are read
                fetch(derivatives=[_DERIVATIVE], quality_checked=False, SUB_ID=numbers)
        except (OSError, ValueError) as error:
            # nilearn stops at the first file it cannot get. It also parses them all, but a
            # damaged file is named when it is read.
            failed = [path for path in batch if not path.is_file()]
            if failed:
                raise _not_downloaded(failed[0].name, error) from error


def _not_downloaded(what: str, error: Exception) -> NotFoundError:
    reason = " ".join(str(error).split())
    return NotFoundError(
        f"Could not download {what} ({reason}); check the connection (or url) and run again: "
        "what is already downloaded is kept."
    )


def _site_tr(row: Any) -> float | None:  # noqa: ANN401
    protocol = str(row.FILE_ID).rpartition("_")[0]
    return _SECOND_PROTOCOL_TR.get(protocol, _SITE_TR.get(str(row.SITE_ID)))


def _phenotype(row: Any) -> dict[str, Any]:  # noqa: ANN401
    numbers = {"age": row.AGE_AT_SCAN, "fiq": row.FIQ, "mean_fd": row.func_mean_fd}
    return {
        "site": str(row.SITE_ID),
        "diagnosis": {1: "ASD", 2: "TC"}.get(row.DX_GROUP),
        "sex": {1: "M", 2: "F"}.get(row.SEX),
        **{n: float("nan") if v == _UNKNOWN else float(v) for n, v in numbers.items()},
        "eye_status": {1: "open", 2: "closed"}.get(row.EYE_STATUS_AT_SCAN),
    }


def _load(path: Path) -> NDArray[np.float64]:
    """Read one file as (region, time), regions in the order of the atlas."""
    try:
        file = look_at(path, time_first=True)
        found = file.load()
    except UnreadableFileError as error:
        raise UnreadableFileError(f"{error} Remove it to download it again.") from error
    if file.own_names is None and len(found) not in {_ATLAS_SIZE, _ATLAS_SIZE + 1}:
        raise UnreadableFileError(
            f"Expected 160 or 161 columns in {path}, found {len(found)}; remove it to download it "
            "again."
        )
    labels = file.own_names or [str(number) for number in range(1, len(found) + 1)]
    signals = np.full((_ATLAS_SIZE, found.shape[1]), np.nan)
    for row, name in enumerate(label.lstrip("#") for label in labels):
        if name.isdigit() and 1 <= int(name) <= _ATLAS_SIZE:
            signals[int(name) - 1] = found[row]
    return signals


# REST-meta-MDD

_ID = re.compile(r"S(?P<site>\d+)-(?P<group>[12])-(?P<number>\d+)")
_DIAGNOSES = {"1": "MDD", "2": "HC"}
_SITE_COLUMNS = ("site", "center", "centre", "site_id")
_GROUP_COLUMNS = ("group", "diagnosis", "dx", "if_mdd", "dx_group")
#: Tables in circulation code controls as 2 (like the ids), -1 (the consortium's) or 0.
_GROUP_WORDS = {
    **dict.fromkeys(("1", "mdd", "patient"), "MDD"),
    **dict.fromkeys(("2", "-1", "0", "hc", "nc", "control", "controls"), "HC"),
}
_NOT_KNOWN = re.compile(rf"{_UNKNOWN}(\.0*)?")
_PREFIX = "ROISignals_"
_VARIABLE = "ROISignals"

#: First and last column of each atlas in the matrix, counted from 1 as in the consortium's
#: description (DPABI's order). Older scans end with column 1568.
ATLAS_COLUMNS: Mapping[str, tuple[int, int]] = {
    "aal": (1, 116),
    "harvard-oxford-cortical": (117, 212),
    "harvard-oxford-subcortical": (213, 228),
    "craddock": (229, 428),
    "zalesky": (429, 1408),
    "dosenbach": (1409, 1568),
    "global": (1569, 1569),
    "power": (1570, 1833),
}


@dataclass(frozen=True)
class _Identity:
    """What a subject id of the consortium says: ``S20-1-0001`` is of site 20, with MDD."""

    subject: str
    site: str
    diagnosis: str


def _parse_id(text: str) -> _Identity | None:
    match = _ID.fullmatch(text.strip())
    return match and _Identity(match.group(), match["site"], _DIAGNOSES[match["group"]])


def read_rest_meta_mdd(
    folder: Path,
    *,
    labels: str | None = None,
    id_column: str | None = None,
    variant: str = "FunImgARglobalCWF",
    atlas: str = "dosenbach",
    regions: Sequence[str] | None = None,
    sites: Sequence[str] | None = None,
) -> Scans:
    """Read scans of the REST-meta-MDD release.

    Subject ids are ``S<site>-<group>-<number>`` with group 1 for patients (MDD) and 2 for
    controls (HC). The consortium asks not to use site 4, which repeats scans of site 14; its
    phenotype table (whose group and site must agree with the ids) has no rows for it. The default
    variant has global signal regression, as in the paper; ``"FunImgARCWF"`` has none. Of the
    Dosenbach atlas the paper's 33 default-mode regions are taken unless `regions` says otherwise.
    """
    root = require_existing(folder, "folder of the REST-meta-MDD release")
    if atlas not in ATLAS_COLUMNS:
        raise UnknownNameError(
            f"Unknown atlas {atlas!r}; known ones are {', '.join(ATLAS_COLUMNS)}."
        )
    first, last = ATLAS_COLUMNS[atlas]
    found = _signal_files(_variant_folder(root, variant))
    present = sorted({identity.site for identity in found}, key=int)
    wanted = _known_sites(None if sites is None else [s.removeprefix("S") for s in sites], present)
    scans = [
        Scan(
            identity.subject,
            identity.subject,
            partial(_load_columns, path, atlas),
            {"site": identity.site, "diagnosis": identity.diagnosis},
        )
        for identity, path in found.items()
        if wanted is None or identity.site in wanted
    ]
    default = "dosenbach-dmn33" if regions is None and atlas == "dosenbach" else None
    names = region_set("dosenbach-160").names
    if atlas != "dosenbach":
        names = tuple(f"{atlas}_{number:03d}" for number in range(1, last - first + 2))
    options = {"variant": variant, "atlas": atlas, **({"regions": default} if default else {})}
    kept = choose_regions(Scans(scans, names, None, {"options": options}), default)
    if labels is None:
        return kept
    return attach_labels(kept, _phenotype_table(labels, id_column, wanted), by="subject")


def _phenotype_table(path: str, id_column: str | None, sites: Sequence[str] | None) -> LabelTable:
    """Read the phenotype table, check it against the ids, and drop the columns that they say.

    The consortium's xlsx has one sheet for patients and one for controls.
    """
    table = read_label_table(path, id_column, all_sheets=True)
    id_column = table.find_id_column("subject")
    ids = table.ids("subject")
    identities = {name: _parse_id(name) for name in ids}
    strange = [name for name, identity in identities.items() if identity is None]
    if strange:
        raise InputError(
            f"Expected ids such as S20-1-0001 in the column {id_column} of {table.source}, found "
            f"{name_first(strange)}; correct or remove these rows."
        )
    known = [identity for identity in identities.values() if identity is not None]
    rows = [i for i, identity in enumerate(known) if sites is None or identity.site in sites]
    table = replace(table, id_column=id_column).keep_rows(rows)
    checked = _require_agreement(table, [known[row] for row in rows])
    columns = {
        name: ["" if _NOT_KNOWN.fullmatch(cell.strip()) else cell for cell in cells]
        for name, cells in table.columns.items()
        if name not in checked
    }
    return replace(table, columns=columns)


def _require_agreement(table: LabelTable, identities: Sequence[_Identity]) -> set[str]:
    """Compare site and group columns with the ids; return the columns compared."""
    site_column = table.column_like(_SITE_COLUMNS)
    group_column = table.column_like(_GROUP_COLUMNS)
    wrong: list[str] = []
    for row, identity in enumerate(identities):
        if site_column is not None:
            site = table.columns[site_column][row].strip().removeprefix("S")
            if site.lstrip("0") != identity.site.lstrip("0"):
                wrong.append(f"{identity.subject} (site {site or 'empty'})")
        if group_column is not None:
            group = table.columns[group_column][row].strip()
            if _GROUP_WORDS.get(group.lower()) != identity.diagnosis:
                wrong.append(f"{identity.subject} ({group_column} {group or 'empty'})")
    if wrong:
        raise InputError(
            f"Expected site and group in {table.source} to agree with the ids "
            f"(S<site>-<group>-<number>, group 1 = MDD, 2 = HC), but they differ for "
            f"{name_first(wrong)}; correct the table or the ids."
        )
    return {column for column in (site_column, group_column) if column is not None}


def _variant_folder(root: Path, variant: str) -> Path:
    wanted = _PREFIX + variant.removeprefix(_PREFIX)
    if root.name == wanted:
        return root
    homes = [root, root / "Results", *sorted(root.glob("*/Results"))]
    present = {path.name: path for home in homes for path in sorted(home.glob(f"{_PREFIX}*/"))}
    if wanted in present:
        return present[wanted]
    if root.name.startswith(_PREFIX):
        present[root.name] = root
    if not present:
        raise NotFoundError(
            f"Expected a folder {wanted} in {root} or its Results folder, found no folder "
            f"{_PREFIX}*; check the path."
        )
    variants = [name.removeprefix(_PREFIX) for name in present]
    raise NotFoundError(
        f"There is no variant {variant!r} in {root}; found {name_first(variants, 20)}; choose one "
        "with --variant."
    )


def _signal_files(folder: Path) -> dict[_Identity, Path]:
    paths = sorted(folder.glob(f"{_PREFIX}*.mat"))
    if not paths:
        raise NotFoundError(f"Expected files {_PREFIX}<SubID>.mat in {folder}, found none.")
    identities = {path: _parse_id(path.stem.removeprefix(_PREFIX)) for path in paths}
    strange = [path.name for path, identity in identities.items() if identity is None]
    if strange:
        raise InputError(
            f"Expected files such as {_PREFIX}S20-1-0001.mat (site, group 1 or 2, number) in "
            f"{folder}, found {name_first(strange)}; remove these, or import other data with "
            "--kind arrays."
        )
    return {identity: path for path, identity in identities.items() if identity is not None}


def _load_columns(path: Path, atlas: str) -> NDArray[np.floating]:
    first, last = ATLAS_COLUMNS[atlas]
    matrix = load_mat_matrix(path, _VARIABLE)
    if matrix.shape[1] < last:
        raise UnreadableFileError(
            f"Expected at least {last} columns in {path} ({atlas} is {first} to "
            f"{last}), found {matrix.shape[1]}; choose another --atlas."
        )
    return matrix[:, first - 1 : last].T
