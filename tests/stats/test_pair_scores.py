"""Every score of pairs against loops, and against published definitions."""

import brute_force
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from sclcs._core.errors import InputError, UnknownNameError
from sclcs.cohort.coreset import CoreSet
from sclcs.stats import CRITERIA, PairRules, Target, find_criterion, make_kernel, make_question
from sclcs.stats.evaluation import KernelView
from sclcs.stats.features import vectorize

SUBJECT, LABEL, MIXED = (
    Target("subject", "subject"),
    Target("label", "classes"),
    Target("mixed", "classes"),
)
CASES = {
    "subject": (SUBJECT, {}, {}),
    "subject-paper": (SUBJECT, {"pooled": True, "overlapping": True}, {}),
    "sessions": (SUBJECT, {"across_sessions": True}, {}),
    "label": (LABEL, {}, {}),
    "label-pooled": (LABEL, {"pooled": True}, {}),
    "label-all": (LABEL, {"exclude_same_subject": False}, {}),
    "label-all-pooled": (LABEL, {"exclude_same_subject": False, "pooled": True}, {}),
    "label-within-site": (LABEL, {}, {"within": "site"}),
    "mixed": (MIXED, {}, {}),
    "mixed-pooled": (MIXED, {"pooled": True}, {}),
}
OF_SUBJECTS = {"share", "i2c2", "predict", "predict_r2"}
PAIR_SCORES = [name for name in CRITERIA if name not in OF_SUBJECTS]


@st.composite
def problems(draw):
    """Matrices, facts and a draw of 6 to 11 samples of up to 5 subjects."""
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    n = draw(st.integers(6, 11))
    subject = rng.integers(0, 5, n)
    samples = pd.DataFrame(
        {
            "subject": subject.astype(str),
            "window": np.arange(n),
            "scan": subject.astype(str),
            "start": rng.integers(0, 4, n) * 10,
            "session": rng.integers(0, 2, n),
            "site": np.array(["x", "y", "x", "y", "y"])[subject],
            "label": np.array(["u", "v", "u", "w", "v"])[subject],  # one label per subject
            "mixed": np.array(["p", "q"])[rng.integers(0, 2, n)],  # varies inside a subject
        },
        index=[f"s{i}" for i in range(n)],
    )
    levels = draw(st.sampled_from([2, 200]))  # few levels: many tied similarities
    fc = np.round(rng.normal(size=(n, 4, 4)) * levels)
    if draw(st.booleans()):
        fc[rng.integers(n)] = 1.0  # one constant matrix
    present = rng.integers(0, 2, 5).astype(float)
    weights = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else None
    return samples, fc, present, weights


def prepare(problem, target, rules, more):
    samples, fc, present, weights = problem
    coreset = None if weights is None else CoreSet(samples.index, weight=weights)
    question = make_question(
        samples, target, coreset, rules=PairRules(**rules), n_timepoints=15, **more
    )
    view = KernelView(make_kernel(fc).take(question.rows), question)
    design = question.pairs
    # As single precision has it: a tie may straddle the border of two roundings.
    similarity = np.rint(view.of_pairs.similarity / np.float32(1e-6)).astype(float) * 1e-6
    return view, design, similarity, present[: design.n_subjects]


def well_conditioned(name, within, between):
    """Division by almost nothing magnifies rounding beyond any tolerance."""
    if not within.size or not between.size:
        return True
    if name == "cohen_d":
        return min(np.ptp(within[0]), np.ptp(between[0])) > 5e-2
    return name not in {"ratio", "rel_difference"} or abs(between[0] @ between[1]) > 1e-2


@pytest.mark.parametrize("case", CASES)
@given(problem=problems())
@settings(max_examples=25)
def test_scores_equal_loops_over_pairs(case, problem):
    """On all subjects, and on some of them."""
    try:
        view, design, similarity, drawn = prepare(problem, *CASES[case])
    except InputError:
        return  # covariates or repeated labels that leave nothing to compare
    draws = np.stack([np.ones(design.n_subjects), drawn])
    redrawn = view.drawn(draws)
    usable = view.of_pairs.usable
    for which, draw in enumerate(draws):
        within, between, _ = brute_force.weighted_pairs(similarity, design, draw, usable)
        whole = brute_force.n_classes_drawn(design, draw) == design.n_classes
        if (
            not design.fingerprinting
            and not design.pooled
            and not (whole and all_classes_have_pairs(design, draw, usable))
        ):
            continue  # a class without pairs: the score does not exist, see below
        for name in PAIR_SCORES:
            if not well_conditioned(name, within, between):
                continue
            expected = brute_force.score(name, similarity, design, draw, usable)
            found = CRITERIA[name].compute(redrawn)[which]
            assert found == pytest.approx(expected, nan_ok=True, abs=5e-4, rel=5e-4), name


def all_classes_have_pairs(design, draw, usable):
    n = design.n_classes
    wanted = {(a, b) for a in range(n) for b in range(a, n)}
    samples = [i for i in range(len(design)) if usable[i] and draw[design.subjects[i]]]
    found = {
        tuple(sorted((design.classes[i], design.classes[j])))
        for i in samples
        for j in samples
        if brute_force.kind_of(design, i, j) is not None
    }
    return found == wanted


def simple_view(fc, rules=None, **columns):
    samples = pd.DataFrame(columns)
    samples["window"] = range(len(samples))
    target = SUBJECT if "label" not in columns else LABEL
    question = make_question(samples, target, rules=rules)
    return KernelView(make_kernel(fc), question)


def test_a_class_without_pairs_in_a_draw_has_no_score(rng):
    view = simple_view(rng.normal(size=(6, 5, 5)), subject=list("abcdef"), label=list("uuuvvv"))
    draws = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0.0]])
    found = CRITERIA["difference"].compute(view.drawn(draws))
    assert np.isfinite(found).tolist() == [True, False]


def test_a_small_class_counts_as_much_as_a_large_one(rng):
    """Doubling the controls does not change what the pairs of patients contribute."""
    fc = rng.normal(size=(8, 6, 6))
    twice = np.concatenate([fc, fc[4:]])  # every control again, as another person
    labels = list("uuuuvvvv")
    few = simple_view(fc, subject=list("abcdefgh"), label=labels)
    many = simple_view(twice, subject=list("abcdefghijkl"), label=[*labels, *"vvvv"])
    few_similarity = make_kernel(fc).similarity.astype(float)
    own = few_similarity[:4, :4][~np.eye(4, dtype=bool)].mean()
    # Within: the mean of the two classes; between: unchanged by the copies.
    copies = make_kernel(twice).similarity.astype(float)[4:, 4:]
    expected = (own + copies[~np.eye(8, dtype=bool)].mean()) / 2 - few.moments.mean_between[0]
    assert CRITERIA["difference"].compute(many)[0] == pytest.approx(expected, abs=1e-6)


def test_windows_that_share_time_points_are_never_compared(rng):
    samples = {"subject": list("aaabbb"), "scan": list("aaabbb"), "start": [0, 35, 70] * 2}
    frame = pd.DataFrame(samples | {"window": [0, 1, 2] * 2})
    apart = make_question(frame, SUBJECT, n_timepoints=70).pairs
    own = apart.pair_kinds[:3, :3]
    assert own.tolist() == [[-1, -1, 1], [-1, -1, -1], [1, -1, -1]]
    everything = make_question(frame, SUBJECT, n_timepoints=70, rules=PairRules.paper()).pairs
    assert (everything.pair_kinds[:3, :3] == 1).sum() == 6
    unknown = make_question(frame, SUBJECT).pairs  # the length of a window is not known
    assert (unknown.pair_kinds[:3, :3] == 1).sum() == 6
    two_scans = frame.assign(scan=list("abcdef"))
    assert (make_question(two_scans, SUBJECT, n_timepoints=70).pairs.pair_kinds == -1).sum() == 6


def test_rsa_is_a_rescaled_auc_without_ties(rng):
    rules = PairRules.paper()
    view = simple_view(rng.normal(size=(7, 9, 9)), rules, subject=list("aaabbcc"))
    n_within, n_between = 5, 16
    factor = np.sqrt(12 * n_within * n_between / ((n_within + n_between) ** 2 - 1))
    auc, rsa = CRITERIA["auc"].compute(view)[0], CRITERIA["rsa"].compute(view)[0]
    assert rsa == pytest.approx((auc - 0.5) * factor, rel=1e-12)


def test_cohen_d_pooled_is_the_formula_of_the_benchmarking_paper(rng):
    """Liu 2025: nanmean and nanstd (ddof 0) over the ordered pairs of a full matrix."""
    subjects = np.array(list("aaabbcccc"))
    view = simple_view(rng.normal(size=(9, 5, 5)), PairRules.paper(), subject=list(subjects))
    same = subjects[:, None] == subjects[None, :]
    np.fill_diagonal(same, val=False)
    other = subjects[:, None] != subjects[None, :]
    similarity = view.kernel.similarity.astype(float)
    w, b = similarity[same], similarity[other]
    pooled = np.sqrt(
        ((len(w) - 1) * w.std() ** 2 + (len(b) - 1) * b.std() ** 2) / (len(w) + len(b) - 2)
    )
    found = CRITERIA["cohen_d"].compute(view)[0]
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
def test_discr_pooled_is_the_published_statistic(rng, subjects):
    fc = rng.normal(size=(len(subjects), 5, 5))
    view = simple_view(fc, PairRules.paper(), subject=list(subjects))
    distances = 1 - brute_force.rounded_similarity(vectorize(fc))
    expected = discriminability_of_the_paper(distances, list(subjects))
    assert CRITERIA["discr"].compute(view)[0] == pytest.approx(expected)


def test_discr_pooled_equals_hyppo(rng):
    discrim = pytest.importorskip("hyppo.discrim")
    subjects = list("aaabbccccddd")
    fc = rng.normal(size=(len(subjects), 5, 5))
    distances = 1 - brute_force.rounded_similarity(vectorize(fc))
    np.fill_diagonal(distances, 0.0)
    codes = np.unique(subjects, return_inverse=True)[1]
    expected = discrim.DiscrimOneSample(is_dist=True).statistic(distances, codes)
    view = simple_view(fc, PairRules.paper(), subject=subjects)
    assert CRITERIA["discr"].compute(view)[0] == pytest.approx(expected)


def test_identification_across_sessions_is_finns(rng):
    """Two sessions: arg-max over the other session, averaged over both directions."""
    n = 8
    base = rng.normal(size=(n, 6, 6))
    fc = np.concatenate([base, base]) + 1.2 * rng.normal(size=(2 * n, 6, 6))
    similarity = brute_force.rounded_similarity(vectorize(fc))
    # Between pairs inside a session are candidates here; remove them for the comparison.
    similarity[:n, :n] = similarity[n:, n:] = -1
    cross = similarity[:n, n:]
    expected = ((cross.argmax(1) == range(n)).mean() + (cross.argmax(0) == range(n)).mean()) / 2
    names = [f"p{k}" for k in range(n)] * 2
    view = simple_view(fc, subject=names, session=["1"] * n + ["2"] * n)
    view.kernel.__dict__["similarity"] = similarity.astype("f4")
    assert CRITERIA["ident_rate"].compute(view)[0] == pytest.approx(expected)


def test_i2c2_is_the_share_of_variance_between_persons(rng):
    """Many persons, many windows: the intraclass correlation of what was simulated."""
    persons, windows, signal = 40, 6, 0.7
    base = rng.normal(size=(persons, 1, 12, 12))
    noise = rng.normal(size=(persons, windows, 12, 12))
    fc = signal * base + np.sqrt(1 - signal**2) * noise
    names = np.repeat([f"p{k:02d}" for k in range(persons)], windows)
    view = simple_view(fc.reshape(-1, 12, 12), subject=list(names))
    found = CRITERIA["i2c2"].compute(view)[0]
    assert found == pytest.approx(signal**2, abs=0.03)
    assert CRITERIA["share"].compute(view)[0] == found


def test_the_registry_is_complete_and_an_unknown_score_lists_it():
    for name, criterion in CRITERIA.items():
        assert criterion.name == name
        assert all([criterion.formula, criterion.range, criterion.reference])
    assert CRITERIA["ratio"].warning
    assert not CRITERIA["share"].warning
    with pytest.raises(UnknownNameError, match=r"share, predict, .*i2c2, cohen_d"):
        find_criterion("accuracy")
    with pytest.raises(InputError, match=r"cohen_d cannot be used for age.*share"):
        find_criterion("cohen_d", Target("age", "number"))
    assert find_criterion(None, SUBJECT).name == "cohen_d"
    assert find_criterion(None, LABEL).name == "share"
