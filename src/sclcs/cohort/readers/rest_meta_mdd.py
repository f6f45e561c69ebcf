"""The REST-meta-MDD consortium's layout: one ROISignals_<SubID>.mat per scan."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.labels import attach_labels
from sclcs.cohort.readers.mat_files import load_mat_matrix
from sclcs.cohort.readers.rest_meta_mdd_phenotype import Identity, parse_id, read_phenotype
from sclcs.cohort.regions import choose_regions, region_set
from sclcs.cohort.scans import Scan, Scans
from sclcs.core.arguments import checked
from sclcs.core.errors import (
    InputError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
    name_first,
)
from sclcs.core.files import require_existing

__all__ = ["ATLAS_BLOCKS", "PAPER_SITES", "AtlasBlock", "read_rest_meta_mdd"]

PAPER_SITES = ("15", "17", "19", "20", "21", "22", "23")
"""The seven sites of the paper's cohort of 904 subjects."""

_PREFIX = "ROISignals_"
_VARIABLE = "ROISignals"


@dataclass(frozen=True)
class AtlasBlock:
    """The columns of one atlas in the matrix.

    Parameters
    ----------
    first, last : int
        First and last column, counted from 1 as in the consortium's description.
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


@checked
def read_rest_meta_mdd(
    folder: str | os.PathLike[str],
    *,
    phenotype: str | os.PathLike[str] | None = None,
    variant: str = "FunImgARglobalCWF",
    atlas: str = "dosenbach",
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
    phenotype : path-like, optional
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
        "phenotype": None if phenotype is None else str(phenotype),
        "variant": variant,
        "atlas": atlas,
        "regions": chosen if chosen is None or isinstance(chosen, str) else list(chosen),
        "sites": None if wanted is None else list(wanted),
        "tr": tr,
    }
    provenance = {"reader": "rest-meta-mdd", "source": str(root), "options": options}
    kept = choose_regions(Scans(scans, names, tr, provenance), chosen)
    if phenotype is None:
        return kept
    return attach_labels(kept, read_phenotype(phenotype, wanted), by="subject")


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
