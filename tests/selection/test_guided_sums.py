"""The kernel's sums and scores are those of the pairs themselves, whatever was swapped."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sclcs.benchmark import (
    CRITERIA,
    Kernel,
    KernelView,
    PairRules,
    Target,
    find_criterion,
    make_question,
)
from sclcs.benchmark.features import Screen
from sclcs.benchmark.pairs.pair_design import SampleCodes, sample_codes
from sclcs.cohort.coreset import CoreSet
from sclcs.selection.guided.kernel import core_sums, move, swap
from sclcs.selection.guided.objective import (
    Objective,
    asked_scores,
    core_scores,
    fit_line,
    operator_weights,
)
from sclcs.selection.guided.panel import Panel
from sclcs.selection.guided.search import Units, search
from sclcs.selection.guided.swaps import swap_search

N_SAMPLES, N_OPERATORS, N_EDGES = 23, 5, 11


@pytest.fixture(scope="module")
def units_of_operators():
    random = np.random.default_rng(4)
    vectors = random.normal(size=(N_OPERATORS, N_SAMPLES, N_EDGES))
    vectors -= vectors.mean(axis=2, keepdims=True)
    return (vectors / np.linalg.norm(vectors, axis=2, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def panel(units_of_operators):
    random = np.random.default_rng(5)
    similarity = np.stack([v @ v.T for v in units_of_operators], axis=2)
    subjects = np.sort(random.integers(0, 8, N_SAMPLES))
    labels = np.array([0, 1, 1, 0, 1, 0, -1, 0])[subjects]  # one subject has no label
    places = subjects * 9.0 + random.integers(0, 5, N_SAMPLES) / 2  # some windows overlap
    codes = [
        SampleCodes(subjects, subjects, np.arange(N_SAMPLES), places),
        SampleCodes(labels, subjects, subjects, places),
    ]
    full = random.normal(size=(2, N_OPERATORS))
    names = [f"op{k}" for k in range(N_OPERATORS)]
    samples = pd.DataFrame({"subject": subjects, "diagnosis": labels})
    targets = [Target("subject", "subject"), Target("diagnosis", "classes")]
    return Panel(
        names, ["a", "a", "b", "c", "d"], np.ascontiguousarray(similarity), np.arange(N_SAMPLES),
        samples, targets, codes, full, full, full, ("cohen_d", "cohen_d"),
    )  # fmt: skip


def by_definition(panel, rows):
    """Sums over ordered pairs, by a loop."""
    sums = np.zeros((2, 4, N_OPERATORS))
    counts = np.zeros((2, 2))
    for task, codes in enumerate(panel.codes):
        for i in rows:
            for j in rows:
                if codes.blocks[i] == codes.blocks[j] or min(codes.classes[[i, j]]) < 0:
                    continue
                if abs(codes.places[i] - codes.places[j]) < 1:
                    continue
                kind = 0 if codes.classes[i] == codes.classes[j] else 1
                value = panel.similarity[i, j].astype(float)
                sums[task, 2 * kind] += value
                sums[task, 2 * kind + 1] += value**2
                counts[task, kind] += 1
    return sums, counts


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_sums_after_any_swaps_equal_those_from_scratch(panel, data):
    rows = data.draw(st.lists(st.integers(0, N_SAMPLES - 1), min_size=4, max_size=15, unique=True))
    arguments = (panel.similarity, panel.classes, panel.blocks, panel.places)
    sums, counts, pairs = core_sums(*arguments, np.array(rows), np.ones(len(rows)))
    for _ in range(data.draw(st.integers(1, 4))):
        n_swapped = data.draw(st.integers(1, 3))
        outside = sorted(set(range(N_SAMPLES)) - set(rows))
        leaving = data.draw(st.permutations(rows))[:n_swapped]
        entering = data.draw(st.permutations(outside))[:n_swapped]
        swap(pairs, np.array(leaving), np.array(entering), sums, counts)
        for sample in leaving:
            move(pairs, sample, -1.0)
        for sample in entering:
            move(pairs, sample, 1.0)
        rows = [row for row in rows if row not in leaving] + list(entering)
    expected_sums, expected_counts = by_definition(panel, rows)
    np.testing.assert_allclose(sums, expected_sums, atol=1e-10)
    np.testing.assert_array_equal(counts, expected_counts)


SCORED = [
    (task, name)
    for task, kind in (("subject", "subject"), ("diagnosis", "classes"))
    for name, criterion in CRITERIA.items()
    if kind in criterion.kinds and not name.startswith("predict")
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("task", "score"), SCORED)
def test_scores_are_those_of_the_benchmark(small_cohort, task, weighted, score):
    random = np.random.default_rng(6)
    rows = np.sort(random.choice(len(small_cohort), 31, replace=False))
    vectors = random.normal(size=(len(small_cohort), 13))
    vectors -= vectors.mean(axis=1, keepdims=True)
    units = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    every = np.ones(len(units), dtype=bool)
    weights = random.uniform(0.5, 2, len(rows)) if weighted else None
    if weighted:
        weights /= weights.mean()
    core = CoreSet([small_cohort.sample_ids[row] for row in rows], weight=weights)
    kernel = Kernel(units, every, Screen(every, ~every))
    length = small_cohort.n_timepoints

    def view(rules):
        question = make_question(small_cohort.samples, task, core, rules=rules, n_timepoints=length)
        return KernelView(kernel.take(question.rows), question)

    target = view(PairRules()).question.target
    codes = sample_codes(small_cohort.samples, target, PairRules(pooled=True), length)
    none = np.zeros((1, 1))
    panel = Panel(
        ["op"], ["a"], np.ascontiguousarray((units @ units.T)[:, :, None]),
        np.arange(len(units)), small_cohort.samples, [target], [codes],
        none, none, none, (score,), length,
    )  # fmt: skip
    expected = find_criterion(score).compute(view(PairRules()))[0]
    assert asked_scores(panel, rows, weights)[0, 0] == pytest.approx(expected, rel=2e-4, abs=2e-6)
    proxy = find_criterion(panel.searched).compute(view(PairRules(pooled=True)))[0]
    assert core_scores(panel, rows, weights)[0, 0] == pytest.approx(proxy, rel=2e-4)


def single_samples(panel):
    n = len(panel.rows)
    return Units(
        np.arange(n)[:, None], np.zeros(n, int), np.arange(n), np.array([0, n]),
        panel.codes[0].subjects,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_the_search_never_worsens_and_says_the_truth(panel, seed):
    objective = Objective(panel.full, operator_weights(panel.families), np.full(2, 0.1), 0.1)
    start = np.random.default_rng(seed).choice(N_SAMPLES, 14, replace=False)
    found = search(panel, objective, single_samples(panel), [start], proposals=400, seed=seed)
    before = objective.value(core_scores(panel, np.sort(start)))
    after = objective.value(core_scores(panel, np.sort(found.rows)))
    assert found.start_value == pytest.approx(before, abs=1e-9)
    assert found.value == pytest.approx(after, abs=1e-9)
    assert after <= before
    assert len(set(found.rows)) == 14


def test_the_search_stops_when_nothing_helps_any_more(panel):
    objective = Objective(panel.full, operator_weights(panel.families), np.full(2, 0.1), 0.1)
    units = single_samples(panel)
    chances = np.random.default_rng(1).random((300, 2))

    def run(n_proposals, patience):
        given = (panel.similarity, panel.classes, panel.blocks, panel.places, units)
        start = np.arange(12)
        return swap_search(
            *given, objective.for_kernel(), start, 0, chances[:n_proposals], patience
        )

    made = [run(n, 300)[3] for n in range(1, 301)]
    helped = np.diff([0, *made])
    idle = 0
    for last, help_ in enumerate(helped):  # noqa: B007
        idle = 0 if help_ else idle + 1
        if idle > 10:
            break
    assert last < 299
    assert run(300, 10)[3] == made[last] < made[-1]


def test_the_objective_is_a_correlation_without_noise(panel):
    weights = np.full(N_OPERATORS, 1 / N_OPERATORS)
    objective = Objective(panel.full[:1], weights, np.zeros(1), 0.0)
    scores = np.random.default_rng(8).normal(size=(1, N_OPERATORS))
    expected = 1 - np.corrcoef(scores[0], panel.full[0])[0, 1]
    assert objective.value(scores) == pytest.approx(expected)
    noisy = Objective(panel.full[:1], weights, np.ones(1), 0.1)
    # Larger differences stand out of the noise; far too large ones are not believed.
    values = [noisy.value(scale * panel.full[:1]) for scale in (1.0, 4.0)]
    assert values[1] < values[0]
    assert noisy.value(-panel.full[:1]) > 1


def test_lines_and_weights():
    line = fit_line(np.array([1.0, 2.0, 4.0]), np.array([5.0, 7.0, 11.0]), np.ones(3))
    assert (line.slope, line.shift) == pytest.approx((2.0, 3.0))
    assert line.implied(np.array([9.0])) == pytest.approx([3.0])
    weights = operator_weights(list("aaaabc"), np.arange(6) == 5)
    assert weights.sum() == pytest.approx(1)
    assert weights[5] == 0
    assert weights[:4].sum() == pytest.approx(2 * weights[4])
