"""The walk of mistakes through what experts call: trainings, experiments, estimates, parts.

The other public functions are in ``test_mistakes.py``; together they are the page of the API.
"""

import numpy as np
import pytest

from mistake_walk import mistakes, public_names
from sclcs import Scan, Scans, simulate_cohort
from sclcs.benchmark import (
    ArraySource,
    CohortSource,
    Inquiry,
    Measure,
    Target,
    evaluate,
    find_criterion,
    make_kernel,
    make_question,
    register_criterion,
)
from sclcs.cohort import Seconds, Windowing, check_design
from sclcs.cohort.readers.abide import read_abide
from sclcs.cohort.readers.bids import read_bids
from sclcs.cohort.readers.nifti import read_nifti
from sclcs.cohort.readers.rest_meta_mdd import read_rest_meta_mdd
from sclcs.compute import CohortShape, FCStore, Share, SlurmConfig, compute_store
from sclcs.core import InputError
from sclcs.encoder import (
    EncoderSettings,
    TrainedEncoder,
    encoder_settings,
    grid_search,
    train_encoder,
    trained_encoder,
)
from sclcs.encoder.classifier import (
    ClassifierSettings,
    TrainedClassifier,
    train_classifier,
    trained_classifier,
)
from sclcs.estimation import (
    complete_geometry,
    krige,
    look_ahead,
    map_operators,
    measure_geometry,
    next_purchase,
    shipped_geometry,
)
from sclcs.experiments import paper_table, run_all, run_experiment
from sclcs.report import HTMLReport, run_answers
from sclcs.run_folder import RunConfig, RunFolder
from sclcs.selection import core_size, draw_balanced, find_selector, stable_pool
from sclcs.spi import bands, catalogue, compute
from sclcs.spi.cost_laws import cost_law
from test_mistakes import NAMES as OTHER_NAMES

#: What functions return: records that users read, not make.
RETURNED = {
    "runs.RunResult", "runs.CostPlan", "compute.Cost", "compute.Calibration", "compute.FamilyCost",
    "compute.Export", "spi.cost_laws.CostLaw", "cohort.Problem", "benchmark.Question",
    "benchmark.Kernel", "benchmark.Evaluation", "estimation.Estimate", "estimation.Geometry",
    "estimation.Outlook", "encoder.TrainedEncoder", "encoder.classifier.TrainedClassifier",
    "compute.FCStore",
}  # fmt: skip
#: Contracts that developers of selectors, criteria, executors and experiments fill in.
CONTRACTS = {
    "selection.Selector", "benchmark.Criterion", "benchmark.FCSource", "compute.ExecutorKind",
    "experiments.Experiment",
}  # fmt: skip
NAMES = [
    "encoder.EncoderSettings", "encoder.encoder_settings", "encoder.train_encoder",
    "encoder.trained_encoder", "encoder.grid_search", "encoder.TrainedEncoder.save",
    "encoder.TrainedEncoder.open", "encoder.classifier.ClassifierSettings",
    "encoder.classifier.train_classifier", "encoder.classifier.trained_classifier",
    "encoder.classifier.TrainedClassifier.save", "encoder.classifier.TrainedClassifier.open",
    "experiments.run_experiment", "experiments.run_all", "experiments.paper_table",
    "estimation.Geometry.take", "estimation.measure_geometry", "estimation.complete_geometry",
    "estimation.map_operators", "estimation.krige", "estimation.Estimate.interval",
    "estimation.Estimate.draws", "estimation.look_ahead", "estimation.next_purchase",
    "estimation.shipped_geometry", "benchmark.Target", "benchmark.make_question",
    "benchmark.register_criterion", "benchmark.make_kernel", "benchmark.ArraySource",
    "benchmark.CohortSource", "benchmark.Measure", "benchmark.Inquiry", "benchmark.evaluate",
    "selection.stable_pool", "selection.draw_balanced", "selection.core_size",
    "selection.find_selector", "Scan", "Scans", "cohort.Windowing", "cohort.Seconds",
    "cohort.check_design", "cohort.readers.rest_meta_mdd.read_rest_meta_mdd",
    "cohort.readers.bids.read_bids", "cohort.readers.nifti.read_nifti",
    "cohort.readers.abide.read_abide", "run_folder.RunFolder", "run_folder.RunConfig",
    "report.run_answers", "report.HTMLReport", "compute.Share", "compute.Share.parse",
    "compute.SlurmConfig", "compute.CohortShape", "compute.FCStore.open",
    "compute.FCStore.matrices", "spi.bands", "spi.catalogue", "spi.cost_laws.cost_law",
]  # fmt: skip
OPERATORS = ["kendalltau", "pearson"]
TINY = {"heads": 2, "dim": 3, "epochs": 1, "batch_subjects": 3}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Good arguments of every function, by the names of the API page."""
    folder = tmp_path_factory.mktemp("mistakes")
    cohort = simulate_cohort(6, 2, 4, length=16, stride=8, seed=3)
    numbers = iter(range(10**9))

    def new():
        return folder / f"new-{next(numbers)}"

    return {
        **_encoder(cohort, new),
        **_experiments(cohort, new),
        **_estimation(),
        **_benchmark(cohort),
        **_selection(cohort),
        **_data(folder),
        **_runs(cohort, folder),
    }


def _encoder(cohort, new):
    pytest.importorskip("torch")
    settings = EncoderSettings(**TINY)
    trained = train_encoder(cohort, settings, device="cpu")
    learned = train_classifier(cohort, epochs=2, batch_size=8, device="cpu")
    tiny = {"cohort": cohort, "settings": settings, "seed": 0, "device": "cpu"}
    short = ClassifierSettings(epochs=2, batch_size=8)
    classifier = tiny | {"settings": short}
    return {
        "encoder.EncoderSettings": (EncoderSettings, {**TINY, "attention": "softmax"}),
        "encoder.encoder_settings": (encoder_settings, {"preset": "paper", **TINY}),
        "encoder.train_encoder": (train_encoder, {
            **tiny, "checkpoint": new, "checkpoint_every": 1, "keep_curves": True,
            "memory_gb": 0.5, "epochs": 2,
        }),
        "encoder.trained_encoder": (trained_encoder, {**tiny, "cache": new, "memory_gb": 0.5}),
        "encoder.grid_search": (grid_search, {
            "cohort": cohort, "out": new, "dims": (2,), "heads": (2,), "epochs": (1,),
            "seeds": (0, 1), "settings": settings, "device": "cpu", "dropout": 0.1,
        }),
        "encoder.TrainedEncoder.save": (trained.save, {"path": new}),
        "encoder.TrainedEncoder.open": (
            TrainedEncoder.open, {"path": lambda: trained.save(new())},
        ),
        "encoder.classifier.ClassifierSettings": (ClassifierSettings, {
            "task": "subject", "epochs": 4, "batch_size": 8, "feature_epoch": 1,
            "variance_windows": ((0, 2),),
        }),
        "encoder.classifier.train_classifier": (train_classifier, {
            **classifier, "checkpoint": new, "task": "diagnosis",
        }),
        "encoder.classifier.trained_classifier": (
            trained_classifier, {**classifier, "cache": new},
        ),
        "encoder.classifier.TrainedClassifier.save": (learned.save, {"path": new}),
        "encoder.classifier.TrainedClassifier.open": (
            TrainedClassifier.open, {"path": lambda: learned.save(new())},
        ),
    }  # fmt: skip


def _experiments(cohort, new):
    arguments = {
        "cohort": cohort, "out": new, "fc": new, "toy": True, "seed": 0, "repeats": 2, "draws": 2,
        "epochs": 1, "classifier_epochs": 1, "ratios": (0.5,), "methods": ("random",),
        "tasks": ("subject",), "spis": tuple(OPERATORS), "splits": 2, "family_splits": 2, "jobs": 1,
    }  # fmt: skip
    return {
        "experiments.run_experiment": (
            _settings_only(run_experiment), {"name": "main", "command": "typed", **arguments},
        ),
        "experiments.run_all": (_settings_only(run_all), arguments),
        "experiments.paper_table": (paper_table, {"name": "main"}),
    }  # fmt: skip


def _settings_only(function):
    """Refuse or accept the settings of an experiment, without measuring."""

    def stop(*_, **__):
        raise InputError("The settings are good so far.")

    def call(**settings):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sclcs.experiments.measure._measure", stop)
            return function(**settings)

    return call


def _estimation():
    geometry = shipped_geometry()
    operators = list(geometry.operators[:6])
    part = geometry.take(operators)
    families = list("aabbcc")
    scores = np.array([0.1, 0.3, 0.2, 0.5, np.nan, np.nan])
    estimate = krige(operators, part.similarity, scores, families)
    outlook = look_ahead(estimate)
    kernels = [np.corrcoef(np.random.default_rng(k).normal(size=(8, 20))) for k in range(2)]
    return {
        "estimation.Geometry.take": (geometry.take, {"operators": operators}),
        "estimation.measure_geometry": (measure_geometry, {
            "operators": OPERATORS, "kernels": kernels, "subjects": np.arange(8) // 2,
        }),
        "estimation.complete_geometry": (complete_geometry, {
            "operators": operators, "measured": part, "table": geometry,
        }),
        "estimation.map_operators": (map_operators, {"similarity": part.similarity}),
        "estimation.krige": (krige, {
            "operators": operators, "geometry": part.similarity, "scores": scores,
            "families": families, "chance": 0.0, "scale": part.share_scale,
        }),
        "estimation.Estimate.interval": (estimate.interval, {"confidence": 0.9}),
        "estimation.Estimate.draws": (estimate.draws, {"count": 3, "seed": 0}),
        "estimation.look_ahead": (look_ahead, {
            "estimate": estimate, "k": 2, "confidence": 0.9, "seed": 0,
        }),
        "estimation.next_purchase": (next_purchase, {
            "outlooks": [outlook], "scales": [1.0], "bundles": [[4], [5]], "seconds": [1.0, 2.0],
            "left": 3.0,
        }),
        "estimation.shipped_geometry": (shipped_geometry, {}),
    }  # fmt: skip


def _benchmark(cohort):
    fc = compute(cohort, OPERATORS)
    source = ArraySource(fc.to_numpy(), OPERATORS, cohort)
    question = make_question(cohort.samples, "subject")
    inquiry = Inquiry(question, (find_criterion("share"),))
    return {
        "benchmark.Target": (Target, {"name": "age", "kind": "number"}),
        "benchmark.make_question": (make_question, {
            "samples": cohort.samples, "target": "diagnosis", "coreset": None, "treat_as": None,
            "covariates": ["site"], "within": None, "harmonise": None, "rules": None,
            "folds": None, "n_timepoints": 16, "drop_missing": False, "seed": 0,
        }),
        "benchmark.register_criterion": (register_criterion, {
            "name": "share", "function": np.corrcoef, "label": "mine", "kinds": ("number",),
            "chance": 0.0, "reference": "", "version": 1,
        }),
        "benchmark.make_kernel": (make_kernel, {
            "matrices": fc.to_numpy()[0], "how": "offdiag", "similarity": "spearman",
            "rows": np.arange(4),
        }),
        "benchmark.ArraySource": (ArraySource, {
            "values": fc.to_numpy(), "operators": OPERATORS, "cohort": cohort, "status": None,
        }),
        "benchmark.CohortSource": (CohortSource, {
            "cohort": cohort, "spis": OPERATORS, "n_jobs": 1, "seed": 0,
        }),
        "benchmark.Measure": (Measure, {
            "vectorize": "offdiag", "similarity": "spearman", "max_nonfinite": 0.0,
            "max_constant": 0.0,
        }),
        "benchmark.Inquiry": (Inquiry, {
            "question": question, "criteria": (find_criterion("share"),), "draws": None,
            "permutations": None,
        }),
        "benchmark.evaluate": (evaluate, {
            "source": source, "operators": OPERATORS, "inquiries": [inquiry],
            "measure": Measure(), "n_jobs": 1,
        }),
    }  # fmt: skip


def _selection(cohort):
    pool = stable_pool([0.0, 0.1, 0.1, 0.2, 5.0])
    return {
        "selection.stable_pool": (stable_pool, {
            "scores": [0.0, 0.1, 0.1, 5.0], "beta": 0.2, "bw_method": "scott", "bw_adjust": 1.0,
            "epsilon": 1e-8,
        }),
        "selection.draw_balanced": (draw_balanced, {
            "pool": pool, "size": 2, "rng": np.random.default_rng(0),
        }),
        "selection.core_size": (core_size, {"cohort": cohort, "ratio": 0.5}),
        "selection.find_selector": (find_selector, {"name": "random"}),
    }  # fmt: skip


def _data(folder):
    table = simulate_cohort(4, 1, 3, length=10, stride=10, seed=0).samples
    none = {"folder": folder / "none", "regions": None, "tr": 2.0}
    return {
        "Scan": (Scan, {
            "scan_id": "a", "subject": "a", "load": np.zeros, "facts": {}, "coverage": None,
        }),
        "Scans": (Scans, {
            "scans": [], "regions": list("abc"), "tr": 2.0, "provenance": {}, "problems": (),
        }),
        "cohort.Windowing": (Windowing, {
            "length": 20, "stride": 10, "truncate": 40, "drop_first": 2,
        }),
        "cohort.Seconds": (Seconds, {"value": 2.0}),
        "cohort.check_design": (check_design, {"samples": table, "columns": ["diagnosis"]}),
        "cohort.readers.rest_meta_mdd.read_rest_meta_mdd": (read_rest_meta_mdd, {
            **none, "phenotype": None, "variant": "FunImgARglobalCWF", "atlas": "dosenbach",
            "sites": None,
        }),
        "cohort.readers.bids.read_bids": (read_bids, {
            **none, "atlas": None, "task": None, "session": None, "run": None, "space": None,
            "desc": None, "entities": None, "participants": None, "id_column": None,
        }),
        "cohort.readers.nifti.read_nifti": (read_nifti, {
            "images": folder / "none", "atlas": "dosenbach-dmn33", "radius": 5.0, "mask": None,
            "confounds": "none", "confound_options": None, "low_pass": None, "high_pass": None,
            "detrend": False, "smoothing": None, "task": None, "regions": None, "tr": 2.0,
        }),
        "cohort.readers.abide.read_abide": (read_abide, {
            "data_dir": folder, "pipeline": "ccs", "band_pass": True, "global_signal": False,
            "regions": None, "sites": None, "n_subjects": 2, "quality_checked": True,
            "url": "http://127.0.0.1:9", "tr": 2.0,
        }),
    }  # fmt: skip


def _runs(cohort, folder):
    store = compute_store(cohort, folder / "fc", OPERATORS)
    return {
        "run_folder.RunFolder": (RunFolder, {"path": folder / "run"}),
        "run_folder.RunConfig": (RunConfig, {
            "cohort": "c", "out": "o", "tasks": ["subject"], "spis": OPERATORS, "budget": "5%",
            "ratio": 0.5, "seed": 0, "permutations": 9, "confidence": 0.9, "on": "local:1",
        }),
        "report.run_answers": (run_answers, {"folder": RunFolder(folder / "run")}),
        "report.HTMLReport": (HTMLReport, {"html": "<p>text", "title": "t"}),
        "compute.Share": (Share, {"number": 1, "count": 2}),
        "compute.Share.parse": (Share.parse, {"text": "1/2"}),
        "compute.SlurmConfig": (SlurmConfig, {
            "shares": 2, "max_running": 1, "cpus": 1, "memory": "4G", "time": "01:00:00",
            "partition": "p", "account": "a", "options": [], "setup": [], "python": "python3",
        }),
        "compute.CohortShape": (CohortShape, {"samples": 3, "regions": 4, "timepoints": 9}),
        "compute.FCStore.open": (FCStore.open, {"path": store.path}),
        "compute.FCStore.matrices": (store.matrices, {"spi": "pearson", "rows": np.arange(2)}),
        "spi.bands": (bands, {"spis": "all", "tr": 2.0}),
        "spi.catalogue": (catalogue, {}),
        "spi.cost_laws.cost_law": (cost_law, {"family": "kendall"}),
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_mistake_inside_is_answered_with_a_sentence(name, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = mistakes(*made[name])
    assert not found, "\n".join(found)


def test_the_page_of_the_api_is_tried(made):
    assert set(NAMES) == set(made)
    tried = {name.split(".")[-1] for name in OTHER_NAMES} | {name.split(".")[-1] for name in NAMES}
    untried = [
        name
        for name in public_names()
        if not name.endswith("Error")
        and name not in RETURNED | CONTRACTS
        and name.split(".")[-1] not in tried
    ]
    assert not untried, f"give these good arguments above: {untried}"
