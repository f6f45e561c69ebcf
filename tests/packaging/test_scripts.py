"""Tools, benchmarks and the extensions of the documentation name things that the package has."""

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ("tools", "benchmarks", "docs/_ext")
SCRIPTS = [path for folder in FOLDERS for path in sorted((REPOSITORY / folder).rglob("*.py"))]


def imported_names(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sclcs"):
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_a_script_imports_what_exists(path):
    for module, name in imported_names(path):
        found = hasattr(importlib.import_module(module), name)
        assert found or importlib.util.find_spec(f"{module}.{name}"), f"{module}.{name}"
