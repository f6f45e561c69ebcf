"""Compare searches for a guided core-set: swaps, annealing, greedy, and a relaxation to weights.

    python tools/guided_searches.py abide --archive ../shared/data/abide_dos160_dmn33.npz \
        --cache /tmp/guided/abide.npy --out results/guided/searches_abide.csv

All of them minimise the same objective on the same panels (random halves of the families), for the
diagnosis. Swaps, annealing and greedy take about the same CPU time; the relaxation takes what its
steps take, far more. Then the consistency on the families that did not guide is measured.

swaps : the package's search, from two designs
annealing : the same proposals, worse ones accepted with a falling probability, from one design
greedy : from a stratified third of the core-set, the best of all samples that fit is added
relaxed : weights on all samples by gradient steps; the heaviest are kept, with weight one
weighted : swaps, then weights between 1/2 and 2 of the chosen samples (``weights=True``)
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from guided_cohorts import NAMES, matrices, open_cohort
from numba import njit
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.progress import show_progress, track
from sclcs.core.seeds import generator
from sclcs.experiments.guided_splits import random_half
from sclcs.experiments.guided_study import measure, of_task, settings_for
from sclcs.selection.guided.guide import DISTRUST, Guide
from sclcs.selection.guided.kernel import Goal, core_sums, misfit, move, scores_of, swap
from sclcs.selection.guided.objective import Objective, core_scores, make_objective
from sclcs.selection.guided.panel import Panel, make_panel
from sclcs.selection.guided.search import search
from sclcs.selection.guided.weights import fit_weights
from sclcs.selection.sample_order import id_order

if TYPE_CHECKING:
    from torch import Tensor

Similarities = NDArray[np.float32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

TASK = "diagnosis"
PROPOSALS = 20_000
HOT, COLD = 0.02, 0.0002  # temperatures of the annealing, in units of the objective
STEPS = 15  # of the relaxation


def main() -> None:
    """Run on one cohort and print the mean of each search."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cohort", choices=NAMES)
    parser.add_argument("--archive", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ratios", nargs="+", type=float, default=[0.02, 0.05])
    parser.add_argument("--splits", type=int, default=4)
    options = parser.parse_args()
    with show_progress():
        cohort = open_cohort(options.cohort, options.archive)
        fc = matrices(cohort, options.cache)
        ordered = cohort.take(id_order(cohort))
        everything = make_panel(ordered, [TASK], list(fc.operators), fc=fc, memory_gb=1e3)
        table = compare(ordered, everything, options.ratios, options.splits)
    table.to_csv(options.out, index=False, float_format="%.4g")
    print(table.groupby(["ratio", "search"]).mean(numeric_only=True).round(3).to_string())


def compare(cohort: Cohort, everything: Panel, ratios: list[float], splits: int) -> pd.DataFrame:
    """Return one row per split, ratio and search."""
    rows = []
    for number in track(range(splits), "splits"):
        split = random_half(everything.families, number)
        panel = of_task(everything.only(split.guiding), TASK)
        held_out = of_task(everything.only(split.held_out), TASK)
        for ratio in ratios:
            guide = Guide(cohort, panel, settings_for(TASK, {}), number)
            for name, found in run_all(guide, int(ratio * len(cohort))):
                rows.append({"split": number, "ratio": ratio, "search": name, **found["facts"]})
                rows[-1] |= measure(held_out, found["rows"], found.get("weights"))
    return pd.DataFrame(rows)


def run_all(guide: Guide, size: int) -> list[tuple[str, dict[str, Any]]]:
    """Run every search from the same designs, and time it."""
    starts = [guide.designs.draw(size, number) for number in range(2)]
    draws = [guide.designs.draw(size, 1000 + number) for number in range(20)]
    scored = [found for rows in draws if (found := core_scores(guide.panel, rows)) is not None]
    objective = make_objective(guide.panel, scored, DISTRUST)
    searches = {
        "design": lambda: {"rows": starts[0]},
        "swaps": lambda: swaps(guide, objective, starts),
        "annealing": lambda: annealing(guide, objective, starts[0]),
        "greedy": lambda: greedy(guide, objective, starts[0], size),
        "relaxed": lambda: relaxed(guide, objective, starts[0]),
        "weighted": lambda: weighted(guide, objective, starts),
    }
    results = []
    for name, run in searches.items():
        began = time.process_time()
        found = run()
        seconds = time.process_time() - began
        scores = core_scores(guide.panel, found["rows"], found.get("weights"))
        value = float("nan") if scores is None else objective.value(scores)
        found["facts"] = {"objective": value, "cpu_seconds": seconds}
        results.append((name, found))
    return results


def swaps(guide: Guide, objective: Objective, starts: list[Integers]) -> dict[str, Any]:
    """Return what the package does."""
    return {"rows": search(guide.panel, objective, guide.units, starts, proposals=PROPOSALS).rows}


def weighted(guide: Guide, objective: Objective, starts: list[Integers]) -> dict[str, Any]:
    """Return swaps with weights."""
    rows = swaps(guide, objective, starts)["rows"]
    return {"rows": rows, "weights": fit_weights(guide.panel, objective, rows)["weights"]}


def annealing(guide: Guide, objective: Objective, start: Integers) -> dict[str, Any]:
    """Anneal with as many proposals as both restarts of the swaps."""
    panel, units = guide.panel, guide.units
    chances = generator(guide.seed, "searches", "annealing").random((2 * PROPOSALS, 3))
    cells = (units.cell_of, units.cells, units.cell_starts)
    problem = (panel.similarity, panel.classes, panel.blocks)
    rows = _anneal(*problem, *cells, objective.for_kernel(), start.copy(), chances, HOT, COLD)
    return {"rows": np.sort(rows)}


@njit(nogil=True, cache=True)
def _anneal(  # noqa: PLR0917
    similarity: Similarities,
    classes: Integers,
    blocks: Integers,
    cell_of: Integers,
    cells: Integers,
    cell_starts: Integers,
    goal: Goal,
    rows: Integers,
    chances: Floats,
    hot: float,
    cold: float,
) -> Integers:
    sums, counts, pairs = core_sums(similarity, classes, blocks, rows, np.ones(rows.shape[0]))
    scores = np.empty((sums.shape[0], sums.shape[2]))
    now = misfit(scores, goal) if scores_of(sums, counts, scores) else np.inf
    best, best_rows = now, rows.copy()
    new_sums, new_counts = sums.copy(), counts.copy()
    for step in range(chances.shape[0]):
        place = int(chances[step, 0] * rows.shape[0])
        cell = cell_of[rows[place]]
        size = cell_starts[cell + 1] - cell_starts[cell]
        enters = cells[cell_starts[cell] + int(chances[step, 1] * size)]
        if np.any(rows == enters):
            continue
        new_sums[:], new_counts[:] = sums, counts
        leaving, entering = rows[place : place + 1].copy(), np.array([enters])
        swap(pairs, leaving, entering, new_sums, new_counts)
        if not scores_of(new_sums, new_counts, scores):
            continue
        value = misfit(scores, goal)
        heat = hot * (cold / hot) ** (step / chances.shape[0])
        if value >= now and chances[step, 2] >= np.exp((now - value) / heat):
            continue
        now, rows[place] = value, enters
        sums[:], counts[:] = new_sums, new_counts
        move(pairs, leaving[0], -1.0)
        move(pairs, enters, 1.0)
        if now < best:
            best, best_rows = now, rows.copy()
    return best_rows


def greedy(guide: Guide, objective: Objective, start: Integers, size: int) -> dict[str, Any]:
    """Add the best sample that the shares of the design still allow, one after the other."""
    panel, units = guide.panel, guide.units
    room = np.bincount(units.cell_of[start], minlength=int(units.cell_of.max()) + 1)
    begin = guide.designs.draw(max(size // 3, 6), 0)
    begin = begin[room[units.cell_of[begin]] > 0]
    room = room - np.bincount(units.cell_of[begin], minlength=len(room))
    problem = (panel.similarity, panel.classes, panel.blocks, units.cell_of)
    rows = _grow(*problem, objective.for_kernel(), begin, np.maximum(room, 0))
    return {"rows": np.sort(rows)}


@njit(nogil=True, cache=True)
def _grow(  # noqa: PLR0917
    similarity: Similarities,
    classes: Integers,
    blocks: Integers,
    cell_of: Integers,
    goal: Goal,
    begin: Integers,
    room: Integers,
) -> Integers:
    sums, counts, pairs = core_sums(similarity, classes, blocks, begin, np.ones(begin.shape[0]))
    scores = np.empty((sums.shape[0], sums.shape[2]))
    inside = np.zeros(similarity.shape[0], np.bool_)
    inside[begin] = True
    rows = np.empty(begin.shape[0] + room.sum(), np.int64)
    rows[: begin.shape[0]] = begin
    for step in range(begin.shape[0], rows.shape[0]):
        best, chosen = np.inf, -1
        for row in range(similarity.shape[0]):
            if inside[row] or room[cell_of[row]] == 0:
                continue
            # The pairs of a sample that enters are counted in both orders.
            more, extra = sums + 2 * pairs.partners[row], counts + 2 * pairs.partner_counts[row]
            value = misfit(scores, goal) if scores_of(more, extra, scores) else 1e9
            if value < best:
                best, chosen = value, row
        if chosen < 0:
            return rows[:step]
        sums, counts = sums + 2 * pairs.partners[chosen], counts + 2 * pairs.partner_counts[chosen]
        inside[chosen] = True
        room[cell_of[chosen]] -= 1
        move(pairs, chosen, 1.0)
        rows[step] = chosen
    return rows


def relaxed(guide: Guide, objective: Objective, start: Integers) -> dict[str, Any]:
    """Descend on weights of all samples, then keep the heaviest of every cell."""
    import torch

    panel, cell_of = guide.panel, guide.units.cell_of
    similarity = torch.from_numpy(np.ascontiguousarray(panel.similarity.transpose(2, 0, 1)))
    classes, blocks = (torch.from_numpy(codes[0]) for codes in (panel.classes, panel.blocks))
    apart = blocks[:, None] != blocks[None]
    alike = classes[:, None] == classes[None]
    kinds = [(apart & alike).float(), (apart & ~alike).float()]
    logits = torch.zeros(len(classes), requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=0.5)
    goal = [torch.from_numpy(part).float() for part in (objective.full[0], objective.weights)]
    noise = float(objective.noise[0])
    for _ in range(STEPS):
        optimiser.zero_grad()
        weights = torch.softmax(logits, 0)
        loss = _misfit(_cohen(similarity, kinds, weights), *goal, noise)
        loss.backward()
        optimiser.step()
    weights = logits.detach().numpy()
    rows = [
        np.flatnonzero(cell_of == cell)[np.argsort(-weights[cell_of == cell])][:count]
        for cell, count in zip(*np.unique(cell_of[start], return_counts=True), strict=True)
    ]
    return {"rows": np.sort(np.concatenate(rows))}


def _cohen(similarity: Tensor, kinds: list[Tensor], weights: Tensor) -> Tensor:
    means, variances = [], []
    for kind in kinds:
        count = weights @ kind @ weights
        moments = []
        for power in (1, 2):
            sums = _pair_sums(weights, kind, similarity, power)
            moments.append(sums / count)
        means.append(moments[0])
        variances.append(moments[1] - moments[0] ** 2)
    return (means[0] - means[1]) / ((variances[0] + variances[1]) / 2).sqrt()


def _pair_sums(weights: Tensor, kind: Tensor, similarity: Tensor, power: int) -> Tensor:
    """Return the weighted sums of similarities of one kind of pairs, per operator."""
    return ((similarity**power * kind) @ weights) @ weights


def _misfit(scores: Tensor, full: Tensor, shares: Tensor, noise: float) -> Tensor:
    core, truth = scores - shares @ scores, full - shares @ full
    spread = shares @ truth**2
    slope = (shares @ (core * truth)) / spread
    unseen = noise + DISTRUST * (slope - 1) ** 2 * spread
    return 1 - slope * spread.sqrt() / (shares @ core**2 + unseen).sqrt()


if __name__ == "__main__":
    main()
