"""A target that differs between the groups it is permuted in."""

import numpy as np

from sclcs.stats import rank
from sclcs.stats.sources import ArraySource

from small_fc import make_cohort, make_fc  # isort: skip


def test_a_target_that_differs_between_sites_is_explained_beside_its_p(rng):
    """A score contains what sites tell of the target; p, permuted within sites, does not."""
    sites = np.repeat(["x", "y", "z"], 16)
    ages = np.repeat([10.0, 30.0, 50.0], 16) + rng.normal(size=48)
    cohort = make_cohort([f"p{k:02d}" for k in range(48)], age=list(ages), site=list(sites))
    fc = make_fc(cohort, 1, rng)
    fc += 2 * (sites == "x")[None, :, None, None] * rng.normal(size=(6, 6))
    fc += 2 * (sites == "y")[None, :, None, None] * rng.normal(size=(6, 6))
    source = ArraySource(fc, ["pec"], cohort)
    options = {"permutations": 60, "bootstrap": 0, "folds": 5, "repeats": 1}
    ranking = rank(source, "age", score="predict", **options)
    effect = ranking.findings["effect"]
    assert ranking.table["score"].iloc[0] > 0.8
    assert effect["p"] > 0.05
    assert effect["between"] > 0.95
    assert effect["shuffled"] > 0.8
    assert "beyond what site tells of it" in ranking.answer[0]
    assert "may say how it sees site, and nothing of age" in ranking.answer[0]
    assert "Give site as a covariate" in ranking.answer[1]
    adjusted = rank(source, "age", score="predict", covariates="site", **options)
    assert "between" not in adjusted.findings["effect"]
    assert not any("as a covariate" in text for text in adjusted.answer)
    assert "age beyond site" in " ".join(adjusted.answer)
    harmonised = rank(source, "age", harmonise="site", permutations=20, bootstrap=0)
    assert "between" not in harmonised.findings["effect"]  # ComBat takes it out of the features
