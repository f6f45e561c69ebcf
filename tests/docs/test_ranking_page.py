"""The page about ranking says what the registry of scores says."""

from pathlib import Path

import pytest

from sclcs.stats import CRITERIA

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ranking.md"


@pytest.mark.parametrize("name", CRITERIA)
def test_every_score_is_documented_as_it_is_registered(name):
    score = CRITERIA[name]
    formula = score.formula.replace("|", "&#124;")  # a bar would end the cell
    row = f"| `{name}` | {formula} | {score.range} | {score.reference} |"
    assert row in PAGE.read_text(encoding="utf-8")
