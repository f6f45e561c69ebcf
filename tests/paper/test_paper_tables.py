"""The paper's numbers in ``paper/published``: complete, and those of its source."""

import itertools
from pathlib import Path

import pandas as pd
import pytest
from paper_tex import COLUMNS, is_number, method, table_lines, values

from paper.options import PAPER_METHODS, PAPER_RATIOS
from paper.tables import TABLES, paper_table
from sclcs.spi import catalogue

KS = (5, 10, 20)
TASKS = ("subject", "diagnosis")
TRAINED = ("forgetting", "entropy", "el2n", "aum", "ccs", "eva", "boss")
COMPARED = ("random", *TRAINED, "sclcs", "sclcs-dense")
#: Columns and their values: every combination is a cell of the paper's table.
AXES = {
    "table2": {"task": TASKS, "method": PAPER_METHODS, "k": KS, "ratio": PAPER_RATIOS},
    "table7": {
        "task": TASKS, "method": TRAINED, "label": TASKS, "k": KS, "ratio": PAPER_RATIOS,
    },
    "table9": {
        "operators": ("slow", "mixture"), "task": TASKS, "method": COMPARED, "k": KS,
        "ratio": PAPER_RATIOS,
    },
    "table11": {"task": TASKS, "method": COMPARED, "k": KS, "ratio": PAPER_RATIOS},
    "table10": {
        "method": (*TRAINED, "sclcs", "sclcs-dense"), "ratio": PAPER_RATIOS,
        "level": ("samples", "subjects"),
    },
    "table6": {"method": (*TRAINED, "sclcs-dense")},
}  # fmt: skip


@pytest.mark.parametrize("name", list(TABLES))
def test_every_number_is_there(name):
    table = paper_table(name)
    assert len(table) > 0
    assert not table.isna().any().any()


@pytest.mark.parametrize("name", list(AXES))
def test_every_cell_is_there_once(name):
    axes = AXES[name]
    found = list(paper_table(name)[list(axes)].itertuples(index=False, name=None))
    assert sorted(found) == sorted(itertools.product(*axes.values()))


def test_the_sixteen_operators_exist():
    table = paper_table("table4")
    assert len(table) == 16
    known = catalogue()
    assert known.loc[table["spi"], "implemented"].all()
    for row in table.itertuples():
        assert row.spi.startswith(row.printed)


def test_the_site_table_sums_up():
    sites = paper_table("sites")
    parts, total = sites.iloc[:-1], sites.iloc[-1]
    assert parts["samples"].sum() == total["samples"] == 4520
    assert {parts["hc"].sum(), parts["mdd"].sum()} == {446, 458}


def test_the_time_bins_are_the_papers_sum():
    bins = paper_table("operator_times")
    assert bins["operators"].sum() == 266
    assert (bins["seconds"] * bins["operators"]).sum() == 18_950


PAPER = Path(__file__).resolve().parents[3] / "shared" / "paper" / "sclcs_paper.tex"


@pytest.fixture(scope="session")
def paper_source():
    if not PAPER.exists():
        pytest.skip(f"EXTRA CHECK LOST: the paper's source is not here ({PAPER})")
    return PAPER.read_text(encoding="utf-8")


@pytest.mark.parametrize(("task", "marker"), [("subject", "tab:bfrt"), ("diagnosis", "tab:MRT")])
def test_main_is_the_source(paper_source, task, marker):
    found = paper_table("table2").set_index(["task", "method", "k", "ratio"])
    seen = 0
    for line in table_lines(paper_source, f"label{{{marker}}}"):
        name, *cells = line.split("&")
        if method(name) is None or "pm" not in line:
            continue
        for (k, ratio), cell in zip(COLUMNS, cells, strict=True):
            assert found.loc[(task, method(name), k, ratio)].tolist() == values(cell)
            seen += 1
    assert seen == 108


@pytest.mark.usefixtures("paper_source")
def test_the_separate_copy_of_the_main_tables_agrees():
    copy = pd.read_csv(PAPER.parent / "main_tables_ndcg.csv")
    ours = paper_table("table2")
    assert sorted(copy["ndcg_percent_mean"]) == sorted(ours["mean"])
    assert sorted(copy["ndcg_percent_std"]) == sorted(ours["std"])


@pytest.mark.parametrize(
    ("task", "marker"),
    [
        ("subject", "Comparison of brain fingerprinting ranking"),
        ("diagnosis", "Comparison of MDD diagnosis ranking"),
    ],
)
def test_labels_is_the_source(paper_source, task, marker):
    found = paper_table("table7").set_index(["task", "method", "label", "k", "ratio"])
    current, seen = None, 0
    for line in table_lines(paper_source, marker):
        name, label, *cells = line.split("&")
        if "pm" not in line:
            continue
        current = method(name) or current
        learned = {"Subject": "subject", "MDD": "diagnosis"}[label.strip()]
        for (k, ratio), cell in zip(COLUMNS, cells, strict=True):
            assert found.loc[(task, current, learned, k, ratio)].tolist() == values(cell)
            seen += 1
    assert seen == 126


@pytest.mark.parametrize(
    ("name", "marker", "order"),
    [
        ("table9", "tab:side_by_side_comparison", TASKS),
        ("table11", "tab:horizontal_robustness", TASKS[::-1]),
    ],
)
def test_wide_tables_are_the_source(paper_source, name, marker, order):
    table = paper_table(name)
    seen = []
    for line in table_lines(paper_source, f"label{{{marker}}}"):
        first, *cells = line.split("&")
        if method(first) is None or not is_number(cells[0]):
            continue
        for place, cell in enumerate(cells):
            k, ratio = COLUMNS[place % 9]
            seen.append((order[place // 9], method(first), k, ratio, *values(cell)))
    columns = ["task", "method", "k", "ratio", "value"]
    # Slow-only comes before mixture in the source, and in the file.
    assert sorted(seen) == sorted(table[columns].itertuples(index=False, name=None))


def test_small_tables_are_the_source(paper_source):
    balance = paper_table("table10")["site_l1"].tolist()
    lines = table_lines(paper_source, "label{tab:site_balance}")
    cells = [line.split("&") for line in lines if method(line.split("&")[0])]
    assert [values(cell)[0] for row in cells for cell in row[1:]] == balance
    cost = paper_table("table6")[["seconds_per_epoch", "seconds_score"]].to_numpy()
    lines = table_lines(paper_source, "label{tab:comp_cost_methods}")
    cells = [line.split("&") for line in lines if method(line.split("&")[0])]
    assert [[values(cell)[0] for cell in row[1:]] for row in cells] == cost.tolist()
    universal = paper_table("table4").set_index("printed")
    for line in table_lines(paper_source, "label{tab:theorem2_validation}"):
        row = [cell.strip() for cell in line.split("&")]
        for part in (row[:4], row[4:]):
            if "SPI" not in part[0]:
                name = part[0].replace("\\_", "_")
                numbers = universal.loc[name, ["train_start", "train_end", "test"]].tolist()
                assert numbers == [values(cell)[0] for cell in part[1:]]
