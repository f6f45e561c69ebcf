"""Families: permuted as wholes, never torn apart by halves and folds; sites by their names."""

import numpy as np
import pandas as pd
import pytest

from sclcs._core.errors import InputError
from sclcs.cohort.design import site_column
from sclcs.stats import make_question
from sclcs.stats.design import make_design
from sclcs.stats.effects import operator_effects
from sclcs.stats.permutations import can_permute, nested, permutation_table
from sclcs.stats.views import make_features

ONE_SITE = np.zeros(12, dtype=np.int64)


def test_families_of_one_size_exchange_as_wholes():
    family = np.array([0, 1, 2, 2, 0, 1, 3, 3, 3, 4, 4, 4])
    table = permutation_table(ONE_SITE, 300, families=family[None])
    assert np.array_equal(np.sort(table, axis=1), np.tile(np.arange(12), (300, 1)))
    sizes = np.bincount(family)[family]
    for row in table:
        assert (sizes[row] == sizes).all()
        for code in range(5):  # what a family gets comes from one family
            assert len(set(family[row[family == code]])) == 1
    into = {(int(family[0]), int(family[row[0]])) for row in table}
    assert into == {(0, 0), (0, 1), (0, 2)}
    assert len({tuple(row[family == 3]) for row in table}) == 12  # 2 families, 6 orders each


def test_members_only_go_where_their_site_is():
    family = np.repeat(np.arange(6), 2)
    site = np.array([0, 1] * 3 + [0, 0] * 3)  # three pairs live apart, three together
    table = permutation_table(site, 100, families=family[None])
    assert (site[table] == site).all()
    apart = family < 3
    assert (apart[table] == apart).all()


def test_pairs_inside_families_stay_pairs():
    family = np.repeat([0, 1, 2], 4)
    twins = np.array([0, 0, 1, 2, 3, 4, 3, 5, 6, 6, 7, 7])  # the third has two pairs
    levels = nested(np.stack([family, twins]))
    table = permutation_table(ONE_SITE, 200, families=levels)
    for row in table:
        assert set(row[:2]) in [{0, 1}, {4, 6}]
        assert set(row[8:]) == set(range(8, 12))
        assert set(row[8:10]) in [{8, 9}, {10, 11}]


def test_without_families_nothing_changes():
    site = np.array([0, 0, 1, 1, 1, 0])
    alone = np.arange(6)[None]
    plain = permutation_table(site, 50, seed=3)
    assert (site[plain] == site).all()
    assert (site[permutation_table(site, 50, families=alone)] == site).all()
    assert len(np.unique(permutation_table(site, 500, families=alone), axis=0)) == 36


def test_a_label_of_whole_families_of_unlike_sizes_cannot_be_permuted():
    family = np.array([0, 0, 1, 1, 1])
    target = np.array([0, 0, 1, 1, 1])
    nowhere = np.zeros(5, dtype=np.int64)
    assert not can_permute(nowhere, target, family[None])
    assert can_permute(nowhere, target)


def table_of(n_pairs, rng):
    pair = np.repeat(np.arange(n_pairs), 2)
    return pd.DataFrame(
        {
            "subject": [f"s{k:03}" for k in range(2 * n_pairs)],
            "window": 0,
            "family": [f"f{k}" for k in pair],
            "dx": np.array(["a", "b"])[rng.permutation(n_pairs) % 2][pair],
        },
        index=[f"s{k:03}" for k in range(2 * n_pairs)],
    )


def test_halves_and_folds_keep_families_together(rng):
    samples = table_of(20, rng)
    samples.loc[samples.index[-1], "family"] = None  # no known relatives
    question = make_question(samples, "dx", families="family")
    for table in (question.halves(9), question.training_halves(9), question.predictor.folds):
        assert np.array_equal(table[:, :38:2], table[:, 1:38:2])
    halves = question.halves(9)
    assert (halves[::2] + halves[1::2] == 1).all()
    assert question.facts()["families"] == ["family"]
    moved = question.permutations(30, apart=np.arange(10))
    assert (moved[:, :10] < 10).all()


def test_relatives_whose_label_they_share_make_no_effects():
    """Twins are alike, and share the label: 5 % false effects as families, far more without."""
    rng, found = np.random.default_rng(5), {"families": [], "plain": []}
    for repeat in range(200):
        samples = table_of(20, rng)
        pair = np.repeat(np.arange(20), 2)
        matrices = (rng.normal(size=(20, 6, 6))[pair] + 0.4 * rng.normal(size=(40, 6, 6))) / 2
        features = make_features(matrices.astype(np.float32))
        for name, families in (("families", "family"), ("plain", ())):
            question = make_question(samples, "dx", families=families)
            design = make_design(question.model, question.permutations(79, seed=repeat))
            statistic = operator_effects(features, design).tests["pattern"]
            found[name].append((statistic >= statistic[0] - 1e-9).mean() <= 0.05)
    assert 0.01 <= np.mean(found["families"]) <= 0.09
    assert np.mean(found["plain"]) > 0.2


def test_a_subject_has_one_family(rng):
    samples = pd.concat([table_of(5, rng)] * 2, ignore_index=True)
    samples["window"] = np.repeat([0, 1], 10)
    samples.index = samples.index.map(str)
    samples.loc["3", "family"] = "elsewhere"
    with pytest.raises(InputError, match=r"one value of family for every subject.*s003"):
        _ = make_question(samples, "dx", families="family").units
    with pytest.raises(InputError, match="relatives"):
        make_question(samples, "dx", families="relatives")


@pytest.mark.parametrize("name", ["site", "SITE_ID", "Scanner", "centre", "CENTER", "site name"])
def test_sites_are_found_whatever_they_are_called(name):
    samples = pd.DataFrame({"subject": list("abcd"), name: [1, 1, 2, 2]})
    assert site_column(samples) == name
    assert site_column(samples, leave_out=name) is None
    assert site_column(samples.assign(**{name: 1})) is None
