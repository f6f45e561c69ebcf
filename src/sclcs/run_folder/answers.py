"""What was found out about an operator, in a file: it outlives the matrices it was found from."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.dispersion import Scatter
from sclcs.benchmark.evaluate import Evaluation
from sclcs.core.files import write_bytes

__all__ = ["load_answers", "save_answers"]

FACTS = "facts"
TABLES = ("point", "drawn", "statistics", "cross_fit")


def save_answers(path: Path, key: str, answers: Sequence[Evaluation], seconds: float = 0.0) -> None:
    """Write the answers to some inquiries, every number as it is.

    Parameters
    ----------
    path : Path
    key : str
        Of everything that decides them.
    answers : sequence of Evaluation
        One per inquiry, of one operator each.
    seconds : float
        CPU time they took.
    """
    arrays: dict[str, NDArray[Any]] = {}
    said = []
    for place, answer in enumerate(answers):
        for table in TABLES:
            for name, values in getattr(answer, table).items():
                arrays[f"{place}|{table}|{name}"] = values
        arrays[f"{place}|n_samples"] = answer.n_samples
        (scatter,) = answer.scatter
        if scatter is not None:
            arrays[f"{place}|scatter"] = scatter.statistics
            arrays[f"{place}|widest"] = np.array([scatter.ratio, scatter.widest])
        said.append([answer.operators, answer.status, answer.reason])
    facts = {"key": key, "seconds": seconds, "said": said}
    arrays[FACTS] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    write_bytes(path, content.getvalue())


def load_answers(path: Path, key: str) -> tuple[list[Evaluation], float] | None:
    """Read what :func:`save_answers` wrote; None if it is not there, damaged, or of another key."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = json.loads(arrays[FACTS].tobytes())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    if facts["key"] != key:
        return None
    found = [_answer(arrays, place, *said) for place, said in enumerate(facts["said"])]
    return found, float(facts["seconds"])


def _answer(
    arrays: dict[str, NDArray[Any]],
    place: int,
    operators: list[str],
    status: list[str],
    reason: list[str],
) -> Evaluation:
    tables: dict[str, dict[str, NDArray[Any]]] = {table: {} for table in TABLES}
    for name, values in arrays.items():
        parts = name.split("|", 2)
        if parts[0] == str(place) and len(parts) == 3:
            tables[parts[1]][parts[2]] = values
    scatter = None
    if f"{place}|scatter" in arrays:
        ratio, widest = arrays[f"{place}|widest"].tolist()
        scatter = Scatter(ratio, int(widest), arrays[f"{place}|scatter"])
    return Evaluation(
        operators,
        tables["point"],
        tables["drawn"],
        tables["statistics"],
        [scatter],
        arrays[f"{place}|n_samples"],
        status,
        reason,
        tables["cross_fit"],
    )
