"""What is in an FC store: tables for people, digests for those who keep results made from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from sclcs._core import Identity, text_digest
from sclcs.spi import Status, main_reason, operator_facts
from sclcs.store.fc_store import FCStore
from sclcs.store.pieces import Entry, StoredChunk, find_chunks, index_is_intact

__all__ = [
    "MISSING",
    "block_table",
    "files_digest",
    "matrices_identity",
    "operator_reason",
    "operator_table",
    "sample_table",
]

MISSING = "missing"  # not computed yet
_STATES = (*(str(status) for status in Status), MISSING)


def _entries(
    store: FCStore, operators: Iterable[str] | None = None
) -> Iterator[tuple[str, int, int, Entry | None]]:
    """Go through operators and blocks: operator, block, samples in it, what is recorded."""
    for name, block, size, chunk in _chunks(store, operators):
        yield name, block, size, None if chunk is None else chunk.entry


def _chunks(
    store: FCStore, operators: Iterable[str] | None = None
) -> Iterator[tuple[str, int, int, StoredChunk | None]]:
    """Go through operators and blocks: operator, block, samples in it, where its matrices are."""
    layout, facts, known = store.layout, operator_facts(), store.stamps
    names = list(known if operators is None else operators)
    done = {
        (family, block): find_chunks(layout, family, block)
        for family in {facts[name].family for name in names if name in known}
        for block in range(layout.n_blocks(family))
    }
    for name in names:
        family = facts[name].family
        if name not in known:
            yield name, 0, len(store), None
            continue
        for block in range(layout.n_blocks(family)):
            rows = layout.block_rows(family, block)
            yield name, block, rows.stop - rows.start, done[family, block].get(name)


def _counts(size: int, entry: Entry | None) -> Counter[str]:
    if entry is None:
        return Counter({MISSING: size})
    counts = Counter(status for status, _ in entry.exceptions.values())
    return counts + Counter({str(Status.OK): size - len(entry.exceptions)})


def operator_reason(store: FCStore, operator: str) -> str:
    """Return why an operator lacks values on some samples; empty if it does not."""
    entries = [entry for _, _, _, entry in _entries(store, [operator]) if entry]
    return main_reason(pair for entry in entries for pair in entry.exceptions.values())


def block_table(store: FCStore) -> pd.DataFrame:
    """Count the samples of every operator and block by what became of them.

    Parameters
    ----------
    store : FCStore
        Complete or not.

    Returns
    -------
    DataFrame
        One row per operator and block: ``spi``, ``family``, ``block``, ``samples``, ``ok``,
        ``partial-nan``, ``failed``, ``skipped``, ``missing``, CPU ``seconds`` in the kernel
        (``copied_seconds`` of them before, in another store), and the main ``reason``.
    """
    rows, facts = [], operator_facts()
    for name, block, size, entry in _entries(store):
        counts = _counts(size, entry)
        rows.append(
            {
                "spi": name,
                "family": facts[name].family,
                "block": block,
                "samples": size,
                **{state: counts[state] for state in _STATES},
                "seconds": entry.seconds if entry else 0.0,
                "copied_seconds": entry.copied_seconds if entry else 0.0,
                "reason": main_reason(entry.exceptions.values()) if entry else "",
            }
        )
    columns = ["spi", "family", "block", "samples", *_STATES, "seconds", "copied_seconds"]
    return pd.DataFrame(rows, columns=[*columns, "reason"])


def operator_table(store: FCStore) -> pd.DataFrame:
    """Count the samples of every operator by what became of them.

    Parameters
    ----------
    store : FCStore
        Complete or not.

    Returns
    -------
    DataFrame
        One row per operator, indexed by ``spi``: ``family``, ``version``, ``seed`` (of those
        that draw random numbers, else missing), ``samples``,
        ``ok``, ``partial-nan``, ``failed``, ``skipped``, ``missing``, CPU ``seconds`` in
        the kernel (those that matrices copied from another store took there included, and in
        ``copied_seconds`` alone), whether the matrices are ``kept``, and the most frequent
        ``reason``.
    """
    table = block_table(store)
    groups = table.groupby("spi", sort=False)
    found = groups[["samples", *_STATES, "seconds", "copied_seconds"]].sum()
    stamps = store.stamps
    seeds = {name: stamp.seed for name, stamp in stamps.items()}
    found.insert(0, "family", groups["family"].first())
    found.insert(1, "version", pd.Series({n: s.version for n, s in stamps.items()}, dtype=object))
    found.insert(2, "seed", pd.Series(seeds, dtype="Int64"))
    found["kept"] = ~found.index.isin(store.not_kept)
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
        start = store.layout.block_rows(operator_facts()[name].family, block).start
        for row in range(size):
            usual = (MISSING, "") if entry is None else (str(Status.OK), "")
            status, why = entry.exceptions.get(row, usual) if entry else usual
            rows.append((name, ids[start + row], status, why))
    return pd.DataFrame(rows, columns=["spi", "sample", "status", "reason"])


def matrices_identity(store: FCStore, operators: Iterable[str]) -> Identity:
    """Return what matrices are: of which samples, by which code and seed, with which content.

    Parameters
    ----------
    store : FCStore
    operators : iterable of str
        Those that are not there, or not complete, count as such.

    Returns
    -------
    Identity
        Made of the checksums that were recorded; nothing but records is read.
    """
    content: dict[str, list[str | None]] = {}
    for name, _, _, entry in _entries(store, operators):
        content.setdefault(name, []).append(None if entry is None else entry.checksum)
    stamps = store.stamps
    known = {name: stamps[name] for name in content if name in stamps}
    return Identity(
        "matrices",
        inputs={"cohort": store.fingerprint, "samples": store.sample_ids, "content": content},
        versions={name: stamp.version for name, stamp in known.items()},
        seeds={name: stamp.seed for name, stamp in known.items()},
    )


def files_digest(store: FCStore, operators: Iterable[str]) -> str | None:
    """Return a digest of operators' matrices: what is recorded, if every chunk is still that.

    Every chunk is read: one that rotted on the disk has neither another size nor another time.
    Of matrices that were not kept it is what they were.

    Parameters
    ----------
    store : FCStore
    operators : iterable of str

    Returns
    -------
    str or None
        None if an operator is not complete, or a chunk is not the one that was written.
    """
    lines, gone = [store.fingerprint, *store.samples.index], set(store.not_kept)
    facts, whole = operator_facts(), dict[Path, bool]()
    for name, block, _, chunk in _chunks(store, sorted(operators)):
        if chunk is None or (name not in gone and not chunk.is_intact()):
            return None
        if chunk.file not in whole:
            whole[chunk.file] = index_is_intact(store.layout, facts[name].family, block)
        if not whole[chunk.file]:
            return None
        lines += [name, str(chunk.entry.stamp), chunk.entry.checksum]
    return text_digest("\n".join(lines))
