"""Thresholds and levels stand in one module, each with its reason, and a name has one value."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import sclcs
from sclcs._core import constants

PACKAGE = Path(sclcs.__file__).parent
#: The packages whose names are compared; each kernel is a world of its own.
COMPARED = ("_core", "cohort", "coresets", "store", "cli", "pyspi", "spi")
KERNELS = {"families", "numerics"}
NAMES = [name for name in vars(constants) if name.isupper()]


def assigned(path):
    """Return the numbers that a module gives to names in capitals."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
                found[name] = ast.unparse(node.value)
    return {name: value for name, value in found.items() if re.fullmatch(r"[-\d.e* /+]+", value)}


@pytest.mark.parametrize("name", NAMES)
def test_every_constant_has_a_reason(name):
    text = Path(constants.__file__).read_text(encoding="utf-8")
    assert re.search(rf"^#:.*\n(?:#:.*\n)*(?:[A-Z_]+, )*{name}\b.*= ", text, re.MULTILINE)


def test_a_constant_is_defined_once():
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "constants.py"]
    again = {name for path in modules for name in assigned(path) if name in NAMES}
    assert again == set()


def test_no_name_has_two_values():
    values = defaultdict(set)
    for package in COMPARED:
        for path in (PACKAGE / package).rglob("*.py"):
            for name, value in assigned(path).items() if KERNELS.isdisjoint(path.parts) else ():
                values[name].add(value)
    assert {name: found for name, found in values.items() if len(found) > 1} == {}
