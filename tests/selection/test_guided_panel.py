"""The default panel is the catalogue's, and its cost was measured as it is."""

from pathlib import Path

import pandas as pd
import pytest

from sclcs.selection.guided.method import GuidingParameters
from sclcs.spi import resolve

MEASURED = Path(__file__).parents[2] / "results" / "guided" / "panel_cost.csv"


def test_there_is_one_default_panel():
    assert GuidingParameters().panel == ["panel"]


def test_the_panel_as_it_is_was_measured_at_less_than_5_percent_of_the_fast_set():
    """A changed panel must be measured again: tools/guided_panel_cost.py writes the file."""
    if not MEASURED.exists():
        pytest.skip(f"{MEASURED} is part of the repository, not of the package")
    measured = pd.read_csv(MEASURED)
    assert set(measured["signals"]) == {"benchmark", "simulated", "abide"}
    for operators in measured["panel"]:
        assert operators.split() == resolve("panel")
    assert (measured["share"] < 0.05).all()
