"""One test over operators and views: its level, what it finds, and what it names."""

from dataclasses import replace

import numpy as np
import pytest

from sclcs._core.errors import InputError
from sclcs.stats import apart, effect_finding, make_design, make_features, operator_effects
from sclcs.stats.permutations import permutation_table
from sclcs.stats.share import make_share_model

N, R, P = 30, 7, 99


def cohort(rng, n_operators=3, n=N):
    """Operators that see the same noisy matrices, each in its own way."""
    base = rng.normal(size=(n, R, R))
    base = base + base.transpose(0, 2, 1) + rng.normal(size=(n, 1, 1))
    own = rng.normal(size=(n_operators, n, R, R))
    return {f"op{i}": (base + 0.7 * noise).astype(np.float32) for i, noise in enumerate(own)}


def design_of(classes, blocks=None, seed=0, covariates=None):
    columns = np.ones((len(classes), 1)) if covariates is None else covariates
    model = make_share_model(classes, columns, number=False)
    blocks = np.zeros(len(classes), dtype=int) if blocks is None else blocks
    return make_design(model, permutation_table(blocks, P, seed))


def finding_of(matrices, design):
    return effect_finding(
        {name: operator_effects(make_features(one), design) for name, one in matrices.items()}
    )


def false_effects(draws):
    """Return how often there is an effect, and the most that 5 % could come out as by chance."""
    found = np.mean([p <= 0.05 for p in draws])
    return found, 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(draws))


@pytest.mark.parametrize("sizes", [(15, 15), (26, 4)])
def test_without_an_effect_there_is_one_in_five_per_cent(sizes):
    classes, draws = np.repeat([0, 1], sizes), []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        draws.append(finding_of(cohort(rng), design_of(classes, seed=seed)).p)
    found, most = false_effects(draws)
    assert 0 < found < most


def test_a_site_that_matters_makes_no_effect_within_sites():
    draws = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        site = np.arange(N) % 2
        classes = np.where(rng.permutation(N) < 0.8 * N, site, 1 - site)
        shift = rng.normal(size=(R, R))
        matrices = {k: v + 2 * site[:, None, None] * shift for k, v in cohort(rng).items()}
        covariates = np.c_[np.ones(N), site]
        design = design_of(classes, site, seed, covariates)
        draws.append(finding_of({k: v.astype(np.float32) for k, v in matrices.items()}, design).p)
    found, most = false_effects(draws)
    assert found < most


def test_one_edge_is_named_with_its_p(rng):
    classes, matrices = np.arange(N) % 2, cohort(rng)
    matrices["op1"][:, [2, 5], [5, 2]] += 6 * classes[:, None]
    found = finding_of(matrices, design_of(classes))
    assert found.found()
    assert found.seen_in()[0] == "edge"
    assert found.seen_by()[0] == "op1"
    first = found.edges[0]
    assert (first.operator, {first.source, first.target}) == ("op1", {2, 5})
    assert first.t > 5
    assert first.p == found.p_operators["edge"][1] == found.strong_edges()[0].p <= 0.05
    assert [edge.p for edge in found.edges] == sorted(edge.p for edge in found.edges)
    assert len({(e.source, e.target) for e in found.edges}) == len(found.edges) == 5


def test_level_is_seen_by_values_and_not_by_patterns(rng):
    classes = np.arange(N) % 2
    level = 0.8 * rng.normal(size=N) + 2.2 * classes  # the same on every edge
    matrices = {
        name: (rng.normal(size=(N, R, R)) + level[:, None, None]).astype(np.float32)
        for name in ("one", "other")
    }
    found = finding_of(matrices, design_of(classes))
    assert "values" in found.seen_in()
    assert found.views["pattern"] > 0.05
    assert found.p == min(found.views.values())


def test_an_effect_that_operators_see_together_is_found_where_none_sees_it_alone():
    """Twenty-five operators with independent noise, each with a weak effect."""
    findings = []
    for seed in range(12):
        rng, classes = np.random.default_rng(seed), np.arange(N) % 2
        effect = classes[:, None, None] * 0.2 * rng.normal(size=(R, R))
        noise = rng.normal(size=(25, N, R, R))
        matrices = {f"op{i}": (own + effect).astype(np.float32) for i, own in enumerate(noise)}
        findings.append(finding_of(matrices, design_of(classes, seed=seed)))
    assert sum(found.found() for found in findings) >= 9
    assert sum(bool(found.seen_by()) for found in findings) <= 6


def test_operators_on_all_and_on_some_cases_are_one_family():
    """The expensive operator is picked by one half and tested on the other."""
    draws, rows = [], np.arange(0, N, 2)
    others = np.setdiff1d(np.arange(N), rows)
    classes = np.repeat([0, 1], N // 2)
    blocks = apart(np.zeros(N, dtype=int), rows)
    for seed in range(150):
        rng = np.random.default_rng(seed)
        matrices = cohort(rng, 6)
        whole = design_of(classes, blocks, seed)
        picking, testing = whole.of(others), whole.of(rows)
        first = {
            name: operator_effects(make_features(one), picking)
            for name, one in matrices.items()
            if name > "op2"
        }
        best = max(first, key=lambda name: first[name].shares["both"][0])
        effects = {
            name: operator_effects(make_features(matrices[name]), whole)
            for name in ("op0", "op1", "op2")
        }
        effects[best] = operator_effects(make_features(matrices[best][rows]), testing)
        draws.append(effect_finding(effects).p)
    found, most = false_effects(draws)
    assert 0 < found < most


def test_operators_that_do_not_vary_are_left_out_and_permutations_must_agree(rng):
    classes, matrices = np.arange(N) % 2, cohort(rng)
    design = design_of(classes)
    effects = {k: operator_effects(make_features(v), design) for k, v in matrices.items()}
    matrices["flat"] = np.ones_like(matrices["op0"])
    effects["flat"] = operator_effects(make_features(matrices["flat"]), design)
    assert effect_finding(effects).operators == ["op0", "op1", "op2"]
    with pytest.raises(InputError, match="matrices vary between cases, got none"):
        effect_finding({"flat": effects["flat"]})
    fewer = replace(design, permutations=design.permutations[:9])
    effects["op0"] = operator_effects(make_features(matrices["op0"]), fewer)
    with pytest.raises(InputError, match="got 9, 99"):
        effect_finding(effects)
