"""Ids and the phenotype table of REST-meta-MDD."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
    name_first,
    require_existing,
)
from sclcs.cohort.labels import LabelTable, attach_labels, read_label_table
from sclcs.cohort.readers.mat_files import load_mat_matrix
from sclcs.cohort.regions import choose_regions, region_set
from sclcs.cohort.scans import Scan, Scans

__all__ = [
    "ATLAS_BLOCKS",
    "PAPER_SITES",
    "AtlasBlock",
    "Identity",
    "parse_id",
    "read_phenotype",
    "read_rest_meta_mdd",
]


_ID = re.compile(r"S(?P<site>\d+)-(?P<group>[12])-(?P<number>\d+)")
_DIAGNOSES = {"1": "MDD", "2": "HC"}

_SITE_COLUMNS = ("site", "center", "centre", "site_id")
_GROUP_COLUMNS = ("group", "diagnosis", "dx", "if_mdd", "dx_group")
# Tables in circulation code controls as 2 (like the ids), -1 (the consortium's) or 0.
_GROUP_WORDS = {
    "1": "MDD",
    "mdd": "MDD",
    "patient": "MDD",
    "2": "HC",
    "-1": "HC",
    "0": "HC",
    "hc": "HC",
    "nc": "HC",
    "control": "HC",
    "controls": "HC",
}
_NOT_KNOWN = re.compile(r"-9999(\.0*)?")


@dataclass(frozen=True)
class Identity:
    """What a subject id of the consortium says.

    `subject`: the id, for example ``"S20-1-0001"``; `site`: ``"20"``; `diagnosis`: ``"MDD"`` or
    ``"HC"``.
    """

    subject: str
    site: str
    diagnosis: str


def parse_id(text: str) -> Identity | None:
    """Take a subject id apart; None if it is not one."""
    match = _ID.fullmatch(text.strip())
    if match is None:
        return None
    return Identity(match.group(), match["site"], _DIAGNOSES[match["group"]])


def read_phenotype(path: str | os.PathLike[str], sites: Sequence[str] | None = None) -> LabelTable:
    """Read the phenotype table and check it against the ids.

    `path`: a csv, tsv or xlsx file; the consortium's xlsx has one sheet for patients and one for
    controls; `sites`: sites to keep; all if not given. Returns: without the columns of site and
    group, which the ids already say; -9999 is missing.
    """
    table = read_label_table(path, all_sheets=True)
    id_column = table.find_id_column("subject")
    ids = table.ids("subject")
    identities = [parse_id(name) for name in ids]
    strange = [name for name, identity in zip(ids, identities, strict=True) if identity is None]
    if strange:
        raise InputError(
            f"Expected ids such as S20-1-0001 in the column {id_column} of {table.source}, found "
            f"{name_first(strange)}; correct or remove these rows."
        )
    known = [identity for identity in identities if identity is not None]
    rows = [i for i, identity in enumerate(known) if sites is None or identity.site in sites]
    table = replace(table, id_column=id_column).keep_rows(rows)
    checked = _require_agreement(table, [known[row] for row in rows])
    columns = {
        name: ["" if _NOT_KNOWN.fullmatch(cell.strip()) else cell for cell in cells]
        for name, cells in table.columns.items()
        if name not in checked
    }
    return replace(table, columns=columns)


def _require_agreement(table: LabelTable, identities: Sequence[Identity]) -> set[str]:
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


PAPER_SITES = ("15", "17", "19", "20", "21", "22", "23")
"""The seven sites of the paper's cohort of 904 subjects."""

_PREFIX = "ROISignals_"
_VARIABLE = "ROISignals"


@dataclass(frozen=True)
class AtlasBlock:
    """The columns of one atlas in the matrix.

    `first, last`: first and last column, counted from 1 as in the consortium's description.
    """

    first: int
    last: int

    @property
    def size(self) -> int:
        """Number of regions."""
        return self.last - self.first + 1


ATLAS_BLOCKS: Mapping[str, AtlasBlock] = {
    "aal": AtlasBlock(1, 116),
    "harvard-oxford-cortical": AtlasBlock(117, 212),
    "harvard-oxford-subcortical": AtlasBlock(213, 228),
    "craddock": AtlasBlock(229, 428),
    "zalesky": AtlasBlock(429, 1408),
    "dosenbach": AtlasBlock(1409, 1568),
    "global": AtlasBlock(1569, 1569),
    "power": AtlasBlock(1570, 1833),
}
"""The atlases in the matrix (DPABI's order). Older scans end with column 1568."""


def read_rest_meta_mdd(
    folder: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    variant: str = "FunImgARglobalCWF",
    atlas: str | None = None,
    regions: str | Sequence[str] | None = None,
    sites: str | Sequence[str | int] | None = None,
    tr: float | None = None,
) -> Scans:
    """Read scans of the REST-meta-MDD release.

    Subject ids are ``S<site>-<group>-<number>`` with group 1 for patients (MDD) and 2 for
    controls (HC). The consortium asks not to use site 4, which repeats scans of site 14; its
    phenotype table has no rows for it.

    Parameters
    ----------
    folder : path-like
        The release, its ``Results`` folder, or a folder ``ROISignals_<variant>`` itself.
    labels : path-like, optional
        The table of participants (csv, tsv, or xlsx with its sheets for patients and
        controls), joined by id. Group and site columns must agree with the ids.
    variant : str
        Preprocessing; the default has global signal regression, as in the paper.
        ``"FunImgARCWF"`` has none.
    atlas : str
        One of ``aal``, ``harvard-oxford-cortical``, ``harvard-oxford-subcortical``,
        ``craddock``, ``zalesky``, ``dosenbach``, ``global``, ``power``.
    regions : str or sequence of str, optional
        A region set or region names (``"aal_001"``); ``"all"`` for all of the atlas. By default
        the paper's ``dosenbach-dmn33`` for Dosenbach, and all for the others.
    sites : str or sequence, optional
        Sites to keep, for example ``PAPER_SITES`` or ``"15,17"``; all if not given.
    tr : float, optional
        Repetition time in seconds; the files do not say it.

    Returns
    -------
    Scans
        With the facts `site`, `diagnosis` (MDD or HC) and those of the phenotype table.
    """
    root = require_existing(folder, "folder of the REST-meta-MDD release")
    atlas = atlas or "dosenbach"
    block = _block(atlas)
    chosen = "dosenbach-dmn33" if regions is None and atlas == "dosenbach" else regions
    found = _signal_files(_variant_folder(root, variant))
    wanted = _wanted_sites(sites, found)
    files = {i: path for i, path in found.items() if wanted is None or i.site in wanted}
    names = _region_names(atlas, block)
    scans = [
        Scan(
            identity.subject,
            identity.subject,
            partial(_load_block, path, atlas, block),
            {"site": identity.site, "diagnosis": identity.diagnosis},
        )
        for identity, path in files.items()
    ]
    options = {
        "labels": None if labels is None else str(labels),
        "variant": variant,
        "atlas": atlas,
        "regions": chosen if chosen is None or isinstance(chosen, str) else list(chosen),
        "sites": None if wanted is None else list(wanted),
        "tr": tr,
    }
    provenance = {"reader": "rest-meta-mdd", "source": str(root), "options": options}
    kept = choose_regions(Scans(scans, names, tr, provenance), chosen)
    if labels is None:
        return kept
    return attach_labels(kept, read_phenotype(labels, wanted), by="subject")


def _block(atlas: str) -> AtlasBlock:
    if atlas not in ATLAS_BLOCKS:
        raise UnknownNameError(
            f"Unknown atlas {atlas!r}; known ones are {', '.join(ATLAS_BLOCKS)}."
        )
    return ATLAS_BLOCKS[atlas]


def _region_names(atlas: str, block: AtlasBlock) -> tuple[str, ...]:
    if atlas == "dosenbach":
        return region_set("dosenbach-160").names
    return tuple(f"{atlas}_{number:03d}" for number in range(1, block.size + 1))


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


def _signal_files(folder: Path) -> dict[Identity, Path]:
    paths = sorted(folder.glob(f"{_PREFIX}*.mat"))
    if not paths:
        raise NotFoundError(f"Expected files {_PREFIX}<SubID>.mat in {folder}, found none.")
    identities = {path: parse_id(path.stem.removeprefix(_PREFIX)) for path in paths}
    strange = [path.name for path, identity in identities.items() if identity is None]
    if strange:
        raise InputError(
            f"Expected files such as {_PREFIX}S20-1-0001.mat (site, group 1 or 2, number) in "
            f"{folder}, found {name_first(strange)}; remove these, or import other data with the "
            "arrays reader."
        )
    return {identity: path for path, identity in identities.items() if identity is not None}


def _wanted_sites(
    sites: str | Sequence[str | int] | None, found: Mapping[Identity, Path]
) -> tuple[str, ...] | None:
    if sites is None:
        return None
    listed = re.split(r"[\s,]+", sites.strip()) if isinstance(sites, str) else sites
    wanted = tuple(str(site).strip().removeprefix("S") for site in listed)
    present = sorted({identity.site for identity in found}, key=int)
    unknown = [site for site in wanted if site not in present]
    if unknown or not wanted:
        raise UnknownNameError(
            f"Unknown sites: {name_first(unknown) or 'none given'}; the release here has "
            f"{name_first(present, 30)}."
        )
    return wanted


def _load_block(path: Path, atlas: str, block: AtlasBlock) -> NDArray[np.floating]:
    matrix = load_mat_matrix(path, _VARIABLE)
    if matrix.shape[1] < block.last:
        raise UnreadableFileError(
            f"Expected at least {block.last} columns in {path} ({atlas} is {block.first} to "
            f"{block.last}), found {matrix.shape[1]}; choose another --atlas."
        )
    return matrix[:, block.first - 1 : block.last].T
