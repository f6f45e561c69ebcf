"""What the decision is worth on new people: half tests, draws of 120, the set of the best.

    python -m paper.decision --data ../shared/data --cache /tmp/decision --out results/decision

Every cohort is split again and again: one part chooses, recommends and trains, the other tests.
Pearson, tangent space, the blend, the recommendation, the operator that a naive choice takes
and the best operator in hindsight stand side by side; the worst row comes first. Matrices and
kernels are computed once and kept in the cache. The data are not part of the repository.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.decision import (
    BLEND,
    TANGENT,
    WITHOUT,
    Evidence,
    Prediction,
    baseline_kernel,
    best_set,
    learn_population,
    measure_candidates,
    recommend,
    score_halves,
)
from sclcs.decision.evidence import score_predictions
from sclcs.decision.kernels import (
    centred_kernel,
    equal_weights,
    mean_kernel,
    pattern_features,
    symmetric_edges,
)
from sclcs.decision.ridge import fit_ridge
from sclcs.spi import Tangent, catalogue, compute_batch as compute, covariances, resolve

Floats = NDArray[np.float64]
PEARSON = "cov_EmpiricalCovariance"
LENGTH = 140
AT_ONCE = 64
#: The prior of front operators was set after a look at splits 0 to 3; these are others.
FIRST_SEED = 100
TARGETS = ("age", "mean_fd", "diagnosis", "sex")
COHORTS = {
    "dmn33": ("abide_dos160_dmn33", 1, 766),
    "cc200-20": ("abide_cc200_nofilt", 5, 766),
    "cc200-50": ("abide_cc200_nofilt", 2, 600),
}
FINGERPRINTS = {"psychosis-47": ("psychosis_419", 9), "tbi-50": ("tbi_sch1000", 5)}


@dataclass(frozen=True, eq=False)
class Prepared:
    """Kernels of a cohort beyond its sites, and its labels.

    Parameters
    ----------
    kernels : dict of str to array of float32, shape (subject, subject)
        Of every operator, tangent space, the blend, and the baseline without connectivity.
    labels : dict of str to array
    sites : array, shape (subject, site)
    """

    kernels: dict[str, NDArray[np.float32]]
    labels: dict[str, NDArray[np.generic]]
    sites: Floats

    @property
    def operators(self) -> list[str]:
        """Names of the single operators."""
        return [name for name in self.kernels if name not in (TANGENT, BLEND, WITHOUT)]


def operator_matrices(name: str, series: Floats, cache: Path) -> NDArray[np.float32]:
    """Return matrices (operator, scan, region, region) of the fast set, from the cache if there."""
    path = cache / f"{name}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        blocks = [
            np.asarray(compute(series[first : first + AT_ONCE], "paper-fast"), dtype=np.float32)
            for first in range(0, len(series), AT_ONCE)
        ]
        np.save(path, np.concatenate(blocks, axis=1))
    found: NDArray[np.float32] = np.load(path, mmap_mode="r")
    return found


def prepare(name: str, data: Path, cache: Path) -> Prepared:
    """Read a cohort and make the kernels of all candidates."""
    file, step, most = COHORTS[name]
    with np.load(data / f"{file}.npz", allow_pickle=False) as stored:
        table = {key: stored[key] for key in (*TARGETS, "site")}
        fine = stored["roi_valid"].all(axis=1) & (stored["n_timepoints"] > LENGTH)
        for key in TARGETS:
            text = table[key].dtype.kind == "U"
            fine &= (table[key] != "") if text else np.isfinite(table[key])
        rows = np.random.default_rng(0).permutation(np.flatnonzero(fine))[:most]
        cut = stored["timeseries"][rows][:, 1 : LENGTH + 1, ::step]
    series = cut.astype(np.float64)
    labels = {key: table[key][rows] for key in TARGETS}
    sites = (table["site"][rows][:, None] == np.unique(table["site"][rows])).astype(np.float64)
    basis = np.linalg.qr(sites)[0]
    matrices = operator_matrices(name, series.transpose(0, 2, 1), cache)
    facts = catalogue()
    kernels: dict[str, NDArray[np.float32]] = {}
    for place, spi in enumerate(resolve("paper-fast")):
        symmetric = bool(facts.loc[spi, "symmetry"] == "symmetric")
        edges = symmetric_edges(matrices[place], symmetric=symmetric)
        if np.isfinite(edges).all() and edges.std(axis=0).max() > 0:
            kernels[spi] = mean_kernel(edges, basis)
    shares = equal_weights({spi: str(facts.loc[spi, "family"]) for spi in kernels})
    blended = sum(np.float32(share) * kernels[spi] for spi, share in shares.items())
    spread = covariances(list(series))
    kernels[TANGENT] = centred_kernel(Tangent.fit(spread).features(spread), basis)
    kernels[BLEND] = np.asarray((blended + kernels[TANGENT]) / 2, dtype=np.float32)
    kernels[WITHOUT] = baseline_kernel(list(series), hat=basis)
    return Prepared(kernels, labels, sites)


def permutation_p(prepared: Prepared, rows: NDArray[np.int64], problem: Prediction) -> float:
    """Return the p of the test for any effect: the largest of three scores, residuals permuted.

    A stand-in for the test over operators and views, which is not part of this table.
    """
    random = np.random.default_rng(0)
    orders = np.stack([np.arange(len(rows)), *(random.permutation(len(rows)) for _ in range(199))])
    basis = np.linalg.qr(problem.nuisance)[0]
    columns = problem.beyond[orders].transpose(1, 0, 2).reshape(len(rows), -1)
    columns = columns - basis @ (basis.T @ columns)
    columns = columns / np.linalg.norm(columns, axis=0)
    found = []
    for name in (PEARSON, TANGENT, BLEND):
        kernel = prepared.kernels[name][np.ix_(rows, rows)]
        score = (columns * (kernel @ columns.astype(np.float32))).sum(axis=0)
        score = score.reshape(len(orders), -1).sum(axis=1)
        found.append((score - score[1:].mean()) / score[1:].std())
    highest = np.max(found, axis=0)
    return float((1 + (highest[1:] >= highest[0]).sum()) / len(orders))


def tested(
    kernel: NDArray[np.float32],
    problem: Prediction,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
) -> float:
    """Train on some subjects and return the score on others."""
    mine = problem.part(train)
    basis = np.linalg.qr(mine.nuisance)[0]
    square = kernel[np.ix_(train, train)].astype(np.float64)
    square -= basis @ (basis.T @ square)
    square -= (square @ basis) @ basis.T
    model = fit_ridge((square + square.T) / 2, mine.target, basis)
    predicted = kernel[np.ix_(test, train)].astype(np.float64) @ model.dual
    classes = None if problem.classes is None else problem.classes[test]
    return score_predictions(predicted, problem.beyond[test], classes)


def half_tests(
    name: str, prepared: Prepared, splits: int, targets: tuple[str, ...] = TARGETS
) -> Iterator[dict[str, object]]:
    """Yield a row per target, size of the training part and split."""
    count = len(prepared.sites)
    for target in targets:
        whole = Prediction.make(prepared.labels[target], prepared.sites)
        for size in (count // 2, 120):
            for split in range(splits):
                order = np.random.default_rng(FIRST_SEED + split).permutation(count)
                train, test = order[:size], order[size:]
                mine = whole.part(train)
                scores = score_halves(
                    (
                        (spi, prepared.kernels[spi][np.ix_(train, train)])
                        for spi in prepared.operators
                    ),
                    mine, splits=50, seed=split,
                )  # fmt: skip
                population = learn_population(scores)
                front = [spi for spi in population.front(3) if spi != PEARSON]
                few = [PEARSON, TANGENT, BLEND, WITHOUT, *front]
                evidence = measure_candidates(
                    {spi: prepared.kernels[spi][np.ix_(train, train)] for spi in few}, mine
                )
                p = permutation_p(prepared, train, mine)
                choice, _ = recommend(evidence, reference=PEARSON, without=WITHOUT)
                careful, _ = recommend(evidence, reference=PEARSON, without=WITHOUT, p=p)
                naive = str(scores.operators[int(scores.whole.argmax())])
                every = prepared.operators if split < 2 else []
                worth = {
                    spi: tested(prepared.kernels[spi], whole, train, test)
                    for spi in dict.fromkeys([*few, naive, *every])
                }
                yield {
                    "cohort": name, "target": target, "measure": mine.measure,
                    "trained_on": "half" if size > 120 else "120", "split": split, "p": p,
                    "pearson": worth[PEARSON], "tangent": worth[TANGENT], "blend": worth[BLEND],
                    "without_connectivity": worth[WITHOUT],
                    "recommended": worth[choice.spi], "kind": choice.kind, "spi": choice.spi,
                    "recommended_if_effect": worth[careful.spi], "kind_if_effect": careful.kind,
                    "gain": choice.gain, "low": choice.low, "high": choice.high,
                    "probability": choice.probability,
                    "true_gain": worth[choice.candidate or PEARSON] - worth[PEARSON],
                    "naive": worth[naive], "posterior_first": worth.get(front[0], np.nan)
                    if front else worth[PEARSON],
                    "best_in_hindsight": max(worth[spi] for spi in every) if every else np.nan,
                }  # fmt: skip


def regrets(name: str, prepared: Prepared, draws: int) -> Iterator[dict[str, object]]:
    """Yield population regret of the choice and what the set of the best holds, per draw."""
    count = len(prepared.sites)
    for with_tangent in (False, True):
        spis = [*prepared.operators, *([TANGENT] if with_tangent else [])]
        for target in TARGETS:
            whole = Prediction.make(prepared.labels[target], prepared.sites)
            everyone = score_halves(((spi, prepared.kernels[spi]) for spi in spis), whole, splits=2)
            truth = everyone.whole
            best, width = int(truth.argmax()), float(truth.max() - np.median(truth))
            for size in (count // 2, 120):
                for draw in range(draws):
                    rows = np.random.default_rng(1000 + draw).permutation(count)[:size]
                    scores = score_halves(
                        ((spi, prepared.kernels[spi][np.ix_(rows, rows)]) for spi in spis),
                        whole.part(rows), splits=50, seed=draw,
                    )  # fmt: skip
                    population = learn_population(scores)
                    held = best_set(scores, population, replays=24)
                    yield {
                        "cohort": name, "target": target, "with_tangent": with_tangent,
                        "drawn": "half" if size > 120 else "120",
                        "regret": (truth[best] - truth[population.chosen]) / width,
                        "regret_naive": (truth[best] - truth[scores.whole.argmax()]) / width,
                        "regret_pearson": (truth[best] - truth[spis.index(PEARSON)]) / width,
                        "covered": spis[best] in held.operators, "size": len(held.operators),
                        "replay_coverage": held.coverage, "width": held.width,
                    }  # fmt: skip


def fingerprints(name: str, data: Path, cache: Path, splits: int) -> Iterator[dict[str, object]]:
    """Yield identification across sessions of the other half of the subjects, per split."""
    file, step = FINGERPRINTS[name]
    with np.load(data / f"{file}.npz", allow_pickle=False) as stored:
        series = stored["timeseries"][:, 1 : (LENGTH + 1 if "tbi" in file else None), ::step]
        subject, session = stored["subject"], stored["session"].astype(str)
    series = series.astype(np.float64)
    matrices = operator_matrices(name, series.transpose(0, 2, 1), cache)
    sessions = sorted(set(session))[:2]
    both = [s for s in np.unique(subject) if set(sessions) <= set(session[subject == s])]
    one, two = (
        np.array([int(np.flatnonzero((subject == s) & (session == k))[0]) for s in both])
        for k in sessions
    )
    facts, similar = catalogue(), dict[str, Floats]()
    for place, spi in enumerate(resolve("paper-fast")):
        edges = symmetric_edges(
            matrices[place], symmetric=bool(facts.loc[spi, "symmetry"] == "symmetric")
        )
        if np.isfinite(edges).all() and edges.std(axis=0).max() > 0:
            unit = pattern_features(edges).astype(np.float64)
            similar[spi] = unit[one] @ unit[two].T
    spread = covariances(list(series))
    seen = Tangent.fit(spread).features(spread).astype(np.float64)
    seen -= seen.mean(axis=0)
    seen /= np.linalg.norm(seen, axis=1, keepdims=True)
    similar[TANGENT] = seen[one] @ seen[two].T
    standard = [(s - s.mean()) / s.std() for n, s in similar.items() if n != TANGENT]
    similar[BLEND] = np.mean(standard, axis=0)
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(both))
        train, test = order[: len(both) // 2], order[len(both) // 2 :]
        first = {spi: _separation(s[np.ix_(train, train)]) for spi, s in similar.items()}
        spis = [spi for spi in similar if spi not in (TANGENT, BLEND)]
        front = sorted(spis, key=lambda spi: -float(first[spi].mean()))[:3]
        few = list(dict.fromkeys([PEARSON, TANGENT, BLEND, *front]))
        table = np.stack([_identified(similar[spi][np.ix_(train, train)]) for spi in few])
        evidence = Evidence(tuple(few), table, 0.0, "identification", len(train))
        choice, _ = recommend(evidence, reference=PEARSON)
        worth = {s: float(_identified(k[np.ix_(test, test)]).mean()) for s, k in similar.items()}
        yield {
            "cohort": name, "target": "subject", "measure": "identification", "split": split,
            "trained_on": "half", "pearson": worth[PEARSON], "tangent": worth[TANGENT],
            "blend": worth[BLEND], "recommended": worth[choice.spi], "kind": choice.kind,
            "spi": choice.spi, "naive": worth[front[0]],
            "best_in_hindsight": max(worth[spi] for spi in spis),
        }  # fmt: skip


def _identified(similarity: Floats) -> Floats:
    """Return for every subject the share of the two directions in which it is found."""
    rows = np.arange(len(similarity))
    found = (similarity.argmax(axis=1) == rows) * 0.5 + (similarity.argmax(axis=0) == rows) * 0.5
    return np.asarray(found, dtype=np.float64)


def _separation(similarity: Floats) -> Floats:
    """Return by how many deviations each subject is more like itself than like others."""
    others = ~np.eye(len(similarity), dtype=bool)
    found = (np.diagonal(similarity) - similarity[others].mean()) / similarity[others].std()
    return np.asarray(found, dtype=np.float64)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of every cohort, target and size, the worst recommendation first."""
    keys = ["cohort", "target", "measure", "trained_on"]
    found = rows.groupby(keys).mean(numeric_only=True).drop(columns="split").reset_index()
    found["kinds"] = rows.groupby(keys)["kind"].agg(_kinds).to_numpy()
    found.insert(4, "against_pearson", found["recommended"] - found["pearson"])
    found.insert(5, "against_tangent", found["recommended"] - found["tangent"])
    found.insert(6, "blend_against_pearson", found["blend"] - found["pearson"])
    return found.sort_values("against_pearson").round(4)


def _kinds(kinds: pd.Series[str]) -> str:
    return " ".join(f"{kind}:{number}" for kind, number in kinds.value_counts().items())


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("results/decision"))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--cohorts", nargs="+", default=[*COHORTS, *FINGERPRINTS])
    parser.add_argument("--tables", nargs="+", default=["gain", "regret"])
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    chosen: list[dict[str, object]] = []
    for name in asked.cohorts:
        if name in FINGERPRINTS:
            rows += fingerprints(name, asked.data, asked.cache, 2 * asked.splits)
            continue
        prepared = prepare(name, asked.data, asked.cache)
        if "gain" in asked.tables:
            rows += half_tests(name, prepared, asked.splits)
        if "regret" in asked.tables:
            chosen += regrets(name, prepared, 3 * asked.splits)
    if rows:
        table = pd.DataFrame(rows)
        table.round(4).to_csv(asked.out / "gain_splits.csv", index=False)
        summary(table).to_csv(asked.out / "gain.csv", index=False)
    if chosen:
        keys = ["cohort", "target", "with_tangent", "drawn"]
        means = pd.DataFrame(chosen).groupby(keys).mean(numeric_only=True).reset_index()
        means = means.sort_values("regret", ascending=False)
        means.round(3).to_csv(asked.out / "regret.csv", index=False)


if __name__ == "__main__":
    main()
