"""Tools, benchmarks and the extensions of the documentation name things that the package has."""

import ast
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import trace_run

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ("tools", "benchmarks", "docs/_ext")
SCRIPTS = [path for folder in FOLDERS for path in sorted((REPOSITORY / folder).rglob("*.py"))]


def asks_for_options(path):
    text = path.read_text(encoding="utf-8")
    return path.parent.name == "tools" and "argparse" in text and "__main__" in text


TOOLS = list(filter(asks_for_options, SCRIPTS))


@pytest.mark.slow
@pytest.mark.parametrize("path", TOOLS, ids=lambda path: path.stem)
def test_a_tool_starts_on_its_own(path):
    command = [sys.executable, path, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def imported_names(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sclcs"):
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_a_script_imports_what_exists(path):
    for module, name in imported_names(path):
        found = hasattr(importlib.import_module(module), name)
        assert found or importlib.util.find_spec(f"{module}.{name}"), f"{module}.{name}"


def test_the_command_of_the_readme_is_what_is_traced():
    simulate, run = trace_run.commands()
    assert simulate[:2] == ["cohort", "simulate"]
    assert (run[0], run[-2]) == ("run", "--out")
