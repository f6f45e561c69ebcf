"""Tables of what became of the operators of an FC store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pandas as pd

from sclcs.spi.catalogue import operator_facts
from sclcs.spi.fc_records import OperatorEntry
from sclcs.spi.fc_store import FCStore
from sclcs.spi.status import Status

__all__ = ["MISSING", "operator_table", "sample_table", "task_table"]

MISSING = "missing"  # not computed yet
_STATES = (*(str(status) for status in Status), MISSING)


def _entries(store: FCStore) -> Iterator[tuple[str, int, int, OperatorEntry | None]]:
    """Go through operators and blocks: operator, block, samples in it, what is recorded."""
    versions = store.layout.versions()
    families = {operator_facts()[name].family for name in versions}
    done = {
        (family, block): store.layout.entries(family, block, versions)
        for family in families
        for block in range(store.layout.n_blocks)
    }
    for name in versions:
        for block in range(store.layout.n_blocks):
            rows = store.layout.block_rows(block)
            entry = done[operator_facts()[name].family, block].get(name)
            yield name, block, rows.stop - rows.start, entry


def _counts(size: int, entry: OperatorEntry | None) -> Counter[str]:
    if entry is None:
        return Counter({MISSING: size})
    counts = Counter(status for status, _ in entry.exceptions.values())
    return counts + Counter({str(Status.OK): size - len(entry.exceptions)})


def _main_reason(entry: OperatorEntry | None) -> str:
    """Return the most frequent reason; that of a loss before that of a gap."""
    if entry is None:
        return ""
    found = Counter(entry.exceptions.values())
    lost = {str(Status.FAILED), str(Status.SKIPPED)}
    _, reason = max(found, key=lambda pair: (pair[0] in lost, found[pair]), default=("", ""))
    return reason


def task_table(store: FCStore) -> pd.DataFrame:
    """Count the samples of every operator and block by what became of them.

    Parameters
    ----------
    store : FCStore
        Complete or not.

    Returns
    -------
    DataFrame
        One row per operator and block: ``spi``, ``family``, ``block``, ``samples``, ``ok``,
        ``partial-nan``, ``failed``, ``skipped``, ``missing``, CPU ``seconds`` in the kernel,
        and the main ``reason``.
    """
    rows = []
    for name, block, size, entry in _entries(store):
        counts = _counts(size, entry)
        rows.append(
            {
                "spi": name,
                "family": operator_facts()[name].family,
                "block": block,
                "samples": size,
                **{state: counts[state] for state in _STATES},
                "seconds": entry.seconds if entry else 0.0,
                "reason": _main_reason(entry),
            }
        )
    columns = ["spi", "family", "block", "samples", *_STATES, "seconds", "reason"]
    return pd.DataFrame(rows, columns=columns)


def operator_table(store: FCStore) -> pd.DataFrame:
    """Count the samples of every operator by what became of them.

    Parameters
    ----------
    store : FCStore
        Complete or not.

    Returns
    -------
    DataFrame
        One row per operator, indexed by ``spi``: ``family``, ``version``, ``samples``,
        ``ok``, ``partial-nan``, ``failed``, ``skipped``, ``missing``, CPU ``seconds`` in
        the kernel, and the most frequent ``reason``.
    """
    table = task_table(store)
    groups = table.groupby("spi", sort=False)
    found = groups[["samples", *_STATES, "seconds"]].sum()
    found.insert(0, "family", groups["family"].first())
    found.insert(1, "version", pd.Series(store.layout.versions(), dtype=object))
    reasons = table[table["reason"] != ""].groupby("spi")["reason"]
    found["reason"] = reasons.agg(lambda column: column.mode().iloc[0]) if len(reasons) else ""
    found["reason"] = found["reason"].fillna("")
    return found


def sample_table(store: FCStore) -> pd.DataFrame:
    """Tabulate what became of every operator on every sample.

    Parameters
    ----------
    store : FCStore
        Complete or not.

    Returns
    -------
    DataFrame
        With the columns ``spi``, ``sample``, ``status`` and ``reason``, one row per operator
        and sample, as from :func:`sclcs.spi.status_table`; ``missing`` if not computed yet.
    """
    ids = store.sample_ids
    rows = []
    for name, block, size, entry in _entries(store):
        start = store.layout.block_rows(block).start
        for row in range(size):
            usual = (MISSING, "") if entry is None else (str(Status.OK), "")
            status, why = entry.exceptions.get(row, usual) if entry else usual
            rows.append((name, ids[start + row], status, why))
    return pd.DataFrame(rows, columns=["spi", "sample", "status", "reason"])
