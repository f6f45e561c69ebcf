"""Folders as pipelines leave them, whose files are damaged one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from pipeline_trees import (
    read_arrays,
    read_bids,
    read_conn,
    read_mdd,
    read_mne,
    read_ukb,
    write_conn,
    write_cpac,
    write_halfpipe,
    write_hcp,
    write_ukb,
    write_xcp_d,
)

from sclcs.cohort import Scans

Make = Callable[[Path], object]
Read = Callable[[Path], Scans]


def _xcp_d(home: Path) -> None:
    folder = write_xcp_d(home)
    for func in folder.glob("sub-*/func"):
        name = f"{func.parent.name}_task-rest_motion.tsv"
        (func / name).write_text("framewise_displacement\n0.0\n0.2\n0.4\n")


def _raw(home: Path) -> None:
    import mne

    info = mne.create_info(["Fz", "Cz", "Pz"], 50.0, "eeg")
    values = np.random.default_rng(4).normal(size=(3, 100)) * 1e-5
    mne.io.RawArray(values, info, verbose="ERROR").save(home / "a_raw.fif", verbose="ERROR")


def _meta_mdd(home: Path) -> None:
    import openpyxl
    import scipy.io

    folder = home / "Results" / "ROISignals_FunImgARglobalCWF"
    folder.mkdir(parents=True)
    ids = ["S1-1-0001", "S1-2-0001"]
    for number, name in enumerate(ids):
        signals = np.random.default_rng(number).normal(size=(14, 1833))
        scipy.io.savemat(folder / f"ROISignals_{name}.mat", {"ROISignals": signals})
    book = openpyxl.Workbook()
    for row in (["ID", "Sex", "Age"], [ids[0], 1, 33], [ids[1], 2, 30]):
        book.active.append(row)
    book.save(home / "phenotype.xlsx")


def _xcp_d_cifti(home: Path) -> None:
    folder = write_xcp_d(home)
    for table in folder.glob("sub-*/func/*_timeseries.tsv"):
        table.unlink()


def _read_hcp(home: Path) -> Scans:
    return read_arrays(
        home, pattern="**/*.ptseries.nii", file_names="{subject}/MNINonLinear/Results/{run}/*"
    )


def _read_cpac(home: Path) -> Scans:
    (folder,) = (home / "output").iterdir()
    return read_bids(folder, entity={"reg": "36Parameter"})


def trees() -> Iterator[tuple[str, Make, Read]]:
    """Yield name, how the folder is made, and how it is read."""
    yield "XCP-D", _xcp_d, lambda h: read_bids(h / "derivatives" / "xcp_d")
    yield "XCP-D CIFTI", _xcp_d_cifti, lambda h: read_bids(h / "derivatives" / "xcp_d")
    yield "C-PAC", write_cpac, _read_cpac
    yield "HALFpipe", write_halfpipe, lambda h: read_bids(h / "derivatives" / "halfpipe")
    yield "CONN", write_conn, lambda h: read_conn(h / "conn_study", atlas="all", condition="rest")
    yield (
        "CONN v7.3",
        lambda h: write_conn(h, version="v73"),
        lambda h: read_conn(h / "conn_study", atlas="all"),
    )
    yield "UK Biobank", write_ukb, read_ukb
    yield "HCP ptseries", write_hcp, _read_hcp
    yield (
        "REST-meta-MDD",
        _meta_mdd,
        lambda h: read_mdd(h, labels=h / "phenotype.xlsx"),
    )
    try:
        import mne  # noqa: F401
    except ImportError:
        return
    yield "MNE", _raw, read_mne
