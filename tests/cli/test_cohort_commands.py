import json
import os

import numpy as np
import pytest

from sclcs import simulate_cohort
from sclcs.cohort import Cohort


@pytest.fixture
def arrays(tmp_path, rng):
    """An npz of 4 scans: 3 regions, at most 30 time points, the last scan too short."""
    lengths = np.array([30, 28, 30, 9])
    signals = np.full((4, 30, 3), np.nan, dtype=np.float32)
    for i, n in enumerate(lengths):
        signals[i, :n] = rng.normal(size=(n, 3))
    path = tmp_path / "scans.npz"
    np.savez(
        path,
        timeseries=signals,
        n_timepoints=lengths,
        subject=np.array(["01", "02", "03", "04"]),
        site=np.array(["x", "y", "x", "y"]),
        roi_names=np.array(["a", "b", "c"]),
    )
    return path


CUT = ["--window", 10, "--stride", 5]


def test_import_writes_a_cohort_and_says_what_was_left_out(sclcs, arrays, tmp_path):
    out = tmp_path / "c.zarr"
    shown = sclcs("cohort", "import", "arrays", arrays, *CUT, "--on-bad", "skip", "--out", out)
    assert shown.code == 0
    assert "14 samples of 3 subjects, 3 regions x 10 time points" in shown.out
    assert "Left out: Scans with fewer time points than the windows need (1)" in shown.out
    cohort = Cohort.open(out)
    with np.load(arrays) as raw:
        np.testing.assert_array_equal(cohort.signals[1], raw["timeseries"][0, 5:15].T)
    assert cohort.provenance["excluded"][0]["where"] == "04"


def test_options_reach_the_cohort(sclcs, arrays, tmp_path):
    out = tmp_path / "c.zarr"
    options = ["--truncate", 20, "--drop-first", 2, "--regions", "c,a"]
    options += ["--tr", 2.5, "--on-bad", "skip", "--json"]
    shown = sclcs("cohort", "import", "arrays", arrays, *CUT, *options, "--out", out)
    facts = json.loads(shown.out)
    assert facts["windowing"] == {"length": 10, "stride": 5, "truncate": 20, "drop_first": 2}
    assert (facts["tr"], facts["samples"]) == (2.5, 9)
    assert Cohort.open(out).regions == ("c", "a")


def test_whole_scans(sclcs, arrays, tmp_path):
    options = ["--truncate", 28, "--on-bad", "skip"]
    assert (
        sclcs("cohort", "import", "arrays", arrays, *options, "--out", tmp_path / "c.zarr").code
        == 0
    )
    assert Cohort.open(tmp_path / "c.zarr").signals.shape == (3, 3, 28)


def test_bad_input_exits_with_two_and_leaves_nothing(sclcs, arrays, tmp_path):
    before = os.listdir(tmp_path)
    shown = sclcs("cohort", "import", "arrays", arrays, *CUT, "--out", tmp_path / "c.zarr")
    assert shown.code == 2
    assert "04 (9 time points, 10 needed)" in shown.err
    assert "--on-bad skip" in shown.err
    assert os.listdir(tmp_path) == before


def test_an_existing_output_is_kept(sclcs, arrays, tmp_path):
    (tmp_path / "c.zarr").mkdir()
    shown = sclcs(
        "cohort", "import", "arrays", arrays, *CUT, "--on-bad", "skip", "--out", tmp_path / "c.zarr"
    )
    assert shown.code == 2
    assert "already exists" in shown.err
    assert os.listdir(tmp_path / "c.zarr") == []


def test_an_unknown_region_set_names_the_known_ones(sclcs, arrays, tmp_path):
    shown = sclcs(
        "cohort",
        "import",
        "arrays",
        arrays,
        "--regions",
        "dosenbach-dmn34",
        "--out",
        tmp_path / "c",
    )
    assert shown.code == 2
    assert "dosenbach-dmn33" in shown.err


def test_describe_raw_arrays_and_cohorts(sclcs, arrays, tmp_path):
    raw = sclcs("cohort", "describe", arrays)  # whole scans; nothing is written
    assert "4 samples of 4 subjects, 3 regions x 9 to 30 time points" in raw.out
    sclcs(
        "cohort", "import", "arrays", arrays, *CUT, "--on-bad", "skip", "--out", tmp_path / "c.zarr"
    )
    shown = sclcs("cohort", "describe", tmp_path / "c.zarr")
    assert "14 samples of 3 subjects" in shown.out
    assert "too-short" in shown.out
    facts = json.loads(sclcs("cohort", "describe", tmp_path / "c.zarr", "--json").out)
    assert facts["classes"]["site"]["x"] == {"subjects": 2, "rows": 10}


def test_strange_names_are_shown_as_they_are(sclcs, tmp_path, rng):
    np.savez(
        tmp_path / "x.npz",
        signals=rng.normal(size=(3, 30, 2)),
        subject=np.array(["a", "b", "c"]),
        site=np.array(["[red]x[/red]", "[/]", "y"]),
    )
    shown = sclcs("cohort", "describe", tmp_path / "x.npz")
    assert shown.code == 0
    assert "[red]x[/red]" in shown.out
    assert "[/]" in shown.out


def test_check_separates_notes_from_serious_problems(sclcs, arrays, tmp_path):
    serious = sclcs("cohort", "check", arrays, "--window", 10)
    assert serious.code == 2
    assert "fewer time points" in serious.out
    sclcs(
        "cohort", "import", "arrays", arrays, *CUT, "--on-bad", "skip", "--out", tmp_path / "c.zarr"
    )
    fine = sclcs("cohort", "check", tmp_path / "c.zarr")
    assert fine.code == 0
    assert "Note: Classes with one subject only" in fine.out
    kinds = [line.split(" (")[0] for line in fine.out.splitlines()]
    assert len(kinds) == len(set(kinds))
    assert all(line.startswith("Note: ") for line in kinds)
    wrong = sclcs("cohort", "check", tmp_path / "c.zarr", "--task", "diagnosys")
    assert wrong.code == 2
    assert "no column 'diagnosys'" in wrong.err
    report = json.loads(sclcs("cohort", "check", tmp_path / "c.zarr", "--json").out)
    assert report["ok"] is True
    assert report["problems"][0]["kind"] == "single-member-class"


def test_check_finds_damage(sclcs, arrays, tmp_path):
    sclcs(
        "cohort", "import", "arrays", arrays, *CUT, "--on-bad", "skip", "--out", tmp_path / "c.zarr"
    )
    chunk = tmp_path / "c.zarr" / "signals" / "c" / "0" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-1])
    shown = sclcs("cohort", "check", tmp_path / "c.zarr")
    assert shown.code == 2
    assert "do not match their checksum" in shown.out


def test_labels_do_not_go_with_a_cohort(sclcs, cohort, tmp_path):
    cohort.save(tmp_path / "c.zarr")
    shown = sclcs("cohort", "describe", tmp_path / "c.zarr", "--labels", "x.csv")
    assert shown.code == 2
    assert "leave out --labels" in shown.err


def test_plot_writes_a_picture(sclcs, cohort, tmp_path):
    cohort.save(tmp_path / "c.zarr")
    assert sclcs("cohort", "plot", tmp_path / "c.zarr", "--out", tmp_path / "p.png").code == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    shown = sclcs("cohort", "plot", tmp_path / "c.zarr", "--out", tmp_path / "p.docx")
    assert shown.code == 2
    assert ".png" in shown.err


def test_simulate_twice_gives_the_same_cohort(sclcs, tmp_path):
    options = ["--subjects", 9, "--windows", 3, "--regions", 5, "--length", 20, "--stride", 10]
    for name in ("one", "two"):
        shown = sclcs("cohort", "simulate", *options, "--seed", 3, "--out", tmp_path / name)
        assert shown.code == 0
    one, two = Cohort.open(tmp_path / "one"), Cohort.open(tmp_path / "two")
    assert one.fingerprint == two.fingerprint
    assert one.signals.shape == (27, 5, 20)


def test_label_says_what_it_did(sclcs, tmp_path):
    path = simulate_cohort(4, 2, 3, length=40, stride=40, seed=2).save(tmp_path / "c.zarr")
    subjects = Cohort.open(path).samples["subject"].unique()
    rows = [f"{name},{place},0{place},0.{place}" for place, name in enumerate(subjects)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["ID,age,code,MeanFD", *rows]) + "\n")
    shown = sclcs("cohort", "label", path, table, "--id", "ID")
    assert shown.code == 0, shown.err
    assert "Added: code, mean_fd." in shown.out
    assert "Replaced: age." in shown.out
    kinds = dict(line.split()[:2] for line in shown.out.splitlines() if line.split()[2:])
    assert (kinds["code"], kinds["mean_fd"]) == ("classes", "number")
    assert sclcs("cohort", "label", path, table, "--id-column", "ID").code == 0  # as for import
    facts = json.loads(sclcs("cohort", "label", path, table, "--json").out)
    assert facts["replaced"] == ["age", "code", "mean_fd"]
    assert facts["fingerprint"] == Cohort.open(path).fingerprint
    assert "no column" in sclcs("cohort", "label", path, table, "--id", "name").err


def test_a_limit_of_motion_shows_who_is_left_out(sclcs, tmp_path):
    rng = np.random.default_rng(0)
    for number in (1, 2):
        folder = tmp_path / "d" / f"sub-0{number}" / "func"
        folder.mkdir(parents=True)
        rows = "\n".join(f"{a:.3f}\t{b:.3f}" for a, b in rng.normal(size=(30, 2)))
        name = f"sub-0{number}_task-rest"
        (folder / f"{name}_seg-A_timeseries.tsv").write_text(f"left\tright\n{rows}\n")
        moved = f"framewise_displacement\nn/a\n0.{number}\n0.{number}\n"
        (folder / f"{name}_motion.tsv").write_text(moved)
    out = tmp_path / "c.zarr"
    shown = sclcs("cohort", "import", "bids", tmp_path / "d", "--max-fd", 0.15, "--out", out)
    assert shown.code == 0, shown.err
    assert "Left out: Scans left out because their head moved" in shown.out
    assert "sub-02_task-rest" in shown.out
    assert "mean_fd 0.2 mm, limit 0.15 mm" in shown.out
    assert Cohort.open(out).samples["mean_fd"].tolist() == [0.1]
