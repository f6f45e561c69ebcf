"""No public function answers a user's mistake with a bare ValueError, TypeError or AttributeError.

Every public function is called with good arguments, one of which is replaced by something wrong,
for every parameter and many kinds of wrong. It may accept it (some parameters take anything); if
not, it says so in a sentence.
"""

import numpy as np
import pandas as pd
import pytest

import sclcs
from mistake_walk import mistakes
from sclcs.benchmark import balance, consistency, rank, score_reliability, split_half_ceiling
from sclcs.cohort import (
    Cohort,
    CoreSet,
    Scans,
    Windowing,
    check_cohort,
    check_scans,
    describe_cohort,
    describe_scans,
    region_set,
    simulate_cohort,
)
from sclcs.cohort.readers.arrays import read_arrays
from sclcs.compute import compute_store, export_matrices
from sclcs.core import SclcsError
from sclcs.pyspi import Calculator, Data
from sclcs.report import compare_report, run_report
from sclcs.run_folder import RunFolder
from sclcs.runs import RunResult, predict_costs
from sclcs.selection import select
from sclcs.spi import (
    FCTransformer,
    compute,
    register,
    resolve,
    status_table,
    unregister,
)

OPERATORS = ["kendalltau", "pearson"]
QUICK = {"permutations": 9, "bootstrap": 8}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Good arguments of every public function."""
    folder = tmp_path_factory.mktemp("mistakes")
    cohort = simulate_cohort(7, 2, 5, length=40, stride=40, seed=1)
    fc = compute(cohort, OPERATORS)
    coreset = select(cohort, "random", ratio=0.8)
    ranking = rank(cohort, "subject", OPERATORS, **QUICK)
    store = compute_store(cohort, folder / "fc", OPERATORS)
    scans = Scans.from_arrays([np.eye(4, 30)] * 3, subjects=["a", "b", "c"])
    np.save(folder / "scans.npy", np.random.default_rng(0).normal(size=(3, 4, 30)))
    arrays = [np.random.default_rng(k).normal(size=(40, 5)) for k in range(3)]
    paths = iter(range(10**9))

    def new(kind):
        return folder / f"new-{next(paths)}{kind}"

    table = {
        "Cohort": (Cohort, {
            "signals": np.asarray(cohort.signals), "samples": cohort.samples,
            "regions": list("abcde"), "tr": 2.0, "provenance": {}, "truth": None,
        }),
        "Cohort.labels": (cohort.labels, {"column": "site"}),
        "Cohort.take": (cohort.take, {"rows": [0, 1]}),
        "Cohort.where": (cohort.where, {"site": str(cohort.samples["site"].iloc[0])}),
        "Cohort.keep_regions": (cohort.keep_regions, {"names": list(cohort.regions[:3])}),
        "Cohort.save": (cohort.save, {"path": lambda: new(".zarr")}),
        "Cohort.open": (Cohort.open, {"path": lambda: cohort.save(new(".zarr"))}),
        "CoreSet": (CoreSet, {
            "sample_ids": ["a", "b"], "method": "given", "parameters": {}, "seed": 0,
            "score": [1.0, 2.0], "weight": [1.0, 1.0], "subjects": ["x", "y"], "fingerprint": "f",
        }),
        "CoreSet.rows": (coreset.rows, {"known": cohort.sample_ids}),
        "CoreSet.bound_to": (coreset.bound_to, {"cohort": cohort}),
        "CoreSet.save": (coreset.save, {"path": lambda: new(".csv")}),
        "CoreSet.open": (CoreSet.open, {"path": lambda: coreset.save(new(".csv"))}),
        "Ranking": (sclcs.Ranking, {
            "table": ranking.table, "task": "subject", "score": "cohen_d", "coreset": None,
            "provenance": {}, "findings": {},
        }),
        "Ranking.save": (ranking.save, {"path": lambda: new(".csv")}),
        "Ranking.open": (sclcs.Ranking.open, {"path": lambda: ranking.save(new(".csv"))}),
        "simulate_cohort": (simulate_cohort, {
            "subjects": 4, "windows": 2, "regions": 4, "length": 20, "stride": 10, "tr": 2.0,
            "sessions": 1, "sites": 2, "groups": ["A", "B"], "effects": None, "seed": 0,
            "group": 0.1,
        }),
        "check_cohort": (check_cohort, {"cohort": cohort}),
        "check_scans": (check_scans, {"scans": scans, "windowing": Windowing(20)}),
        "describe_cohort": (describe_cohort, {"cohort": cohort}),
        "describe_scans": (describe_scans, {"scans": scans, "min_timepoints": [20]}),
        "region_set": (region_set, {"name": "dosenbach-160"}),
        "Scans.from_arrays": (Scans.from_arrays, {
            "signals": [np.eye(4, 30)] * 2, "subjects": ["a", "b"], "facts": {"site": ["x", "y"]},
            "scan_ids": ["u", "v"], "regions": list("abcd"), "tr": 2.0,
        }),
        "read_arrays": (read_arrays, {
            "path": folder / "scans.npy", "labels": None, "regions": None, "tr": 2.0,
        }),
        "compute": (compute, {
            "signals": np.asarray(cohort.signals), "spis": OPERATORS, "n_jobs": 1, "seed": 0,
            "sample_keys": None, "lengths": None, "memory_bytes": 2**20,
        }),
        "resolve": (resolve, {"spis": OPERATORS}),
        "status_table": (status_table, {"result": fc}),
        "register": (register, {
            "name": "mine", "function": lambda x: x @ x.T, "takes": "sample", "version": "1",
            "symmetry": "symmetric", "random": False, "minimum_length": 3, "labels": "",
            "scale_invariant": True, "description": "", "reference": "",
        }),
        "unregister": (unregister, {"name": "not-mine"}),
        "FCTransformer": (_transform, {
            "X": arrays, "spi": "pearson", "vectorize": True, "discard_diagonal": True,
            "diagonal": 1.0, "seed": 0, "n_jobs": 1,
        }),
        "Calculator": (_calculate, {
            "dataset": np.asarray(cohort.signals[0]), "name": "n", "labels": ["a"],
            "subset": "fabfour", "detrend": False, "normalise": True, "n_jobs": 1,
        }),
        "Data": (Data, {
            "data": np.asarray(cohort.signals[0]), "dim_order": "ps", "detrend": False,
            "normalise": True, "name": "n", "procnames": list("abcde"),
        }),
        "select": (select, {"cohort": cohort, "method": "random", "ratio": 0.5, "seed": 0}),
        "rank": (rank, {
            "source": cohort, "task": "diagnosis", "spis": OPERATORS, "coreset": coreset,
            "score": "share", "cohort": None, "covariates": ["site"], "within": None,
            "treat_as": None, "drop_missing": False, "folds": 2, "repeats": 1, "leave_out": None,
            "confidence": 0.9, "seed": 0, "pooled": False, "overlapping": False,
            "exclude_same_subject": True, "across_sessions": None, "vectorize": "offdiag",
            "similarity": "spearman", "max_nonfinite": 0.0, "max_constant": 0.0, "n_jobs": 1,
            **QUICK,
        }),
        "consistency": (consistency, {"reference": ranking, "other": ranking, "k": (5,)}),
        "balance": (balance, {
            "cohort": cohort, "coreset": coreset, "labels": ["site"], "ratio_of": "diagnosis",
        }),
        "split_half_ceiling": (split_half_ceiling, {
            "source": cohort, "task": "subject", "spis": OPERATORS, "splits": 2, "k": (2,),
        }),
        "score_reliability": (score_reliability, {
            "source": cohort, "task": "subject", "spis": OPERATORS,
        }),
        "compute_store": (compute_store, {
            "cohort": cohort, "out": lambda: new(""), "spis": OPERATORS, "coreset": coreset,
            "on": "local:1", "seed": 0, "force": False, "block_size": 4,
        }),
        "export_matrices": (export_matrices, {
            "store": store, "out": lambda: new(""), "format": "npz", "spis": OPERATORS,
        }),
        "run": (_plan_only, {
            "cohort": cohort, "out": lambda: new(""), "tasks": "site", "spis": OPERATORS,
            "ratio": 0.5, "method": "random", "seed": 0, "top_k": 1, "config": None,
        }),
        "RunResult.open": (RunResult.open, {"folder": "no-such-folder"}),
        "RunFolder.open": (RunFolder.open, {"path": "no-such-folder"}),
        "run_report": (run_report, {"folder": "no-such-folder"}),
        "compare_report": (compare_report, {"folders": ["no-such-folder"]}),
        "predict_costs": (_predict, {
            "cohort": cohort, "spis": OPERATORS, "ratio": 0.5, "method": "random", "top_k": 1,
            "jobs": 1, "calibration_seconds": 0.01,
        }),
        "plot.matrix": (sclcs.plot.matrix, {"matrix": np.eye(5), "regions": list("abcde")}),
        "plot.chord": (sclcs.plot.chord, {"matrix": np.eye(5), "shown": 3}),
        "plot.ranking": (sclcs.plot.ranking, {"ranking": ranking, "shown": 3}),
        "plot.geometry": (sclcs.plot.geometry, {"geometry": compute(cohort, "panel")}),
        "plot.glass_brain": (sclcs.plot.glass_brain, {"matrix": np.eye(5), "coordinates": "no"}),
    }  # fmt: skip
    yield table
    import matplotlib.pyplot as plt

    plt.close("all")


def _transform(X, **options):
    return FCTransformer(**options).fit(X).transform(X)


def _calculate(**arguments):
    calc = Calculator(**arguments)
    calc.compute()
    return calc.table


def _plan_only(**settings):
    """Refuse or accept the settings of a run, without doing the run."""
    from sclcs.runs import call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(call, "carry_out", lambda *_, **__: ("no-such-folder",))
        with pytest.raises(SclcsError) as refused:
            sclcs.run(**settings)
    raise refused.value


def _predict(**arguments):
    with pytest.MonkeyPatch.context() as patch:
        from sclcs.compute.calibration import Start

        patch.setattr("sclcs.compute.calibration._measure_start", lambda *_: Start(1.0, 1.0, 10**8))
        return predict_costs(**arguments)


NAMES = [
    "Cohort", "Cohort.labels", "Cohort.take", "Cohort.where", "Cohort.keep_regions", "Cohort.save",
    "Cohort.open", "CoreSet", "CoreSet.rows", "CoreSet.bound_to", "CoreSet.save", "CoreSet.open",
    "Ranking", "Ranking.save", "Ranking.open", "simulate_cohort", "check_cohort", "check_scans",
    "describe_cohort", "describe_scans", "region_set", "Scans.from_arrays", "read_arrays",
    "compute", "resolve", "status_table", "register", "unregister", "FCTransformer", "Calculator",
    "Data", "select", "rank", "consistency", "balance", "split_half_ceiling", "score_reliability",
    "compute_store", "export_matrices", "run", "RunResult.open", "RunFolder.open", "run_report",
    "compare_report", "predict_costs", "plot.matrix", "plot.chord", "plot.ranking",
    "plot.geometry", "plot.glass_brain",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_mistake_is_answered_with_a_sentence(name, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some accept a name where a path is meant
    found = mistakes(*made[name])
    assert not found, "\n".join(found)


def test_every_public_function_is_tried(made):
    assert set(NAMES) == set(made)


def test_a_table_of_samples_that_is_none():
    with pytest.raises(SclcsError, match="samples of Cohort to be a DataFrame"):
        Cohort(np.zeros((2, 3, 9)), [1, 2])
    with pytest.raises(SclcsError, match="subject"):
        Cohort(np.zeros((2, 3, 9)), pd.DataFrame({"a": [1, 2]}))
