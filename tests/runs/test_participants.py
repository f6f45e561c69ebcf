"""The BIDS App: participants one by one, then the group, with the numbers of one cohort."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from sclcs._core.errors import InputError
from sclcs.cli.bids_app import app
from sclcs.cohort import join_cohorts
from sclcs.cohort.cohort import Cohort
from sclcs.spi import compute_batch as compute
from sclcs.store.fc_store import FCStore

OPERATORS = ["cov_EmpiricalCovariance", "kendalltau", "cov_MinCovDet"]
REGIONS = ["left", "right", "front", "back", "middle"]


@pytest.fixture(scope="module")
def derivative(tmp_path_factory):
    root = tmp_path_factory.mktemp("study") / "xcp_d"
    rng = np.random.default_rng(3)
    for number, subject in enumerate(("01", "02", "03", "04")):
        folder = root / f"sub-{subject}" / "func"
        folder.mkdir(parents=True)
        stem = f"sub-{subject}_task-rest_space-MNI_seg-Five_stat-mean_timeseries"
        mixing = rng.normal(size=(5, 5))  # a person is alike in both windows
        table = pd.DataFrame(rng.normal(size=(90 + number, 5)) @ mixing, columns=REGIONS)
        table.to_csv(folder / f"{stem}.tsv", sep="\t", index=False)
        (folder / f"{stem}.json").write_text(json.dumps({"RepetitionTime": 2.0}))
    rows = [f"sub-0{k}\t{'AB'[k % 2]}" for k in (1, 2, 3, 4)]
    (root / "participants.tsv").write_text("\n".join(["participant_id\tgroup", *rows, ""]))
    return root


def call(*arguments):
    app(
        [*map(str, arguments), "--window", "40", "--stride", "40", "--spis", ",".join(OPERATORS)],
        standalone_mode=False,
    )


@pytest.fixture(scope="module")
def processed(derivative, tmp_path_factory):
    out = tmp_path_factory.mktemp("bids") / "out"
    call(derivative, out, "participant", "--participant-label", "02")
    call(derivative, out, "participant", "--participant-label", "sub-01,03")
    call(derivative, out, "participant", "--participant_label", "04")
    return out


def test_participants_are_independent_and_the_folder_is_a_derivative(processed):
    assert sorted(path.name for path in processed.iterdir()) == [
        "dataset_description.json", "sub-01", "sub-02", "sub-03", "sub-04",
    ]  # fmt: skip
    facts = json.loads((processed / "dataset_description.json").read_text())
    assert facts["DatasetType"] == "derivative"
    cohort = Cohort.open(processed / "sub-03" / "cohort.zarr")
    assert set(cohort.samples["subject"]) == {"sub-03"}
    assert set(cohort.samples["group"]) == {"B"}
    assert len(cohort) == 2


@pytest.mark.slow
def test_the_group_is_what_one_cohort_would_have_been(derivative, processed, quick_plan):
    call(derivative, processed, "group", "--task", "subject")
    cohort = Cohort.open(processed / "group" / "cohort.zarr")
    assert len(cohort) == 8
    store = FCStore.open(processed / "group" / "run" / "fc.zarr")
    expected = compute(np.asarray(cohort.signals), OPERATORS)
    for name in OPERATORS:
        found = store.matrices(name)
        wanted = expected.sel(spi=name).to_numpy().astype(np.float32)
        np.testing.assert_array_equal(found, wanted)
    assert (processed / "group" / "run" / "report.html").exists()
    before = (processed / "group" / "run" / "state.json").read_bytes()
    call(derivative, processed, "group", "--task", "subject")
    assert (processed / "group" / "run" / "state.json").read_bytes() == before


def as_babs_calls(derivative, out, label, *more):
    """Return the command in a participant's job: flags of its YAML file, then the participant."""
    code = "from sclcs.cli.bids_app import main; main()"
    flags = ["--skip-bids-validation", "--n_cpus", "1", "--window", "40", "--stride", "40"]
    flags += ["--spis", ",".join(OPERATORS), *more]
    return [
        *(sys.executable, "-c", code, str(derivative), str(out), "participant"),
        *(*flags, "--participant-label", label),
    ]


def test_jobs_side_by_side_share_the_folder_and_tell_by_their_exit_code(derivative, tmp_path):
    out = tmp_path / "outputs"
    labels = ["sub-01", "sub-02", "sub-77"]
    jobs = [
        subprocess.Popen(as_babs_calls(derivative, out, label), stderr=subprocess.PIPE, text=True)
        for label in labels
    ]
    said = [job.communicate(timeout=300)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0, 2], said
    assert "77 not found" in said[2]
    assert "Traceback" not in said[2]
    for label in labels[:2]:
        assert FCStore.open(out / label / "fc.zarr").complete_operators
    again = subprocess.run(as_babs_calls(derivative, out, "sub-01"), check=False)
    assert again.returncode == 0  # a job that is sent again finds its work done
    wrong = subprocess.run(
        as_babs_calls(derivative, out, "sub-01", "--spis", "no_such_operator"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert wrong.returncode == 2
    assert "no_such_operator" in wrong.stderr


def test_mistakes_are_one_sentence(derivative, processed, tmp_path):
    with pytest.raises(InputError, match="run the participant level first"):
        call(derivative, tmp_path / "new", "group")
    with pytest.raises(InputError, match="takes all participants"):
        call(derivative, processed, "group", "--participant-label", "01")
    with pytest.raises(LookupError, match="77 not found"):
        call(derivative, tmp_path / "new", "participant", "--participant-label", "77")


def test_cohorts_of_other_regions_are_not_joined(rng, tmp_path):
    def cohort(name, regions):
        samples = pd.DataFrame({"subject": [name], "window": [0]}, index=[name])
        return Cohort(rng.normal(size=(1, len(regions), 9)), samples, regions, 2.0)

    parts = {"sub-1": cohort("a", ["x", "y"]), "sub-2": cohort("b", ["x", "z"])}
    with pytest.raises(InputError, match="sub-2 has other regions than sub-1"):
        join_cohorts(parts, tmp_path / "c.zarr")
    parts["sub-2"] = cohort("a", ["x", "y"])
    with pytest.raises(InputError, match="more than one cohort: a"):
        join_cohorts(parts, tmp_path / "c.zarr")
    parts["sub-2"] = cohort("b", ["x", "y"])
    joined = join_cohorts(parts, tmp_path / "c.zarr")
    assert joined.sample_ids == ["a", "b"]
    np.testing.assert_array_equal(
        joined.signals[1:2], parts["sub-2"].signals[:], err_msg="order of the parts"
    )
