"""Import commands on the trees of pipelines: options, printed tables, errors with exit code 2."""

import json

import pytest
from pipeline_trees import write_conn, write_cpac, write_ukb, write_xcp_d
from typer.testing import CliRunner

from sclcs import Cohort
from sclcs.cli.main import app


def run(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done.output


def test_uncovered_regions_are_printed_and_recorded(tmp_path):
    folder = write_xcp_d(tmp_path / "study", missing=("02", "03"))
    out = tmp_path / "c.zarr"
    text = run(
        "cohort", "import", "bids", folder, "--max-missing-subjects", "5%", "--window", "40s",
        "--stride", "20s", "--drop-regions", "*Vis*", "--out", out,
    )  # fmt: skip
    assert "1 regions left out of all scans" in text
    assert "RH_Limbic_1" in text
    cohort = Cohort.open(out)
    assert cohort.n_timepoints == 20
    assert cohort.regions == ("LH_Default_1", "RH_Default_1", "Hippocampus")
    facts = json.loads(run("cohort", "describe", out, "--json"))
    assert facts["regions_dropped"] == [{"region": "RH_Limbic_1", "subjects_missing": 2}]
    bands = json.loads(run("spis", "bands", out, "--json"))
    assert bands["cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-25"]["high_hz"] == pytest.approx(0.125)


def test_a_cohort_without_labels_says_so(tmp_path):
    folder = write_xcp_d(tmp_path / "study")
    (tmp_path / "study" / "participants.tsv").unlink()
    options = ["cohort", "import", "bids", folder, "--out", tmp_path / "c.zarr"]
    assert "Note: No labels" in " ".join(run(*options).split())


def test_other_pipelines(tmp_path):
    run(
        "cohort", "import", "bids", write_cpac(tmp_path / "cpac"), "--entity", "reg=36Parameter",
        "--tr", 2, "--window", 20, "--stride", 10, "--out", tmp_path / "cpac.zarr",
    )  # fmt: skip
    run(
        "cohort",
        "import",
        "conn",
        write_conn(tmp_path),
        "--atlas",
        "atlas",
        "--out",
        tmp_path / "conn.zarr",
    )
    run(
        "cohort", "import", "ukb", write_ukb(tmp_path / "ukb"), "--window", "11s", "--stride", "6s",
        "--out", tmp_path / "ukb.zarr",
    )  # fmt: skip
    sizes = {name: len(Cohort.open(tmp_path / f"{name}.zarr")) for name in ("cpac", "conn", "ukb")}
    assert sizes == {"cpac": 4, "conn": 3, "ukb": 6}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--window", "70m"], "time points (70) or seconds (140s)"),
        (["--max-missing-subjects", "lots"], "share of the subjects"),
        (["--min-coverage", "50"], "`min_coverage` must be"),
        (["--entity", "reg"], "key=label"),
        (["--resample", "-1"], "`resample` must be a number above 0"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(tmp_path, options, sentence):
    from sclcs._core import SclcsError

    folder = write_xcp_d(tmp_path / "study")
    out = tmp_path / "c.zarr"
    done = CliRunner().invoke(
        app, ["cohort", "import", "bids", str(folder), *options, "--out", str(out)]
    )
    assert isinstance(done.exception, SclcsError)
    assert sentence in str(done.exception)
    assert not out.exists()


def test_bands_need_one_repetition_time(tmp_path):
    assert "0 to 0.125" in run("spis", "bands", "--tr", 2)
    assert "0 to 25" in run("spis", "bands", "--rate", 100)
    assert "unknown" in run("spis", "bands")
    shown = run("spis", "show", "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-25", "--tr", "2")
    assert "0-0.125 Hz at TR 2 s" in shown
