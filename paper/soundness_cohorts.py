"""What ``soundness`` measures on cohorts of two groups whose difference is known.

First the cohorts: no difference, more noise, a site, or a real one. They are small on purpose, so
that hundreds of them take minutes. Every subject's signals are a few sources, mixed by loadings
that are the population's, the person's, the site's and the group's, plus noise of every region.
(:func:`sclcs.simulate_cohort` imitates a real cohort instead.) Then the pair scores of the paper
under permutations, as quadratic forms; what is measured in one cohort; and whether the order of
operators depends on how many subjects each class has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import InputError, generator, show_progress
from sclcs.cohort import Cohort
from sclcs.stats import (
    ArraySource,
    FCSource,
    Inquiry,
    PairRules,
    Ranking,
    effect_test,
    evaluate,
    find_criterion,
    make_kernel,
    make_question,
    rank,
)
from sclcs.stats.concordance import agreement

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
N_REGIONS, N_SOURCES, N_TIMEPOINTS = 9, 3, 70
PERSON, SITE, NOISE = 0.25, 0.35, 0.8
MEMORY = 0.6  # of the sources, from one time point to the next
ALIGNED = 0.8  # share of the patients at the second site, and of the controls at the first


@dataclass(frozen=True)
class Groups:
    """How controls and patients differ.

    Parameters
    ----------
    controls, patients : int
        How many there are.
    effect : float
        How far the loadings of patients lie from those of controls.
    noise : float
        Noise of the patients' signals by that of the controls'.
    confounded : bool
        Whether 80 % of the patients, and 20 % of the controls, come from a second site whose
        scanner shifts the loadings.
    """

    controls: int
    patients: int
    effect: float = 0.0
    noise: float = 1.0
    confounded: bool = False

    @property
    def sizes(self) -> str:
        """Controls and patients, as the tables name them."""
        return f"{self.controls}:{self.patients}"


def make_groups(groups: Groups, *axes: object, seed: int = 0) -> Cohort:
    """Simulate one cohort.

    Parameters
    ----------
    groups : Groups
    *axes : object
        What tells this cohort from others of the same seed.
    seed : int
        The population, which all cohorts of a seed share, and the base of all draws.

    Returns
    -------
    Cohort
        One window per subject, with ``diagnosis`` (and ``site``, if it is confounded).
    """
    population = generator(seed, "soundness", "population")
    loadings = population.normal(size=(N_REGIONS, N_SOURCES))
    change, scanner = population.normal(size=(2, N_REGIONS, N_SOURCES))
    draw = generator(seed, "soundness", repr(groups), *axes)
    patient = np.repeat([0, 1], [groups.controls, groups.patients])
    site = _sites(groups, patient)
    n_subjects = len(patient)
    mixing = loadings + PERSON * draw.normal(size=(n_subjects, N_REGIONS, N_SOURCES))
    mixing = mixing + groups.effect * patient[:, None, None] * change
    mixing = mixing + SITE * site[:, None, None] * scanner
    level = NOISE * np.where(patient == 1, groups.noise, 1.0)
    noise = level[:, None, None] * draw.normal(size=(n_subjects, N_REGIONS, N_TIMEPOINTS))
    signals = mixing @ _sources(draw, n_subjects) + noise
    return Cohort(signals.astype(np.float32), _table(patient, site, groups.confounded))


def _sources(draw: np.random.Generator, n_subjects: int) -> Floats:
    """Return slow signals of unit variance (subject, source, time point)."""
    steps = draw.normal(size=(N_TIMEPOINTS, n_subjects, N_SOURCES))
    values = np.empty_like(steps)
    values[0] = steps[0]
    for time in range(1, N_TIMEPOINTS):
        values[time] = MEMORY * values[time - 1] + np.sqrt(1 - MEMORY**2) * steps[time]
    return np.asarray(values.transpose(1, 2, 0))


def _sites(groups: Groups, patient: Integers) -> Integers:
    site = np.zeros(len(patient), dtype=np.int64)
    if groups.confounded:
        for code, share in ((0, 1 - ALIGNED), (1, ALIGNED)):
            members = np.flatnonzero(patient == code)
            site[members[: round(share * len(members))]] = 1
    return site


def _table(patient: Integers, site: Integers, with_site: bool) -> pd.DataFrame:
    names = [f"s{number:04d}" for number in range(len(patient))]
    table = pd.DataFrame(
        {
            "subject": names,
            "window": 0,
            "diagnosis": np.where(patient == 1, "patient", "control"),
        },
        index=[f"{name}_w0" for name in names],
    )
    if with_site:
        table["site"] = np.where(site == 1, "second", "first")
    return table


#: Scores that a user could have chosen before.
OLD_SCORES = ("cohen_d", "cohen_d pooled", "difference pooled", "auc pooled", "discr pooled")


def old_statistics(kernel: Floats, classes: Integers, permutations: Integers) -> dict[str, Floats]:
    """Return every old score as it is, and with the classes permuted.

    Parameters
    ----------
    kernel : array, shape (subject, subject)
        Similarities of the subjects under one operator.
    classes : array of int, shape (subject,)
        0 or 1.
    permutations : array of int, shape (permutation, subject)

    Returns
    -------
    dict of str to array, shape (1 + permutation,)
        The observed one first; pooled ones let every ordered pair of different subjects count
        alike.
    """
    orders = np.vstack([np.arange(len(kernel))[None, :], permutations])
    member = (classes[orders] == 1).astype(np.float64)
    apart = ~np.eye(len(kernel), dtype=bool)
    counts = _sums(apart.astype(np.float64), member)
    sums = _sums(np.where(apart, kernel, 0.0), member)
    squares = _sums(np.where(apart, kernel**2, 0.0), member)
    found = {"cohen_d": _cohen_d(sums / counts, squares / counts)}
    pooled = [np.stack([table[0] + table[1], table[2]]) for table in (counts, sums, squares)]
    means, mean_squares = pooled[1] / pooled[0], pooled[2] / pooled[0]
    difference = means[0] - means[1]
    variance = (pooled[0] * (mean_squares - means**2)).sum(axis=0) / pooled[0].sum(axis=0)
    found["cohen_d pooled"] = difference / np.sqrt(variance)
    found["difference pooled"] = difference
    found["auc pooled"] = _superiority(_ranks(kernel, apart), counts, member)
    found["discr pooled"] = _discriminability(kernel, apart, member)
    return {name: found[name] for name in OLD_SCORES}


def _sums(table: Floats, member: Floats) -> Floats:
    """Sum a table over the ordered pairs inside class 0, inside class 1, and between."""
    inside_one = np.einsum("pi,pi->p", member @ table, member)
    inside_zero = np.einsum("pi,pi->p", (1 - member) @ table, 1 - member)
    return np.stack([inside_zero, inside_one, table.sum() - inside_one - inside_zero])


def _cohen_d(means: Floats, squares: Floats) -> Floats:
    """Return the score with both classes counting alike (see ``cohen_d`` of the criteria)."""
    within, between = (means[0] + means[1]) / 2, means[2]
    within_square = (squares[0] + squares[1]) / 2
    variance = ((within_square - within**2) + (squares[2] - between**2)) / 2
    return np.asarray((within - between) / np.sqrt(variance))


def _ranks(kernel: Floats, apart: NDArray[np.bool_]) -> Floats:
    """Return the ranks of all similarities of different subjects; 0 elsewhere."""
    from scipy.stats import rankdata

    ranks = np.zeros_like(kernel)
    ranks[apart] = rankdata(kernel[apart])
    return ranks


def _superiority(ranks: Floats, counts: Floats, member: Floats) -> Floats:
    """Return the chance that a within pair is more alike than a between pair."""
    sums = _sums(ranks, member)
    n_within, n_between = counts[0] + counts[1], counts[2]
    lowest = n_within * (n_within + 1) / 2
    return np.asarray((sums[0] + sums[1] - lowest) / (n_within * n_between))


def _discriminability(kernel: Floats, apart: NDArray[np.bool_], member: Floats) -> Floats:
    """Return how often a within pair is more alike than the sample and one of another class."""
    from scipy.stats import rankdata

    size = len(kernel)
    ranks = np.zeros_like(kernel)
    ranks[apart] = rankdata(kernel[apart].reshape(size, size - 1), axis=1).ravel()
    total = np.zeros(len(member))
    pairs = np.zeros(len(member))
    for mine in (member, 1 - member):
        own = mine.sum(axis=1) - 1  # others of the class
        other = size - 1 - own
        sums = np.einsum("pi,pi->p", mine @ ranks.T, mine)  # row i is the sample's own order
        n_rows = own + 1
        total += (sums - n_rows * own * (own + 1) / 2) / other
        pairs += n_rows * own
    return np.asarray(total / pairs)


#: Cheap operators of different kinds; the two distances are twins of Pearson's correlation.
OPERATORS = (
    "cov_EmpiricalCovariance",
    "prec_EmpiricalCovariance",
    "prec_LedoitWolf",
    "spearmanr",
    "kendalltau",
    "xcorr_max_sig-True",
    "mi_gaussian",
    "pdist_euclidean",
    "pdist_cosine",
    "dcorr",
    "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-5",
    "pec",
)
TASK = "diagnosis"
ALPHA = 0.05
SIZES = ((22, 22), (40, 4), (4, 40), (100, 20))
NOISIER = 2.0
SMALL_EFFECT, CLEAR_EFFECTS = 0.06, (0.1, 0.25)


@dataclass(frozen=True)
class Condition:
    """One row of the table of bars.

    Parameters
    ----------
    bar : {"no effect", "site as covariate", "within site", "noisier patients", "power", "best set"}
        What is asked.
    groups : Groups
        Who is simulated.
    """

    bar: str
    groups: Groups

    @property
    def question(self) -> dict[str, Any]:
        """How the cohort is ranked."""
        if self.bar == "site as covariate":
            return {"covariates": ("site",)}
        return {"within": "site"} if self.bar == "within site" else {}


CONDITIONS = (
    *(Condition("no effect", Groups(*sizes)) for sizes in SIZES),
    *(
        Condition(bar, Groups(*sizes, confounded=True))
        for bar in ("site as covariate", "within site")
        for sizes in SIZES
    ),
    *(Condition("noisier patients", Groups(*sizes, noise=NOISIER)) for sizes in SIZES[:3]),
    *(
        Condition("power", Groups(*sizes, effect=SMALL_EFFECT * scale))
        for sizes, scale in (((30, 30), 1.0), ((45, 15), 1.2), ((15, 45), 1.2))
    ),
    *(
        Condition("best set", Groups(*sizes, effect=effect))
        for sizes in ((40, 40), (60, 20))
        for effect in CLEAR_EFFECTS
    ),
)


@dataclass(frozen=True)
class Effort:
    """How much is computed for one cohort.

    Parameters
    ----------
    permutations, draws : int
        Of a ranking.
    truth : int
        Subjects of each group from whom the true scores are taken.
    """

    permutations: int
    draws: int
    truth: int


FULL = Effort(999, 1000, 1200)
TOY = Effort(99, 40, 60)


def measure_cohort(condition: Condition, number: int, seed: int, effort: Effort) -> dict[str, Any]:
    """Simulate one cohort and say what its ranking said.

    Parameters
    ----------
    condition : Condition
    number : int
        Of the cohort.
    seed : int
    effort : Effort

    Returns
    -------
    dict
        ``found`` (whether "there is an effect" was said), ``share`` (explained share, averaged
        over operators), ``scattered`` (whether scatter was named); for power, the same
        question answered by each old score; for the best set, whether it holds the best and how
        large it is.
    """
    cohort = make_groups(condition.groups, condition.bar, number, seed=seed)
    source, asks_best = _matrices(cohort), condition.bar == "best set"
    with show_progress(visible=False):
        ranked = rank(
            source,
            TASK,
            permutations=0 if asks_best else effort.permutations,
            bootstrap=effort.draws if asks_best else 0,
            seed=seed + number,
            **condition.question,
        )
    row = _said(ranked)
    if not asks_best:
        row |= _scatter(ranked)
    if condition.bar == "power":
        row |= _old_power(source, effort.permutations, seed + number)
    if condition.bar == "best set":
        row |= _held(ranked, _true_best(condition.groups, seed, effort.truth))
    return row


def _matrices(cohort: Cohort) -> ArraySource:
    from sclcs.spi import compute_batch as compute

    found = compute(np.asarray(cohort.signals), list(OPERATORS), sample_keys=cohort.sample_ids)
    return ArraySource.from_dataarray(found, cohort)


def _said(ranked: Ranking) -> dict[str, Any]:
    effect = ranked.findings.get("effect", {}).get("p")
    return {
        "found": float(effect is not None and effect < ALPHA),
        "share": float(ranked.groups["score"].mean()),
    }


def _scatter(ranked: Ranking) -> dict[str, float]:
    p = ranked.findings.get("scatter", {}).get("scatter_p")
    return {"scattered": float(p is not None and p < ALPHA)}


def _old_power(source: ArraySource, permutations: int, seed: int) -> dict[str, float]:
    """Ask every old score whether there is an effect, by the same permutations."""
    question = make_question(source.samples, TASK)
    orders = question.permutations(permutations, seed)
    classes = np.asarray(question.values, dtype=np.int64)
    tables: dict[str, list[Floats]] = {name: [] for name in OLD_SCORES}
    for spi in source.operators:
        kernel = make_kernel(source.matrices(spi)).of_cases(question.cases)
        for name, values in old_statistics(kernel, classes, orders).items():
            tables[name].append(values)
    return {
        f"found by {name}": float(effect_test(np.stack(rows)).p.min() < ALPHA)
        for name, rows in tables.items()
    }


def _held(ranked: Ranking, best: str) -> dict[str, float]:
    rows = ranked.best_set
    names = [[row["spi"], *row["also"]] for row in rows.to_dict(orient="records")]
    return {"held": float(any(best in group for group in names)), "size": float(len(rows))}


@cache
def _true_best(groups: Groups, seed: int, subjects: int) -> str:
    """Return the operator with the largest share in the population, from many subjects."""
    many = Groups(subjects, subjects, groups.effect, groups.noise, groups.confounded)
    source = _matrices(make_groups(many, "truth", seed=seed))
    question = make_question(source.samples, TASK)
    inquiry = Inquiry(question, (find_criterion("share", question.target),))
    (found,) = evaluate(source, source.operators, [inquiry])
    return found.operators[int(np.nanargmax(found.point["share"]))]


#: Which subjects are left: a third of one class; as many of both together; or fewer of both, so
#: that their difference is as uncertain as with one class cut to a third (1/n + 1/m the same).
KINDS = (
    "a third of the first class",
    "a third of the second class",
    "as many of both",
    "both, as uncertain",
)
THIRD = 1 / 3


def order_rows(
    source: FCSource, operators: Sequence[str], task: str, repeats: int, seed: int
) -> list[dict[str, Any]]:
    """Rank on part of the subjects, and compare with the ranking on all of them.

    Parameters
    ----------
    source : FCSource
    operators : sequence of str
    task : str
        A label of two classes.
    repeats : int
        Random parts of each kind.
    seed : int

    Returns
    -------
    list of dict
        ``score``, ``kind``, ``lost`` (the class that was cut to a third, or with which the part is
        compared), ``repeat`` and ``kendall`` with the ranking on all subjects.
    """
    question = make_question(source.samples, task, n_timepoints=source.n_timepoints)
    if len(question.classes) != 2:
        raise InputError(f"Expected a label of two classes, but {task} has {question.classes}.")
    first = np.unique(question.cases.subjects, return_index=True)[1]
    classes = np.asarray(question.values, dtype=np.int64)[first]
    facts, draws = _parts(classes, repeats, seed)
    pooled = make_question(
        source.samples, task, rules=PairRules(pooled=True), n_timepoints=source.n_timepoints
    )
    inquiries = [
        Inquiry(asked, (find_criterion(name, asked.target),), draws)
        for asked, name in ((question, "share"), (pooled, "cohen_d"))
    ]
    rows = []
    for name, found in zip(
        ("share", "cohen_d pooled"), evaluate(source, operators, inquiries), strict=True
    ):
        (point,), (drawn,) = found.point.values(), found.drawn.values()
        known = np.isfinite(point) & np.isfinite(drawn).all(axis=1)
        for place, fact in enumerate(facts):
            kendall = agreement(point[known], drawn[known, place], (5,))["kendall"]
            rows.append({"score": name, **fact, "kendall": kendall})
    return rows


def _parts(
    classes: NDArray[np.int64], repeats: int, seed: int
) -> tuple[list[dict[str, Any]], Floats]:
    """Draw parts of the subjects: one class cut to a third, and both to the same total."""
    sizes = np.bincount(classes)
    facts, draws = [], []
    for lost in (0, 1):
        left = sizes.astype(np.float64)
        left[lost] = round(sizes[lost] * THIRD)
        share = left.sum() / sizes.sum()
        precision = (1 / sizes).sum() / (1 / left).sum()
        kinds = ((KINDS[lost], left), (KINDS[2], sizes * share), (KINDS[3], sizes * precision))
        for kind, wanted in kinds:
            for repeat in range(repeats):
                random = generator(seed, "soundness", "order", kind, lost, repeat)
                draw = np.zeros(len(classes))
                for code in (0, 1):
                    members = random.permutation(np.flatnonzero(classes == code))
                    draw[members[: round(wanted[code])]] = 1.0
                facts.append({"kind": kind, "lost": lost, "repeat": repeat})
                draws.append(draw)
    return facts, np.array(draws)
