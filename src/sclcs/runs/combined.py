"""One ranking of operators whose scores are exact and of those whose scores are estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark import Ranking, descending_ranks, equivalence_groups
from sclcs.benchmark.ranking import COLUMNS
from sclcs.estimation import Estimate, Outlook
from sclcs.spi.names import operator_name

__all__ = ["NOT_ESTIMATED", "combine"]

Floats = NDArray[np.float64]
NOT_ESTIMATED = "not-estimated"


def combine(
    exact: Ranking,
    operators: Sequence[str],
    names: Mapping[str, str],
    found: tuple[Estimate, Outlook] | None,
    *,
    n_samples: Mapping[str, int],
    confidence: float,
) -> Ranking:
    """Add the operators that were not computed on everybody to the ranking of those that were.

    Parameters
    ----------
    exact : Ranking
        Of the operators that were computed on everybody.
    operators : sequence of str
        All that were asked for.
    names : mapping
        What operators share with those that rank alike.
    found : (Estimate, Outlook), optional
        Of one operator per entry; None if nothing may be estimated.
    n_samples : mapping
        On how many samples the others were computed.
    confidence : float
        Coverage of the intervals.

    Returns
    -------
    Ranking
        With the source of every score.
    """
    there = set(exact.table["spi"])
    twin_rows = {names[str(row["spi"])]: row for _, row in exact.table.iterrows()}
    rows: list[dict[Any, Any]] = []
    facts = _entry_facts(found, names, confidence)
    for name in operators:
        if name in there:
            continue
        twin = twin_rows.get(names[name])
        if twin is not None:  # ranks like one that was computed, by construction
            rows.append({**twin.to_dict(), "spi": name, "name": operator_name(name)})
        else:
            rows.append(_row(name, facts.get(names[name]), n_samples.get(name, 0)))
    if not rows:
        return exact
    table = pd.DataFrame([*exact.table.to_dict(orient="records"), *rows], columns=COLUMNS)
    table["equivalents"] = _equivalents(table["spi"].tolist(), names)
    table["rank_group"] = equivalence_groups(table["spi"].tolist())
    table["best_set"] = table["best_set"].astype(bool)
    members = _members(found, names)
    table["best_set"] |= np.array([names[name] in members for name in table["spi"]])
    table = _ranked(table, names)
    return Ranking(table, exact.task, exact.score, None, exact.provenance, exact.findings)


def _equivalents(operators: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Return the other operators that rank like each, in one text."""
    members: dict[str, list[str]] = {}
    for name in operators:
        members.setdefault(names[name], []).append(name)
    return [" ".join(n for n in members[names[name]] if n != name) for name in operators]


def _entry_facts(
    found: tuple[Estimate, Outlook] | None, names: Mapping[str, str], confidence: float
) -> dict[str, dict[str, Any]]:
    """Return score, interval and interval of the rank of every entry."""
    if found is None:
        return {}
    estimate, look = found
    low, high = estimate.interval(confidence)
    tails = [50 * (1 - confidence), 50 * (1 + confidence)]
    limits = np.percentile(
        descending_ranks(look.drawn), tails, axis=1, method="closest_observation"
    )
    return {
        names[name]: {
            "score": estimate.mean[k],
            "low": low[k],
            "high": high[k],
            "rank_low": limits[0, k],
            "rank_high": limits[1, k],
        }
        for k, name in enumerate(estimate.operators)
    }


def _members(found: tuple[Estimate, Outlook] | None, names: Mapping[str, str]) -> set[str]:
    if found is None:
        return set()
    estimate, look = found
    return {
        names[name] for name, member in zip(estimate.operators, look.members, strict=True) if member
    }


def _row(name: str, facts: Mapping[str, Any] | None, n_samples: int) -> dict[str, Any]:
    nothing = {"score": np.nan, "low": np.nan, "high": np.nan}
    row: dict[str, Any] = {
        "spi": name,
        "name": operator_name(name),
        "source": "estimated",
        "n_samples": n_samples,
        "best_set": False,
        "equivalents": "",
        "rank_group": "",
        "scatter_class": "",
        **(facts or nothing),
    }
    if facts is None:
        return row | {
            "status": NOT_ESTIMATED,
            "reason": "the operators on everybody show no effect that could be carried over",
        }
    where = f"computed on {n_samples} samples" if n_samples else "not computed at all"
    return row | {"status": "ok", "reason": f"estimated from operators like it; {where}"}


def _ranked(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Rank entries by score; the interval of an exact rank leaves room for estimated ones."""
    entry = np.array([names[str(name)] for name in table["spi"]])
    scores = table["score"].to_numpy(dtype=np.float64)
    firsts = np.unique(entry, return_index=True)[1]
    firsts = firsts[np.isfinite(scores[firsts])]
    ranks = dict(zip(entry[firsts], descending_ranks(scores[firsts]), strict=True))
    table["rank"] = [
        ranks.get(name, np.nan) if np.isfinite(score) else np.nan
        for name, score in zip(entry, scores, strict=True)
    ]
    others = table.iloc[firsts][lambda rows: rows["source"] == "estimated"]
    lows, highs = others["low"].to_numpy(), others["high"].to_numpy()
    exact = table["source"] == "exact"
    surely = [(lows > high).sum() for high in table.loc[exact, "high"]]
    maybe = [(highs > low).sum() for low in table.loc[exact, "low"]]
    table.loc[exact, "rank_low"] += np.array(surely, dtype=np.float64)
    table.loc[exact, "rank_high"] += np.array(maybe, dtype=np.float64)
    return table
