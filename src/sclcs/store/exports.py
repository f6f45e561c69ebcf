"""Matrices in formats that other tools read: one file per format, one row in the registry."""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sclcs
from sclcs._core import (
    InputError,
    Ticker,
    UnknownNameError,
    atomic_directory,
    checked,
    did_you_mean,
    guard_cell,
    name_first,
    progress,
    text_digest,
    write_json,
    write_text,
)
from sclcs.cohort import table_to_csv
from sclcs.spi import catalogue, catalogue_rows, our_operators, own_operators
from sclcs.store.fc_store import FCStore

__all__ = [
    "FORMATS",
    "Export",
    "ExportOrder",
    "ExportRows",
    "Per",
    "SampleName",
    "bids_labels",
    "export_matrices",
    "file_labels",
    "measure_label",
    "plain_number",
    "sample_names",
    "write_csv",
    "write_mat",
    "write_npz",
    "write_relmat",
]


_OTHER = re.compile(r"[^A-Za-z0-9]")
_HASH_DIGITS = 8
LONGEST_LABEL = 64
# Columns of the sample table and the entity they become, in the order of BIDS names.
ENTITIES = (
    ("subject", "sub"),
    ("session", "ses"),
    ("task", "task"),
    ("run", "run"),
    ("window", "window"),
)


@dataclass(frozen=True)
class SampleName:
    """Where a sample's matrices go.

    Parameters
    ----------
    folder : str
        Below the root, for example ``sub-01/ses-2/func``.
    stem : str
        Beginning of its file names, for example ``sub-01_ses-2_window-0``.
    """

    folder: str
    stem: str


def bids_labels(texts: Iterable[object]) -> dict[str, str]:
    """Turn names into labels of letters and digits only, a different one for each.

    Parameters
    ----------
    texts : iterable
        Names as they are in the cohort, repeated or not.

    Returns
    -------
    dict of str to str
        By name. Where leaving characters out would make two names alike (upper and lower case
        counting as the same), nothing would be left, or a name is very long, the label keeps a
        hash of the name.

    Examples
    --------
    >>> bids_labels(["sub-01", "NYU_0051"])
    {'sub-01': '01', 'NYU_0051': 'NYU0051'}
    >>> len(set(bids_labels(["a-b", "a_b", "../ab"]).values()))
    3
    """
    names = dict.fromkeys(str(text) for text in texts)
    plain = {name: _OTHER.sub("", name.removeprefix("sub-").removeprefix("ses-")) for name in names}
    often = Counter(label.casefold() for label in plain.values())
    return {
        name: label
        if often[label.casefold()] == 1 and 0 < len(label) <= LONGEST_LABEL
        else f"{label[:LONGEST_LABEL]}x{text_digest(name, _HASH_DIGITS)}"
        for name, label in plain.items()
    }


@cache
def _measure_labels() -> dict[str, str]:
    return bids_labels(our_operators()) | {"pearson": "pearsoncorrelation"}  # as XCP-D calls it


def measure_label(operator: str) -> str:
    """Return the label of an operator, for example ``covEmpiricalCovariance``."""
    ours = _measure_labels()
    return ours[operator] if operator in ours else f"own{bids_labels(own_operators())[operator]}"


def sample_names(samples: pd.DataFrame, *, mean: bool = False) -> list[SampleName]:
    """Name the files of samples by subject, session, task, run and window, as far as known.

    Parameters
    ----------
    samples : DataFrame
        One row of facts per sample.
    mean : bool
        Whether a row is the mean of a subject's samples: its name says so (``desc-mean``).

    Returns
    -------
    list of SampleName
        No two alike, even where upper and lower case are the same.
    """
    known = [(column, key) for column, key in ENTITIES if column in samples]
    if "window" in samples and not samples["window"].any():
        known.remove(("window", "window"))  # whole scans
    labels = {
        column: bids_labels(value for value in samples[column] if not _absent(value))
        for column, _ in known
    }
    names = [
        [
            (key, labels[column][str(row[column])])
            for column, key in known
            if not _absent(row[column])
        ]
        for row in samples.to_dict(orient="records")
    ]
    return [
        _name([*entities, ("desc", "mean")] if mean else entities, identifier, alone)
        for entities, identifier, alone in zip(
            names, samples.index, _unique([_joined(name) for name in names]), strict=True
        )
    ]


def _absent(value: object) -> bool:
    return value is None or value == "" or bool(pd.isna(value))  # type: ignore[call-overload]


def _unique(stems: Sequence[str]) -> list[bool]:
    often = Counter(stem.casefold() for stem in stems)
    return [often[stem.casefold()] == 1 for stem in stems]


def _joined(entities: Sequence[tuple[str, str]]) -> str:
    return "_".join(f"{key}-{label}" for key, label in entities)


def _undescribed(entities: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(key, label) for key, label in entities if key != "desc"]


def _name(entities: list[tuple[str, str]], identifier: object, alone: bool) -> SampleName:
    stem = (
        _joined(entities)
        if alone
        else f"{_joined(_undescribed(entities))}_desc-x{text_digest(str(identifier), _HASH_DIGITS)}"
    )
    folders = [f"{key}-{label}" for key, label in entities if key in {"sub", "ses"}]
    return SampleName("/".join([*folders, "func"]), stem)


Per = Literal["window", "subject"]
Matrix = NDArray[np.float32]

# Facts of windows: they have no meaning for a mean over windows.
_OF_WINDOWS = ("window", "scan", "start", "n_timepoints")


@dataclass(frozen=True)
class ExportRows:
    """The matrices of a store, one by one.

    Parameters
    ----------
    store : FCStore
    per : {'window', 'subject'}
        What one matrix stands for.
    """

    store: FCStore
    per: Per = "window"

    def __post_init__(self) -> None:
        if self.per not in get_args(Per):
            raise InputError(f"Expected one matrix per 'window' or 'subject', got {self.per!r}.")

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def groups(self) -> list[NDArray[np.int64]]:
        """The rows of the store behind each matrix."""
        if self.per == "window":
            return [np.array([row]) for row in range(len(self.store))]
        codes, _ = pd.factorize(self.store.samples["subject"])
        return [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row of facts per matrix; of a subject those that are the same in all its windows."""
        table = self.store.samples
        if self.per == "window":
            return table
        rows = [self._shared(table.iloc[group]) for group in self.groups]
        index = pd.Index([str(row["subject"]) for row in rows], name="sample_id", dtype=object)
        made = pd.DataFrame(rows, index=index)
        return made.assign(windows=[len(group) for group in self.groups])

    def _shared(self, windows: pd.DataFrame) -> dict[str, Any]:
        kept = [name for name in windows.columns if name not in _OF_WINDOWS]
        return {
            str(name): windows[name].iloc[0] if len(set(map(str, windows[name]))) == 1 else None
            for name in kept
        }

    def matrices(self, operator: str) -> Iterator[Matrix]:
        """Yield the matrices of an operator in the order of :attr:`samples`."""
        if self.per == "window":
            size, step = len(self.store), self.store.block_size(operator)
            for start in range(0, size, step):
                rows = np.arange(start, min(start + step, size))
                yield from self.store.matrices(operator, rows)
            return
        for group in self.groups:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a pair without any value: NaN
                yield np.nanmean(
                    self.store.matrices(operator, group).astype(np.float64), axis=0
                ).astype(np.float32)

    def directed(self, operator: str) -> bool:
        """Tell whether an operator's matrices are not symmetric."""
        return str(catalogue_rows()[operator]["symmetry"]) != "symmetric"


@dataclass(frozen=True)
class ExportOrder:
    """Everything a format needs.

    Parameters
    ----------
    rows : ExportRows
        The matrices.
    operators : list of str
        Which operators.
    folder : Path
        Where to write.
    ticker : Ticker
        Advanced by one for every matrix.
    """

    rows: ExportRows
    operators: list[str]
    folder: Path
    ticker: Ticker

    @property
    def regions(self) -> tuple[str, ...]:
        """Names of the regions."""
        return self.rows.store.regions

    @property
    def samples(self) -> pd.DataFrame:
        """One row of facts per matrix."""
        return self.rows.samples

    def names(self) -> list[SampleName]:
        """Return the names of the files of each matrix."""
        return sample_names(self.samples, mean=self.rows.per == "subject")


def file_labels(order: ExportOrder) -> list[str]:
    """Return a safe, unique name for the files of each matrix, without folders."""
    return [name.stem for name in order.names()]


def plain_number(value: float) -> str:
    """Write a number with as many digits as bring a float32 back exactly."""
    return f"{value:.9g}"


def write_npz(order: ExportOrder) -> int:
    """Write one ``<operator>.npz`` with matrices (sample, source, target), ids and regions."""
    _write_samples(order)
    for operator in order.operators:
        np.savez_compressed(
            order.folder / f"{operator}.npz",
            matrices=np.stack(list(order.rows.matrices(operator))),
            sample_ids=np.array(order.samples.index, dtype=str),
            regions=np.array(order.regions, dtype=str),
            operator=np.array(operator),
        )
        order.ticker.advance(len(order.rows))
    return len(order.operators)


def write_mat(order: ExportOrder) -> int:
    """Write one ``<operator>.mat``: matrices (source, target, sample), ids and regions as cells."""
    from scipy.io import savemat

    _write_samples(order)
    for operator in order.operators:
        matrices = np.stack(list(order.rows.matrices(operator)), axis=-1).astype(np.float64)
        savemat(
            order.folder / f"{operator}.mat",
            {
                "matrices": matrices,
                "sample_ids": np.array(list(order.samples.index), dtype=object),
                "regions": np.array(order.regions, dtype=object),
                "operator": operator,
            },
            do_compression=True,
        )
        order.ticker.advance(len(order.rows))
    return len(order.operators)


def write_csv(order: ExportOrder) -> int:
    """Write one ``<operator>/<sample>.csv`` with the regions in its first row and column."""
    _write_samples(order)
    labels = file_labels(order)
    for operator in order.operators:
        (order.folder / operator).mkdir()
        for label, matrix in zip(labels, order.rows.matrices(operator), strict=True):
            stream = io.StringIO()
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["region", *map(guard_cell, order.regions)])
            for name, row in zip(order.regions, matrix.tolist(), strict=True):
                writer.writerow([guard_cell(name), *map(_cell, row)])
            write_text(order.folder / operator / f"{label}.csv", stream.getvalue())
            order.ticker.advance()
    return len(order.operators) * len(order.rows)


def _cell(value: float) -> str:
    return "" if np.isnan(value) else plain_number(value)


def _write_samples(order: ExportOrder) -> None:
    table: pd.DataFrame = order.samples.copy()
    write_text(order.folder / "samples.csv", table_to_csv(table, guarded=True))


BIDS_VERSION = "1.10.0"
MISSING = "n/a"  # as BIDS writes it


def write_relmat(order: ExportOrder) -> int:
    """Write ``sub-<label>[/ses-<label>]/func/sub-..._stat-<operator>_relmat.tsv``.

    With the regions as header, a description per operator, and ``samples.tsv`` that says which
    sample is which file.
    """
    store, operators, folder = order.rows.store, order.operators, order.folder
    names = order.names()
    for name in names:
        (folder / name.folder).mkdir(parents=True, exist_ok=True)
    _describe(order)
    facts = order.samples.reset_index()
    texts = [name for name in facts.columns if facts[name].dtype == object]
    facts[texts] = facts[texts].map(lambda cell: guard_cell(cell) if cell is not None else None)
    pattern = f"{_segmentation(order)}_stat-*_relmat.tsv"
    facts.insert(1, "file", [f"{name.folder}/{name.stem}{pattern}" for name in names])
    write_text(folder / "samples.tsv", facts.to_csv(sep="\t", index=False, na_rep=MISSING))
    nodes = [guard_cell(name) for name in store.regions]
    header, rows = _line(["Node", *nodes]), [_line([name]).rstrip("\n") for name in nodes]
    for operator in operators:
        end = f"{_segmentation(order)}_stat-{measure_label(operator)}_relmat.tsv"
        for name, matrix in zip(names, order.rows.matrices(operator), strict=True):
            path = folder / name.folder / f"{name.stem}{end}"
            path.write_text(header + _text(matrix, rows), encoding="utf-8")
            order.ticker.advance()
    return len(operators) * len(order.rows)


def _segmentation(order: ExportOrder) -> str:
    """Return the entities that name space and atlas, if the cohort tells them."""
    options = order.rows.store.provenance.get("cohort", {}).get("options") or {}
    told = {"space": options.get("space"), "seg": options.get("atlas")}
    labels = {
        key: re.sub(r"[^A-Za-z0-9]", "", Path(str(value or "")).name.split(".")[0])
        for key, value in told.items()
    }
    return "".join(f"_{key}-{label}" for key, label in labels.items() if label)


def _line(cells: Sequence[str]) -> str:
    """Return cells as one line; a tab or a line end inside a cell is quoted, as pandas reads it."""
    stream = io.StringIO()
    csv.writer(stream, delimiter="\t", lineterminator="\n").writerow(cells)
    return stream.getvalue()


def _text(matrix: NDArray[np.float32], names: Sequence[str]) -> str:
    # Nine digits bring every float32 back exactly.
    lines = ("\t".join("n/a" if v != v else f"{v:.9g}" for v in row) for row in matrix.tolist())  # noqa: PLR0124 (NaN)
    return "".join(f"{name}\t{line}\n" for name, line in zip(names, lines, strict=True))


def _describe(order: ExportOrder) -> None:
    store, folder = order.rows.store, order.folder
    made = {"Name": "sclcs", "Version": sclcs.__version__}
    write_json(
        folder / "dataset_description.json",
        {
            "Name": "Functional connectivity",
            "BIDSVersion": BIDS_VERSION,
            "DatasetType": "derivative",
            "GeneratedBy": [made],
            "SourceCohort": {"Fingerprint": store.fingerprint, "Seeds": store.seeds},
        },
    )
    table = catalogue()
    for operator in order.operators:
        # One description for all files of a measure: BIDS inherits it downwards.
        write_json(
            folder / f"stat-{measure_label(operator)}_relmat.json",
            _sidecar(operator, table.loc[operator].to_dict(), order),
        )


def _sidecar(operator: str, facts: Mapping[Any, Any], order: ExportOrder) -> dict[str, Any]:
    store = order.rows.store
    directed = facts["symmetry"] != "symmetric"
    return {
        "RelationshipMeasure": operator,
        "MeasureDescription": facts["description"],
        "Weighted": True,
        "Directed": directed,
        "Orientation": facts["orientation"] if directed else MISSING,
        "ValidDiagonal": False,
        "StorageFormat": "Full",
        "NonNegative": "unsigned" in str(facts["labels"]).split(),
        "Reference": facts["reference"],
        "Quirk": facts["quirk"] or MISSING,
        "Nodes": list(store.regions),
        "RepetitionTime": store.tr,
        "Averaged": "over the windows of each subject" if order.rows.per == "subject" else MISSING,
    }


@dataclass(frozen=True)
class Export:
    """What was written.

    Parameters
    ----------
    folder : Path
        Where.
    format : str
        A key of :data:`FORMATS`.
    operators : list of str
        What.
    samples : int
        Of how many samples or subjects.
    files : int
        In how many files with matrices.
    """

    folder: Path
    format: str
    operators: list[str]
    samples: int
    files: int


@checked
def export_matrices(
    store: FCStore | str | os.PathLike[str],
    out: str | os.PathLike[str],
    format: str = "relmat",  # noqa: A002 (the word users know)
    spis: str | Sequence[str] | None = None,
    *,
    per: Per = "window",
) -> Export:
    """Write an FC store's matrices as files for other tools.

    Parameters
    ----------
    store : FCStore or path
        The matrices.
    out : path-like
        A folder that does not exist yet. It appears only when it is complete.
    format : str
        ``relmat`` (tables named as XCP-D and the draft of BIDS for relationship matrices do),
        ``npz``, ``mat`` or ``csv``.
    spis : str or sequence of str, optional
        Operators of the store; all complete ones by default.
    per : {'window', 'subject'}
        One matrix per sample, or one per subject: the mean over its samples.

    Returns
    -------
    Export

    Raises
    ------
    InputError
        If an operator is not complete in the store.
    OutputExistsError
        If the folder is there already.

    Examples
    --------
    ``export_matrices("RUN/fc.zarr", "for_matlab", "mat", per="subject")``
    """
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise UnknownNameError(
            f"Unknown export format {format!r}; the known ones are {known}."
            f"{did_you_mean(format, FORMATS)}"
        )
    opened = store if isinstance(store, FCStore) else FCStore.open(store)
    rows = ExportRows(opened, per)
    operators = _operators(opened, spis)
    with (
        atomic_directory(out) as folder,
        progress(f"Exporting {format}", len(operators) * len(rows)) as ticker,
    ):
        order = ExportOrder(rows, operators, folder, ticker)
        files = FORMATS[format](order)
    return Export(Path(out), format, operators, len(rows), files)


def _operators(store: FCStore, spis: str | Sequence[str] | None) -> list[str]:
    complete = store.complete_operators
    if spis is None:
        if not complete:
            raise InputError(f"No operator is complete in {store.path}: nothing can be exported.")
        return complete
    from sclcs.spi import resolve

    wanted = resolve(spis)
    missing = [name for name in wanted if name not in complete]
    if missing:
        raise InputError(
            f"Not complete in {store.path}: {name_first(missing)}; it holds "
            f"{name_first(complete, 10)}. `sclcs compute` adds operators."
        )
    return wanted


Writer = Callable[[ExportOrder], int]

#: How to write each format.
FORMATS: Mapping[str, Writer] = MappingProxyType(
    {
        "relmat": write_relmat,
        "npz": write_npz,
        "mat": write_mat,
        "csv": write_csv,
    }
)
