"""The map of the paper names what exists: functions, files, experiments, tests."""

import importlib
import re
from pathlib import Path

import pytest

from paper import EXPERIMENTS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and line.count("|") == 5][1:]


def test_every_equation_theorem_table_and_figure_of_the_paper_has_a_row():
    named = " ".join(row.split("|")[1] for row in ROWS)
    ranges = re.findall(r"Eq\. (\d+)(?: to (\d+))?", named)
    equations = {n for low, high in ranges for n in range(int(low), int(high or low) + 1)}
    assert equations == set(range(1, 18))
    for what, count in (("Theorem", 5), ("Table", 14), ("Figure", 8)):
        lists = re.findall(rf"{what}s? ([\d, and]+)", named)
        found = {int(number) for part in lists for number in re.findall(r"\d+", part)}
        assert found == set(range(1, count + 1)), what
    assert "Proposition 1" in named
    assert "Lemma 1" in named


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:30])
def test_what_a_row_names_exists(row):
    _, _, here, command, result, _ = row.split("|")
    for name in re.findall(r"python -m paper (\w+)", command):
        assert name in EXPERIMENTS
    for file in re.findall(r"((?:paper|examples)/\w+\.py)", here + command):
        assert (ROOT / file).exists()
    for test in re.findall(r"(test_\w+\.py)", here + result):
        assert list((ROOT / "tests").rglob(test))
    for module in re.findall(r"`([A-Za-z_]+(?:`, `[A-Za-z_]+)*)` in `(sclcs[.\w]+)`", here):
        for name in module[0].split("`, `"):
            assert hasattr(importlib.import_module(module[1]), name.partition(".")[0])
    assert here.strip()
    assert "`" in command
    assert result.strip()
