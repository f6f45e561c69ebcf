"""Matrices in formats that other tools read: one writer per format, one row in `FORMATS`."""

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
from typing import Any, Literal, NamedTuple

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
from sclcs.spi import catalogue, our_operators, own_operators, resolve
from sclcs.store.fc_store import FCStore

Per = Literal["window", "subject"]
Matrix = NDArray[np.float32]

BIDS_VERSION = "1.10.0"
ABSENT = "n/a"  # as BIDS writes it
LONGEST_LABEL = 64
#: Columns of the sample table and the entity they become, in the order of BIDS names.
ENTITIES = (
    ("subject", "sub"),
    ("session", "ses"),
    ("task", "task"),
    ("run", "run"),
    ("window", "window"),
)
# Columns of windows: they have no meaning for a mean over windows.
_OF_WINDOWS = ("window", "scan", "start", "n_timepoints")
_OTHER = re.compile(r"[^A-Za-z0-9]")
_HASH_DIGITS = 8


class SampleName(NamedTuple):
    """Where a sample's matrices go: ``sub-01/ses-2/func``, ``sub-01_ses-2_window-0``."""

    folder: str
    stem: str


def bids_labels(names: Iterable[object]) -> dict[str, str]:
    """Turn names into labels of letters and digits only, a different one for each.

    Where leaving characters out would make two names alike (upper and lower case counting as the
    same), nothing would be left, or a name is very long, the label keeps a hash of the name.

    Examples
    --------
    >>> bids_labels(["sub-01", "NYU_0051"])
    {'sub-01': '01', 'NYU_0051': 'NYU0051'}
    >>> len(set(bids_labels(["a-b", "a_b", "../ab"]).values()))
    3
    """
    unique = dict.fromkeys(str(name) for name in names)
    plain = {n: _OTHER.sub("", n.removeprefix("sub-").removeprefix("ses-")) for n in unique}
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

    With `mean` a row is the mean of a subject's samples, and its name says so (``desc-mean``). No
    two names are alike, even where upper and lower case are the same.
    """
    known = [(column, key) for column, key in ENTITIES if column in samples]
    if "window" in samples and not samples["window"].any():
        known.remove(("window", "window"))  # whole scans
    labels = {
        column: bids_labels(value for value in samples[column] if not _absent(value))
        for column, _ in known
    }
    rows = [
        {key: labels[column][str(row[column])] for column, key in known if not _absent(row[column])}
        for row in samples.to_dict(orient="records")
    ]
    often = Counter(_joined(row).casefold() for row in rows)
    names = []
    for row, identifier in zip(rows, samples.index, strict=True):
        entities = row
        if often[_joined(row).casefold()] > 1:
            entities = row | {"desc": f"x{text_digest(str(identifier), _HASH_DIGITS)}"}
        elif mean:
            entities = row | {"desc": "mean"}
        folders = [f"{key}-{label}" for key, label in row.items() if key in {"sub", "ses"}]
        names.append(SampleName("/".join([*folders, "func"]), _joined(entities)))
    return names


def _absent(value: object) -> bool:
    return value is None or value == "" or bool(pd.isna(value))  # type: ignore[call-overload]


def _joined(entities: Mapping[str, str]) -> str:
    return "_".join(f"{key}-{label}" for key, label in entities.items())


@dataclass(frozen=True)
class ExportOrder:
    """What a format has to write."""

    store: FCStore
    operators: list[str]
    per: Per  # what one matrix stands for
    folder: Path  # where to write
    ticker: Ticker  # advanced by one for every matrix

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def regions(self) -> tuple[str, ...]:
        """Names of the regions."""
        return self.store.regions

    @cached_property
    def subjects(self) -> list[NDArray[np.int64]]:
        """The rows of the store of each subject."""
        codes, _ = pd.factorize(self.store.samples["subject"])
        return [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row of metadata per matrix; of a subject what is the same in all its windows."""
        table = self.store.samples
        if self.per == "window":
            return table
        columns = [name for name in table.columns if name not in _OF_WINDOWS]
        rows = [
            {
                name: values.iloc[0] if len(set(map(str, values))) == 1 else None
                for name, values in own
            }
            for own in (table.iloc[group][columns].items() for group in self.subjects)
        ]
        index = pd.Index([str(row["subject"]) for row in rows], name="sample_id", dtype=object)
        made = pd.DataFrame(rows, index=index)
        return made.assign(windows=[len(group) for group in self.subjects])

    @cached_property
    def names(self) -> list[SampleName]:
        """The names of the files of each matrix."""
        return sample_names(self.samples, mean=self.per == "subject")

    def matrices(self, operator: str) -> Iterator[Matrix]:
        """Yield the matrices of an operator in the order of :attr:`samples`."""
        size, step = len(self.store), self.store.block_size(operator)
        if self.per == "window":
            for start in range(0, size, step):
                yield from self.store.matrices(operator, range(start, min(start + step, size)))
            return
        for group in self.subjects:
            windows = self.store.matrices(operator, group).astype(np.float64)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a pair without any value: NaN
                yield np.nanmean(windows, axis=0).astype(np.float32)

    def write_samples(self) -> None:
        """Write the metadata of the matrices beside them."""
        table = table_to_csv(self.samples.copy(), guarded=True)
        write_text(self.folder / "samples.csv", table)


def write_npz(order: ExportOrder) -> int:
    """Write one ``<operator>.npz`` with matrices (sample, source, target), ids and regions."""
    order.write_samples()
    for operator in order.operators:
        np.savez_compressed(
            order.folder / f"{operator}.npz",
            matrices=np.stack(list(order.matrices(operator))),
            sample_ids=np.array(order.samples.index, dtype=str),
            regions=np.array(order.regions, dtype=str),
            operator=np.array(operator),
        )
        order.ticker.advance(len(order))
    return len(order.operators)


def write_mat(order: ExportOrder) -> int:
    """Write one ``<operator>.mat``: matrices (source, target, sample), ids and regions as cells."""
    from scipy.io import savemat

    order.write_samples()
    for operator in order.operators:
        matrices = np.stack(list(order.matrices(operator)), axis=-1).astype(np.float64)
        content = {
            "matrices": matrices,
            "sample_ids": np.array(list(order.samples.index), dtype=object),
            "regions": np.array(order.regions, dtype=object),
            "operator": operator,
        }
        savemat(order.folder / f"{operator}.mat", content, do_compression=True)
        order.ticker.advance(len(order))
    return len(order.operators)


def write_csv(order: ExportOrder) -> int:
    """Write one ``<operator>/<sample>.csv`` with the regions in its first row and column."""
    order.write_samples()
    regions = [guard_cell(name) for name in order.regions]
    for operator in order.operators:
        (order.folder / operator).mkdir()
        for name, matrix in zip(order.names, order.matrices(operator), strict=True):
            text = _table("region", regions, matrix, separator=",", absent="")
            write_text(order.folder / operator / f"{name.stem}.csv", text)
            order.ticker.advance()
    return len(order.operators) * len(order)


def write_relmat(order: ExportOrder) -> int:
    """Write ``sub-<label>[/ses-<label>]/func/sub-..._stat-<operator>_relmat.tsv``.

    With the regions as header, a description per operator, and ``samples.tsv`` that says which
    sample is which file.
    """
    folder, names = order.folder, order.names
    for name in names:
        (folder / name.folder).mkdir(parents=True, exist_ok=True)
    _describe(order)
    segmentation = _segmentation(order)
    table = order.samples.reset_index()
    strings = [name for name in table.columns if table[name].dtype == object]
    table[strings] = table[strings].map(lambda cell: guard_cell(cell) if cell is not None else None)
    pattern = f"{segmentation}_stat-*_relmat.tsv"
    table.insert(1, "file", [f"{name.folder}/{name.stem}{pattern}" for name in names])
    write_text(folder / "samples.tsv", table.to_csv(sep="\t", index=False, na_rep=ABSENT))
    regions = [guard_cell(name) for name in order.regions]
    for operator in order.operators:
        end = f"{segmentation}_stat-{measure_label(operator)}_relmat.tsv"
        for name, matrix in zip(names, order.matrices(operator), strict=True):
            path = folder / name.folder / f"{name.stem}{end}"
            text = _table("Node", regions, matrix, separator="\t", absent=ABSENT)
            path.write_text(text, encoding="utf-8")
            order.ticker.advance()
    return len(order.operators) * len(order)


def _table(
    corner: str, regions: Sequence[str], matrix: Matrix, *, separator: str, absent: str
) -> str:
    """Return a matrix as text with the regions in its first row and column."""
    head, *names = (_line([cell], separator) for cell in (corner, *regions))
    header = separator.join([head, *names])
    # Nine digits bring every float32 back exactly.
    rows = (
        separator.join(absent if v != v else f"{v:.9g}" for v in row)  # noqa: PLR0124 (NaN)
        for row in matrix.tolist()
    )
    lines = (f"{name}{separator}{row}\n" for name, row in zip(names, rows, strict=True))
    return f"{header}\n{''.join(lines)}"


def _line(cells: Sequence[str], separator: str) -> str:
    """Return cells as a line; a separator or a line end inside a cell is quoted."""
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator="").writerow(cells)
    return stream.getvalue()


def _segmentation(order: ExportOrder) -> str:
    """Return the entities that name space and atlas, if they are known of the cohort."""
    options = order.store.provenance.get("cohort", {}).get("options") or {}
    known = {"space": options.get("space"), "seg": options.get("atlas")}
    labels = {
        key: _OTHER.sub("", Path(str(value or "")).name.split(".")[0])
        for key, value in known.items()
    }
    return "".join(f"_{key}-{label}" for key, label in labels.items() if label)


def _describe(order: ExportOrder) -> None:
    store, folder = order.store, order.folder
    write_json(
        folder / "dataset_description.json",
        {
            "Name": "Functional connectivity",
            "BIDSVersion": BIDS_VERSION,
            "DatasetType": "derivative",
            "GeneratedBy": [{"Name": "sclcs", "Version": sclcs.__version__}],
            "SourceCohort": {"Fingerprint": store.fingerprint, "Seeds": store.seeds},
        },
    )
    table = catalogue()
    averaged = "over the windows of each subject" if order.per == "subject" else ABSENT
    for operator in order.operators:
        row: Mapping[Any, Any] = table.loc[operator].to_dict()
        directed = row["symmetry"] != "symmetric"
        # One description for all files of a measure: BIDS inherits it downwards.
        write_json(
            folder / f"stat-{measure_label(operator)}_relmat.json",
            {
                "RelationshipMeasure": operator,
                "MeasureDescription": row["description"],
                "Weighted": True,
                "Directed": directed,
                "Orientation": row["orientation"] if directed else ABSENT,
                "ValidDiagonal": False,
                "StorageFormat": "Full",
                "NonNegative": "unsigned" in str(row["labels"]).split(),
                "Reference": row["reference"],
                "Quirk": row["quirk"] or ABSENT,
                "Nodes": list(store.regions),
                "RepetitionTime": store.tr,
                "Averaged": averaged,
            },
        )


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
        raise UnknownNameError(
            f"Unknown export format {format!r}; the known ones are {', '.join(FORMATS)}."
            f"{did_you_mean(format, FORMATS)}"
        )
    opened = store if isinstance(store, FCStore) else FCStore.open(store)
    operators = _operators(opened, spis)
    with atomic_directory(out) as folder:
        n_samples = len(opened) if per == "window" else opened.samples["subject"].nunique()
        with progress(f"Exporting {format}", len(operators) * n_samples) as ticker:
            files = FORMATS[format](ExportOrder(opened, operators, per, folder, ticker))
    return Export(Path(out), format, operators, n_samples, files)


def _operators(store: FCStore, spis: str | Sequence[str] | None) -> list[str]:
    complete = store.complete_operators
    if spis is None:
        if not complete:
            raise InputError(f"No operator is complete in {store.path}: nothing can be exported.")
        return complete
    wanted = resolve(spis)
    missing = [name for name in wanted if name not in complete]
    if missing:
        raise InputError(
            f"Not complete in {store.path}: {name_first(missing)}; it holds "
            f"{name_first(complete, 10)}. `sclcs compute` adds operators."
        )
    return wanted


#: How to write each format.
FORMATS: Mapping[str, Callable[[ExportOrder], int]] = MappingProxyType(
    {"relmat": write_relmat, "npz": write_npz, "mat": write_mat, "csv": write_csv}
)
