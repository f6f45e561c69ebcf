"""Every score against loops over explicit copies of samples."""

import brute_force
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sclcs.benchmark.design import make_design
from sclcs.benchmark.moments import closed_form_moments, table_moments
from sclcs.benchmark.pairs import OperatorPairs
from sclcs.benchmark.scores import SCORES, find_score
from sclcs.benchmark.similarity import operator_vectors, vectorize
from sclcs.benchmark.tasks import LabelTask, SubjectTask
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import UnknownNameError

TASKS = [
    SubjectTask(),
    SubjectTask(across_sessions=True),
    LabelTask("label"),
    LabelTask("label", exclude_same_subject=False),
    LabelTask("mixed"),
    LabelTask("mixed", exclude_same_subject=False),
]
TASK_IDS = ["subject", "sessions", "label", "label-all", "mixed", "mixed-all"]


@st.composite
def problems(draw):
    """Matrices, facts and draws of 4 to 9 samples of up to 4 subjects."""
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    n = draw(st.integers(4, 9))
    subject = rng.integers(0, 4, n)
    samples = pd.DataFrame(
        {
            "subject": subject.astype(str),
            "session": rng.integers(0, 2, n),
            "label": np.array(["u", "v", "u", "w"])[subject],  # one label per subject
            "mixed": rng.integers(0, 2, n),  # labels vary inside a subject
        },
        index=[f"s{i}" for i in range(n)],
    )
    levels = draw(st.sampled_from([2, 200]))  # few levels: many tied similarities
    fc = np.round(rng.normal(size=(n, 4, 4)) * levels)
    if draw(st.booleans()):
        fc[rng.integers(n)] = 1.0  # one constant matrix
    multiplicity = rng.integers(0, 3, 4).astype(float)
    weights = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else None
    return samples, fc, multiplicity, weights


def prepare(problem, task):
    samples, fc, multiplicity, weights = problem
    coreset = None if weights is None else CoreSet(samples.index, weight=weights)
    design = make_design(samples, task, coreset)
    vectors = operator_vectors(fc).take(design.rows)
    # As single precision has it: a tie may straddle the border of two roundings.
    similarity = np.rint(vectors.similarity / np.float32(1e-6)).astype(float) * 1e-6
    return design, vectors, similarity, multiplicity[: design.n_subjects]


def well_conditioned(name, within, between):
    """Division by almost nothing magnifies rounding beyond any tolerance."""
    if not len(within) or not len(between):
        return True
    if name == "cohen_d":
        return np.sqrt((within.var() + between.var()) / 2) > 2e-2
    return name not in {"ratio", "rel_difference"} or abs(between.mean()) > 1e-2


@pytest.mark.parametrize("task", TASKS, ids=TASK_IDS)
@given(problem=problems())
@settings(max_examples=25)
def test_scores_equal_loops_over_copies(task, problem):
    """On all subjects, and when subjects are drawn: some twice, some never."""
    design, vectors, similarity, drawn = prepare(problem, task)
    draws = np.stack([np.ones(design.n_subjects), drawn])
    once = OperatorPairs(vectors, design)
    redrawn = once.drawn(draws)
    lists = [brute_force.pairs(similarity, design, draw, vectors.usable) for draw in draws]
    for name, score in SCORES.items():
        found = [score.compute(once)[0], *score.compute(redrawn)]
        for value, which in zip(found, (0, 0, 1), strict=True):
            if not well_conditioned(name, *lists[which]):
                continue
            expected = brute_force.score(name, similarity, design, draws[which], vectors.usable)
            assert value == pytest.approx(expected, nan_ok=True, abs=2e-4, rel=2e-4), name


@pytest.mark.parametrize("task", TASKS, ids=TASK_IDS)
@given(problem=problems())
@settings(max_examples=15)
def test_closed_form_equals_tables(task, problem):
    design, vectors, _, _ = prepare(problem, task)
    closed = closed_form_moments(vectors, design)
    tables = table_moments(vectors, design, np.ones((1, design.n_subjects)))
    np.testing.assert_allclose(closed.within, tables.within, atol=2e-5)
    np.testing.assert_allclose(closed.between, tables.between, atol=2e-5)


def test_closed_form_by_gram_matrices_of_large_classes(rng):
    # 40 samples per class, 6 edges: the Gram matrices are smaller than the similarities.
    samples = pd.DataFrame({"subject": np.repeat(range(20), 4).astype(str)})
    samples["label"] = np.repeat(["u", "v"], 40)
    design = make_design(samples, LabelTask("label"))
    fc = rng.normal(size=(80, 4, 4))
    vectors = operator_vectors(fc + fc.transpose(0, 2, 1)).take(design.rows)
    closed = closed_form_moments(vectors, design)
    tables = table_moments(vectors, design, np.ones((1, 20)))
    np.testing.assert_allclose(closed.within, tables.within, rtol=1e-5)
    np.testing.assert_allclose(closed.between, tables.between, rtol=1e-5, atol=1e-3)
    assert closed.within[0, 0] == 2 * 10 * 4 * 9 * 4


def test_rsa_is_a_rescaled_auc_without_ties(rng):
    samples = pd.DataFrame({"subject": list("aaabbcc")})
    design = make_design(samples, SubjectTask())
    pairs = OperatorPairs(operator_vectors(rng.normal(size=(7, 9, 9))), design)
    n_within, n_between = 5, 16
    factor = np.sqrt(12 * n_within * n_between / ((n_within + n_between) ** 2 - 1))
    auc, rsa = SCORES["auc"].compute(pairs)[0], SCORES["rsa"].compute(pairs)[0]
    assert rsa == pytest.approx((auc - 0.5) * factor, rel=1e-12)


def test_cohen_d_is_the_formula_of_the_benchmarking_paper(rng):
    """Liu 2025: nanmean and nanstd (ddof 0) over the ordered pairs of a full matrix."""
    samples = pd.DataFrame({"subject": list("aaabbcccc")})
    design = make_design(samples, SubjectTask())
    vectors = operator_vectors(rng.normal(size=(9, 5, 5)))
    same = design.classes[:, None] == design.classes[None, :]
    np.fill_diagonal(same, val=False)
    other = design.classes[:, None] != design.classes[None, :]
    similarity = vectors.take(design.rows).similarity.astype(float)
    w, b = similarity[same], similarity[other]
    pooled = np.sqrt(
        ((len(w) - 1) * w.std() ** 2 + (len(b) - 1) * b.std() ** 2) / (len(w) + len(b) - 2)
    )
    found = SCORES["cohen_d"].compute(OperatorPairs(vectors.take(design.rows), design))[0]
    assert found == pytest.approx((w.mean() - b.mean()) / pooled, rel=1e-5)


def discriminability_of_the_paper(distances, labels):
    """Bridgeford 2021 as hyppo's DiscrimOneSample does it, from its published definition."""
    kept = [i for i, label in enumerate(labels) if list(labels).count(label) > 1]
    distances, labels = distances[np.ix_(kept, kept)], np.asarray(labels)[kept]
    rdfs = []
    for i, label in enumerate(labels):
        others = distances[i][labels != label]
        for j in np.flatnonzero(labels == label):
            if j != i:
                worse = (others < distances[i, j]).sum() + 0.5 * (others == distances[i, j]).sum()
                rdfs.append(1 - worse / len(others))
    return np.mean(rdfs)


@pytest.mark.parametrize("subjects", ["aaabbccccd", "abcabcabc", "aabbccddee"])
def test_discr_is_the_published_statistic(rng, subjects):
    samples = pd.DataFrame({"subject": list(subjects)})
    design = make_design(samples, SubjectTask())
    fc = rng.normal(size=(len(subjects), 5, 5))
    vectors = operator_vectors(fc)
    found = SCORES["discr"].compute(OperatorPairs(vectors.take(design.rows), design))[0]
    distances = 1 - brute_force.rounded_similarity(vectorize(fc))
    assert found == pytest.approx(discriminability_of_the_paper(distances, list(subjects)))


def test_discr_equals_hyppo(rng):
    discrim = pytest.importorskip("hyppo.discrim")
    subjects = list("aaabbccccddd")
    fc = rng.normal(size=(len(subjects), 5, 5))
    distances = 1 - brute_force.rounded_similarity(vectorize(fc))
    np.fill_diagonal(distances, 0.0)
    codes = np.unique(subjects, return_inverse=True)[1]
    expected = discrim.DiscrimOneSample(is_dist=True).statistic(distances, codes)
    design = make_design(pd.DataFrame({"subject": subjects}), SubjectTask())
    pairs = OperatorPairs(operator_vectors(fc).take(design.rows), design)
    assert SCORES["discr"].compute(pairs)[0] == pytest.approx(expected)


def test_identification_across_sessions_is_finns(rng):
    """Two sessions: arg-max over the other session, averaged over both directions."""
    n = 8
    base = rng.normal(size=(n, 6, 6))
    fc = np.concatenate([base, base]) + 1.2 * rng.normal(size=(2 * n, 6, 6))
    samples = pd.DataFrame({"subject": [*map(str, range(n))] * 2, "session": ["1"] * n + ["2"] * n})
    similarity = brute_force.rounded_similarity(vectorize(fc))
    # Between pairs inside a session are candidates here; remove them for the comparison.
    similarity[:n, :n] = similarity[n:, n:] = -1
    cross = similarity[:n, n:]
    expected = ((cross.argmax(1) == range(n)).mean() + (cross.argmax(0) == range(n)).mean()) / 2
    design = make_design(samples, SubjectTask())
    vectors = operator_vectors(fc).take(design.rows)
    vectors.__dict__["similarity"] = similarity[np.ix_(design.rows, design.rows)].astype("f4")
    found = SCORES["ident_rate"].compute(OperatorPairs(vectors, design))[0]
    assert found == pytest.approx(expected)


def test_the_registry_is_complete_and_an_unknown_score_lists_it():
    for name, score in SCORES.items():
        assert score.name == name
        assert all([score.formula, score.range, score.reference])
    assert SCORES["ratio"].warning
    assert not SCORES["cohen_d"].warning
    with pytest.raises(UnknownNameError, match="cohen_d, difference"):
        find_score("accuracy")
