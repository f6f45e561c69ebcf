"""Small runs with hostile names, made by the real workflow."""

import numpy as np
import pandas as pd
import pytest

from sclcs import simulate_cohort
from sclcs.cohort.cohort import Cohort
from sclcs.run_folder import RunFolder, collect_config
from sclcs.runs import carry_out, predict_costs

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(2)</script>"
TITLE = f"Run & {SCRIPT}"
SITE = "site \"'><b>x</b>"
REGION = f"region {SCRIPT}"
PLANS = []
OPERATORS = [
    "kendalltau",
    "cov_EmpiricalCovariance",
    "cov_LedoitWolf",
    "cov_GraphicalLasso",
    "pdist_euclidean",
    "xcorr_max_sig-True",
    "gd_multitaper_delay_fs-1_fmin-0_fmax-0-5",
    "mi_gaussian",
    "gc_gaussian_k-1_kt-1_l-1_lt-1",
]


def hostile_cohort(subjects=12):
    """A simulated cohort whose subjects, sites and regions carry markup."""
    found = simulate_cohort(subjects, windows=3, regions=6, length=40, sites=2, seed=3)
    names = {name: f"s{n} {IMAGE}" for n, name in enumerate(sorted(set(found.samples["subject"])))}
    samples = found.samples.copy()
    samples["subject"] = samples["subject"].map(names)
    sites = sorted(set(samples["site"].astype(str)))
    samples["site"] = samples["site"].astype(str).map({sites[0]: SITE, sites[1]: "plain"})
    samples = samples.drop(columns=["scan"])
    samples.index = [f"{row.subject}_w{row.window}" for row in samples.itertuples()]
    regions = [REGION, "left & right", *(f"r{n}" for n in range(4))]
    excluded = [{"kind": "too-short", "where": f"scan {IMAGE}", "detail": "12 < 40"}]
    return Cohort(
        np.asarray(found.signals),
        pd.DataFrame(samples),
        regions,
        2.0,
        provenance={"source": f"simulated {IMAGE}", "excluded": excluded},
    )


def predict_once(*arguments, **options):
    """Predict the costs of the first run only; what a plan says is not the report's business."""
    if not PLANS:
        PLANS.append(predict_costs(*arguments, **options))
    return PLANS[0]


def make_run(out, *, until="card", cohort=None, **settings):
    """Carry out a small run; by default the whole of it but the report."""
    options = {
        "out": str(out),
        "task": ["subject", "diagnosis"],
        "spis": OPERATORS,
        "method": "pairs",
        "ratio": 0.4,
        "bootstrap": 30,
        "top_k": 3,
        "full_benchmark": True,
        "title": TITLE,
        "description": f"About {IMAGE}",
        **settings,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sclcs.runs.check.CALIBRATION_SECONDS", 0.02)
        patch.setattr("sclcs.runs.check.predict_costs", predict_once)
        given = hostile_cohort() if cohort is None else cohort
        carry_out(collect_config(None, options), given=given, until=until)
    return RunFolder.open(out)
