"""What a release consists of agrees with itself: dependencies, recipe, citation, version."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import sclcs

REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Names that differ between PyPI and conda-forge.
CONDA = {"pyyaml": "pyyaml", "matplotlib": "matplotlib-base"}


def name_of(requirement):
    return re.match(r"[\w.-]+", requirement).group().lower()


def extras():
    """Return (extra, package) of every extra that is not made of others."""
    found = set()
    for extra, requirements in PROJECT["optional-dependencies"].items():
        found |= {(extra, name_of(line)) for line in requirements if name_of(line) != "sclcs"}
    return found


def rows_of(page, n_cells):
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    rows = [re.findall(r"[^|]+", line) for line in text.splitlines() if line.startswith("| `")]
    cells = [[cell.strip().strip("`").lower() for cell in row] for row in rows]
    return [row for row in cells if len(row) == n_cells]


def test_every_dependency_has_a_reason_and_no_reason_is_left_over():
    always = {row[0]: row[1] for row in rows_of("dependencies.md", 2)}
    assert set(always) == {name_of(line) for line in PROJECT["dependencies"]}
    assert all(always.values())
    optional = {(row[0], row[1]) for row in rows_of("dependencies.md", 3)}
    assert optional == extras()


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    recipe = yaml.safe_load(
        (REPOSITORY / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    )
    wanted = set()
    for line in PROJECT["dependencies"]:
        name = name_of(line)
        wanted.add(f"{CONDA.get(name, name)} {line[len(name) :]}")
    assert set(recipe["requirements"]["run"]) - {"python >=3.11"} == wanted


def test_the_citation_can_be_read():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "license"} <= set(citation)
    assert citation["preferred-citation"]["year"] == 2026
    assert citation["license"] == PROJECT["license"]


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["dynamic"]
    places = [
        path.relative_to(REPOSITORY).as_posix()
        for path in (REPOSITORY / "src").rglob("*.py")
        if sclcs.__version__ in path.read_text(encoding="utf-8")
    ]
    assert places == ["src/sclcs/__init__.py"]


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_workflows_call_targets_that_exist(name):
    text = (REPOSITORY / ".github" / "workflows" / name).read_text(encoding="utf-8")
    assert yaml.safe_load(text)["jobs"]
    targets = re.findall(
        r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    called = re.findall(r"\bmake ([a-z-]+)", text)
    assert called
    assert set(called) <= set(targets)


def test_what_a_visitor_looks_for_is_there():
    names = ("CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "CHANGELOG.md", ".editorconfig")
    for name in names:
        assert (REPOSITORY / name).stat().st_size > 100
