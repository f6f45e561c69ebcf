"""The walk of mistakes through the methods of the public classes.

``test_mistakes.py`` and ``test_mistakes_inside.py`` walk the functions and constructors.
"""

import importlib
import inspect

import numpy as np
import pytest

import sclcs
from mistake_walk import mistakes, public_names
from sclcs import Scans, simulate_cohort
from sclcs.benchmark import (
    ArraySource,
    CohortSource,
    Evaluation,
    Inquiry,
    Target,
    evaluate,
    find_criterion,
    make_kernel,
    make_question,
)
from sclcs.cohort import Seconds, Windowing
from sclcs.compute import CohortShape, compute_store
from sclcs.core import InputError
from sclcs.encoder import EncoderSettings, train_encoder
from sclcs.estimation import krige, look_ahead, shipped_geometry
from sclcs.pyspi import Calculator, Data
from sclcs.report import HTMLReport
from sclcs.run_folder import RunFolder
from sclcs.selection import find_selector
from sclcs.spi import compute
from sclcs.spi.cost_laws import cost_law

OPERATORS = ["kendalltau", "cov_EmpiricalCovariance"]
#: scikit-learn's own checks say how it answers; a protocol is for others to fill.
CONTRACTS = {"spi.FCTransformer", "benchmark.FCSource"}
#: Walked in the other files, or of no use but to the package (they write what it reads).
ELSEWHERE = {
    "CoreSet.rows", "CoreSet.bound_to", "CoreSet.save", "CoreSet.open", "Ranking.save",
    "Ranking.open", "Cohort.labels", "Cohort.take", "Cohort.where", "Cohort.keep_regions",
    "Cohort.save", "Cohort.open", "Scans.from_arrays", "runs.RunResult.open",
    "run_folder.RunFolder.open", "compute.FCStore.open", "compute.FCStore.matrices",
    "compute.Share.parse", "estimation.Geometry.take", "estimation.Estimate.interval",
    "estimation.Estimate.draws", "encoder.TrainedEncoder.save", "encoder.TrainedEncoder.open",
    "encoder.classifier.TrainedClassifier.save", "encoder.classifier.TrainedClassifier.open",
    "pyspi.Calculator.merge",
}  # fmt: skip
WRITERS = {
    "assume_config", "write_config", "open_store", "matrices_digest", "write_table", "write_facts",
    "create", "given_cohort",
}  # fmt: skip


def public_classes():
    for name in public_names():
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                home = importlib.import_module(".".join(["sclcs", *parts[: cut - 1]]))
            except ImportError:
                continue
            found = getattr(home, parts[cut - 1])
            break
        if inspect.isclass(found) and not issubclass(found, Exception) and name not in CONTRACTS:
            yield name, found


def methods(owner):
    """Go through the public methods that a class defines itself."""
    fields = getattr(owner, "__dataclass_fields__", {})
    for name, member in vars(owner).items():
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and name not in fields and inspect.isfunction(function):
            yield name, function


def test_every_public_method_checks_how_it_is_called():
    unchecked = [
        f"{name}.{method}"
        for name, owner in public_classes()
        for method, function in methods(owner)
        if not hasattr(function, "__wrapped__")
    ]
    assert not unchecked, f"decorate the classes with checked_methods: {unchecked}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("methods")
    cohort = simulate_cohort(8, 2, 5, length=40, stride=40, seed=1)
    paths = iter(range(10**9))

    def new(kind=""):
        return folder / f"new-{next(paths)}{kind}"

    return (
        _data(cohort, new)
        | _results(cohort, folder, new)
        | _benchmark(cohort)
        | _estimation()
        | _selection(cohort)
    )


def _data(cohort, new):
    arrays = [np.random.default_rng(k).normal(size=(4, 50 + k)) for k in range(3)]
    scans = Scans.from_arrays(arrays, ["a", "b", "c"], tr=2.0)
    cut = {
        "drop_first": 2, "zscore": "scan", "on_bad": "error", "mixed_tr": "keep",
        "out": lambda: new(".zarr"),
    }  # fmt: skip
    windowing = Windowing(20, 10)
    calc = Calculator(arrays[0], subset="fabfour")
    return {
        "Scans.keep_regions": (scans.keep_regions, {"names": ["region-0", "region-2"]}),
        "Scans.with_scans": (scans.with_scans, {"scans": list(scans), "tr": 2.0}),
        "Scans.repetition_time": (scans.repetition_time, {"scan": scans[0]}),
        "Scans.resample": (scans.resample, {"tr": 1.0}),
        "Scans.windows": (scans.windows, {"length": 20, "stride": 10, "truncate": 40, **cut}),
        "Scans.whole": (scans.whole, {"truncate": 40, **cut}),
        "Scans.cut": (scans.cut, {"windowing": windowing, **cut}),
        "cohort.Windowing.at": (windowing.at, {"tr": 2.0}),
        "cohort.Windowing.kept_length": (windowing.kept_length, {"n_timepoints": 50}),
        "cohort.Windowing.starts": (windowing.starts, {"n_timepoints": 50}),
        "cohort.Windowing.cut": (windowing.cut, {"signals": arrays[0].astype(np.float32)}),
        "cohort.Seconds.points": (Seconds(20.0).points, {"tr": 2.0}),
        "pyspi.Calculator.load_dataset": (calc.load_dataset, {"dataset": arrays[1]}),
        "pyspi.Data.to_numpy": (
            Data(arrays[0]).to_numpy, {"realisation": 0, "squeeze": True},
        ),
        "compute.CohortShape.of": (CohortShape.of, {"cohort": cohort}),
    }  # fmt: skip


def _results(cohort, folder, new):
    store = compute_store(cohort, folder / "fc", OPERATORS)
    result = sclcs.run(
        cohort, out=folder / "run", tasks="subject", spis=OPERATORS, permutations=9, bootstrap=0
    )
    run, page = RunFolder.open(folder / "run"), HTMLReport("<p>text", "t")
    ranking = result.confirmed["subject"]
    one = {"spi": "pearson"}
    return {
        "runs.RunResult.best": (result.best, {"count": 2}),
        **{
            f"run_folder.RunFolder.{name}": (getattr(run, name), {"task": "subject"})
            for name in ("ranking_file", "confirmed_file", "truth_file", "card_file", "ranking",
                         "confirmed", "truth", "card")
        },
        "report.HTMLReport.get_iframe": (page.get_iframe, {"width": 300, "height": "50%"}),
        "report.HTMLReport.save_as_html": (page.save_as_html, {"file_name": lambda: new(".html")}),
        "report.HTMLReport.open_in_browser": (_unopened(page), {"file_name": lambda: new(".html")}),
        "Ranking.naming": (ranking.naming, {"equivalents": {"kendalltau": ["spearmanr"]}}),
        "compute.FCStore.open_unchecked": (store.open_unchecked, {"path": store.path}),
        **{
            f"compute.FCStore.{name}": (getattr(store, name), one)
            for name in ("stamp", "version", "reason")
        },
        "compute.FCStore.missing": (store.missing, {"operators": OPERATORS, "check": True}),
        "compute.FCStore.to_xarray": (store.to_xarray, {"spis": OPERATORS}),
    }  # fmt: skip


def _unopened(page):
    def call(**arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("webbrowser.open", lambda *_: True)
            return page.open_in_browser(**arguments)

    return call


def _benchmark(cohort):
    fc = compute(cohort, OPERATORS)
    source, direct = ArraySource(fc.to_numpy(), OPERATORS, cohort), CohortSource(cohort, OPERATORS)
    question = make_question(cohort.samples, "diagnosis")
    share, rows = find_criterion("share"), np.arange(4)
    kernel = make_kernel(fc.to_numpy()[0])
    found = evaluate(source, OPERATORS, [Inquiry(question, (share,))])[0]
    cases = question.cases
    one = {"spi": OPERATORS[0]}
    return {
        "benchmark.Question.places_of": (question.places_of, {"rows": rows}),
        "benchmark.Question.halves": (question.halves, {"n_splits": 2, "seed": 0}),
        "benchmark.Question.training_halves": (
            question.training_halves, {"n_splits": 2, "seed": 0},
        ),
        "benchmark.Question.permutations": (question.permutations, {"count": 2, "seed": 0}),
        "benchmark.Target.values": (Target("age", "number").values, {"samples": cohort.samples}),
        "benchmark.Criterion.check": (share.check, {"question": question}),
        "benchmark.Criterion.chance_for": (share.chance_for, {"target": question.target}),
        "benchmark.Criterion.label_for": (share.label_for, {"target": question.target}),
        "benchmark.Kernel.from_similarity": (
            kernel.from_similarity, {"similarity": np.eye(3, dtype=np.float32)},
        ),
        "benchmark.Kernel.take": (kernel.take, {"rows": rows}),
        "benchmark.Kernel.reordered": (kernel.reordered, {"rows": np.arange(16)}),
        "benchmark.Kernel.of_cases": (kernel.of_cases, {"cases": cases}),
        "benchmark.Kernel.case_vectors": (kernel.case_vectors, {"cases": cases}),
        "benchmark.ArraySource.from_dataarray": (
            ArraySource.from_dataarray, {"fc": fc, "cohort": cohort},
        ),
        "benchmark.ArraySource.matrices": (source.matrices, {**one, "rows": rows}),
        "benchmark.ArraySource.lazily": (source.lazily, one),
        "benchmark.ArraySource.reason": (source.reason, one),
        "benchmark.ArraySource.version": (source.version, one),
        "benchmark.CohortSource.matrices": (direct.matrices, {**one, "rows": rows}),
        "benchmark.CohortSource.reason": (direct.reason, one),
        "benchmark.CohortSource.version": (direct.version, one),
        "benchmark.Evaluation.together": (Evaluation.together, {"parts": [found, found]}),
        "benchmark.Evaluation.in_order": (found.in_order, {"places": np.arange(2)}),
    }  # fmt: skip


def _estimation():
    geometry = shipped_geometry()
    operators = list(geometry.operators[:6])
    scores = np.array([0.1, 0.3, 0.2, 0.5, np.nan, np.nan])
    estimate = krige(operators, geometry.take(operators).similarity, scores, list("aabbcc"))
    law = cost_law("kendall")
    return {
        "estimation.Outlook.gain_of": (look_ahead(estimate).gain_of, {"operators": [4]}),
        "spi.cost_laws.CostLaw.growth": (law.growth, {"start": (5, 50), "end": (9, 90)}),
        "spi.cost_laws.CostLaw.seconds_at": (law.seconds_at, {"regions": 9, "timepoints": 90}),
    }


def _selection(cohort):
    pytest.importorskip("torch")
    settings = EncoderSettings(heads=2, dim=3, epochs=1, batch_subjects=3)
    trained = train_encoder(cohort, settings, device="cpu")
    return {
        "selection.Selector.complete": (find_selector("kmeans").complete, {"given": {}}),
        "encoder.EncoderSettings.counts": (settings.counts, {"epoch": 1}),
        "encoder.TrainedEncoder.maps": (
            trained.maps, {"cohort": cohort, "sample_ids": cohort.sample_ids[:2], "epoch": 1},
        ),
    }  # fmt: skip


NAMES = sorted(
    f"{name}.{method}"
    for name, owner in public_classes()
    for method, function in methods(owner)
    if set(inspect.signature(function).parameters) - {"self", "cls"}
    and f"{name}.{method}" not in ELSEWHERE
    and method not in WRITERS
)


@pytest.mark.parametrize("name", NAMES)
def test_a_mistake_is_answered_with_a_sentence(name, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = mistakes(*made[name])
    assert not found, "\n".join(found)


def test_a_name_that_is_not_there_is_a_sentence():
    scans = Scans.from_arrays([np.eye(4, 30)], ["a"])
    with pytest.raises(
        InputError, match=r"Scans\.windows cannot be called so.*did you mean zscore"
    ):
        scans.windows(20, 20, zscor="scan")
    with pytest.raises(InputError, match="missing a required argument: 'stride'"):
        scans.windows(20)


def test_every_method_is_tried(made):
    assert set(made) == set(NAMES)
