"""Simulated cohorts: who is in them, and that the effects asked for are in their signals."""

import json

import numpy as np
import pytest
from calibration import (
    connectivity,
    decodability,
    identification_rate,
)

from sclcs import Cohort, simulate_cohort
from sclcs._core import InputError, UnknownNameError
from sclcs.cohort.regions import region_set
from sclcs.cohort.simulate import apportion
from sclcs.cohort.simulated_signals import Effects, correlation_of, population_anatomy

SMALL = {"subjects": 12, "windows": 2, "regions": 7}
QUIET = {"noise": 0.0, "motion_share": 0.0, "session": 0.0, "state": 0.0}
NOBODY = {"subject": 0.0, "subject_global": 0.0, "site": 0.0, "group": 0.0}


def whole_scan_connectivity(cohort: Cohort) -> np.ndarray:
    return connectivity(np.asarray(cohort.signals))


def upper(matrices: np.ndarray) -> np.ndarray:
    rows, columns = np.triu_indices(matrices.shape[-1], 1)
    return matrices[..., rows, columns]


class TestWhoIsInTheCohort:
    def test_paper_sizes(self):
        cohort = simulate_cohort(windows=1, regions=2, length=10)
        people = cohort.samples.groupby("site")["diagnosis"].value_counts().unstack()
        assert len(cohort) == 904
        assert people.sum(axis=1).to_dict() == {
            "15": 67,
            "17": 82,
            "19": 49,
            "20": 479,
            "21": 144,
            "22": 38,
            "23": 45,
        }
        assert people.sum().to_dict() == {"HC": 446, "MDD": 458}
        assert people.loc["19"].to_dict() == {"HC": 31, "MDD": 18}

    @pytest.mark.parametrize("subjects", [1, 2, 13, 100, 905])
    def test_any_number_of_subjects_keeps_the_proportion(self, subjects):
        cohort = simulate_cohort(subjects, windows=1, regions=2, length=10)
        assert cohort.n_subjects == subjects
        controls = (cohort.labels("diagnosis") == "HC").sum()
        assert abs(controls - subjects * 446 / 904) <= 1
        assert (cohort.labels("site") == "20").sum() == pytest.approx(subjects * 479 / 904, abs=1)

    def test_number_of_sites(self):
        cohort = simulate_cohort(**SMALL, sites=3)
        assert cohort.samples.groupby("site")["subject"].nunique().to_dict() == dict.fromkeys(
            ["1", "2", "3"], 4
        )

    def test_named_sites(self):
        cohort = simulate_cohort(**SMALL, sites={"north": 1, "south": 3})
        sizes = cohort.samples.groupby("site")["subject"].nunique().to_dict()
        assert sizes == {"north": 3, "south": 9}

    def test_largest_remainder(self):
        assert apportion(7, {"a": 10, "b": 10, "c": 1}) == {"a": 4, "b": 3, "c": 0}

    def test_facts(self):
        cohort = simulate_cohort(subjects=60, windows=2, regions=3, length=20)
        people = cohort.samples.groupby("subject").first()
        assert people["age"].between(18, 65).all()
        assert set(people["sex"]) == {"F", "M"}
        assert (people["motion"] > 0).all()
        assert cohort.samples.groupby("subject")[["age", "motion"]].nunique().eq(1).all(axis=None)

    def test_region_names(self):
        assert simulate_cohort(1, 1).regions == region_set("dosenbach-dmn33").names
        assert simulate_cohort(1, 1, 3).regions == ("region-0", "region-1", "region-2")


class TestShape:
    def test_unequal_axes(self):
        cohort = simulate_cohort(5, 3, 4, length=21, stride=13, tr=1.5, sites=2)
        assert cohort.signals.shape == (15, 4, 21)
        assert cohort.tr == 1.5
        assert cohort.samples["start"].tolist()[:3] == [0, 13, 26]

    def test_windows_overlap_in_one_scan(self):
        signals = simulate_cohort(2, 3, 4, length=30, stride=10).signals
        np.testing.assert_array_equal(signals[0, :, 10:], signals[1, :, :20])

    def test_sessions(self):
        cohort = simulate_cohort(3, 2, 4, sessions=2)
        assert len(cohort) == 12
        assert cohort.labels("session").tolist() == [1, 1, 2, 2] * 3
        assert "session" not in simulate_cohort(3, 2, 4).samples
        one = simulate_cohort(3, 2, 4)
        np.testing.assert_array_equal(cohort.where(session=1).signals, one.signals)

    def test_sessions_of_a_subject_are_alike(self):
        cohort = simulate_cohort(60, 1, 20, length=300, sessions=2)
        first, second = (
            whole_scan_connectivity(cohort.where(session=session)) for session in (1, 2)
        )
        assert identification_rate(first, second) > 0.5


class TestSeeds:
    def test_same_seed_same_cohort(self):
        assert simulate_cohort(**SMALL).fingerprint == simulate_cohort(**SMALL).fingerprint

    def test_other_seed_other_cohort(self):
        one, other = simulate_cohort(**SMALL), simulate_cohort(**SMALL, seed=1)
        assert not np.allclose(one.signals, other.signals)

    def test_subject_does_not_depend_on_the_others(self):
        few = simulate_cohort(20, 2, 7)
        many = simulate_cohort(90, 2, 7)
        assert set(few.sample_ids) < set(many.sample_ids)
        same = many.take(few.sample_ids)
        np.testing.assert_array_equal(same.signals, few.signals)
        assert same.samples.equals(few.samples)

    def test_global_generator_is_not_touched(self):
        before = np.random.get_state()[1].copy()
        simulate_cohort(**SMALL)
        np.testing.assert_array_equal(before, np.random.get_state()[1])


def z_of(log_connectivity):
    return np.arctanh(upper(correlation_of(log_connectivity)))


class TestEffects:
    @pytest.mark.parametrize("regions", [2, 3, 33, 60])
    def test_the_population_and_strong_effects_are_correlation_matrices(self, regions):
        anatomy = population_anatomy(regions)
        strong = anatomy.pattern(5.0, 0, "any")
        for deviation in (0, strong):
            matrix = correlation_of(anatomy.log_connectivity + deviation)
            np.testing.assert_allclose(np.diag(matrix), 1)
            assert np.linalg.eigvalsh(matrix).min() > -1e-9
        assert np.sqrt((upper(strong) ** 2).mean()) == pytest.approx(5)

    def test_the_population_is_measured_where_nothing_else_is_in_it(self):
        cohort = simulate_cohort(60, 1, 12, length=400, **NOBODY, **QUIET)
        measured = whole_scan_connectivity(cohort)
        expected = z_of(population_anatomy(12).log_connectivity)
        assert np.corrcoef(measured.mean(axis=0), expected)[0, 1] > 0.97
        np.testing.assert_allclose(measured.mean(axis=0), expected, atol=0.1)

    def test_subjects_are_measured(self):
        cohort = simulate_cohort(60, 1, 20, length=400)
        measured = whole_scan_connectivity(cohort)
        measured = measured - measured.mean(axis=0)
        anatomy = population_anatomy(20)
        people = cohort.samples["subject"]
        own = np.stack([anatomy.subject(Effects(), 0, name) for name in people])
        expected = z_of(anatomy.log_connectivity + own)
        own = [np.corrcoef(a, b)[0, 1] for a, b in zip(measured, expected, strict=True)]
        other = [np.corrcoef(a, b)[0, 1] for a, b in zip(measured, expected[::-1], strict=True)]
        assert np.mean(own) > np.mean(other) + 0.3

    @pytest.mark.parametrize(("column", "strength"), [("diagnosis", "group"), ("site", "site")])
    def test_groups_and_sites_are_measured(self, column, strength):
        cohort = simulate_cohort(200, 1, 15, length=150, sites=2, **{strength: 0.25})
        measured = whole_scan_connectivity(cohort)
        labels = cohort.labels(column)
        first, second = sorted(labels.unique())
        contrast = measured[labels == second].mean(axis=0) - measured[labels == first].mean(axis=0)
        anatomy = population_anatomy(15)
        drawn = [anatomy.pattern(0.25, 0, strength, name) for name in (first, second)]
        if strength == "group":  # deviations from the mean of the groups, of the strength asked for
            drawn = (np.stack(drawn) - np.mean(drawn, axis=0)) * np.sqrt(2)
        expected = np.diff(z_of(anatomy.log_connectivity + np.stack(drawn)), axis=0)[0]
        assert np.corrcoef(contrast, expected)[0, 1] > 0.8
        large = np.abs(expected) > np.quantile(np.abs(expected), 0.8)
        assert np.mean(np.sign(contrast[large]) == np.sign(expected[large])) > 0.95


class TestDecoding:
    def test_zero_strength_is_chance(self):
        cohort = simulate_cohort(400, 1, 12, length=100, sites=2, group=0, site=0)
        measured = whole_scan_connectivity(cohort)
        for column in ("diagnosis", "site"):
            assert decodability(measured, cohort.labels(column)) == pytest.approx(0.5, abs=0.09)

    def test_large_strength_is_certain(self):
        cohort = simulate_cohort(200, 1, 12, length=100, sites=2, group=0.5, site=0.5)
        measured = whole_scan_connectivity(cohort)
        for column in ("diagnosis", "site"):
            assert decodability(measured, cohort.labels(column)) > 0.9


class TestParameters:
    def test_recorded(self):
        cohort = simulate_cohort(**SMALL, sites={"a": 1}, group=0.3, seed=5)
        recorded = cohort.provenance["options"]
        assert recorded["subjects"] == 12
        assert recorded["seed"] == 5
        assert recorded["sites"] == {"a": 1}
        assert recorded["effects"] == Effects(group=0.3).to_dict()
        assert json.loads(json.dumps(cohort.provenance)) == cohort.provenance

    @pytest.mark.parametrize(
        ("bad", "sentence"),
        [
            ({"subjects": 0}, "Expected subjects of at least 1, got 0."),
            ({"windows": 0}, "Expected windows of at least 1, got 0."),
            ({"sessions": -1}, "Expected sessions of at least 1, got -1."),
            ({"stride": 0}, "Expected stride of at least 1, got 0."),
            ({"regions": 1}, "Expected at least 2 regions, got 1."),
            ({"length": 5}, "Expected windows of at least 10 time points, got 5."),
            ({"tr": 0.0}, "`tr` must be above 0 and up to 10 seconds, got 0.0."),
            ({"tr": float("nan")}, "up to 10 seconds, got nan."),
            ({"sites": 0}, "Expected at least one site, got 0."),
            ({"sites": {}}, "Expected sites with sizes"),
            ({"sites": {"a": -1}}, "Expected sites with sizes"),
            ({"group": -0.1}, "`group` must be a number of at least 0, got -0.1."),
            ({"noise": 1.0}, "`noise` must be a number of at least 0 and below 1, got 1.0."),
            ({"motion_share": 1.5}, "`motion_share` must be a number of at least 0 and at most 1"),
            ({"dwell_seconds": 0.0}, "`dwell_seconds` must be a number above 0"),
            ({"low_hz": 0.2}, "holds no frequency"),
            ({"low_hz": 0.3, "high_hz": 0.4}, "holds no frequency of scans of 105 time points"),
            ({"subject": float("inf")}, "`subject` must be"),
        ],
    )
    def test_bad_values(self, bad, sentence):
        with pytest.raises(InputError) as caught:
            simulate_cohort(**(SMALL | bad))
        assert sentence in str(caught.value)

    def test_unknown_strength(self):
        with pytest.raises(
            UnknownNameError, match="Unknown effect grup; the known ones are subject"
        ):
            simulate_cohort(**SMALL, grup=0.1)
