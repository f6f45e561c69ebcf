"""What a release consists of agrees with itself: dependencies, recipe, citation, version."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from lowest_versions import lowest_versions

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
    always = {row[0]: row[1] for row in rows_of("development/dependencies.md", 2)}
    assert set(always) == {name_of(line) for line in PROJECT["dependencies"]}
    assert all(always.values())
    optional = {(row[0], row[1]) for row in rows_of("development/dependencies.md", 3)}
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


def test_the_source_package_has_what_builds_it_and_no_results():
    """An include of a bare name matches in every folder: 40 README files of results came along."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    target = tomllib.loads(text)["tool"]["hatch"]["build"]["targets"]["sdist"]
    assert set(target) == {"only-include"}
    assert {"src", "README.md", "LICENSE"} <= set(target["only-include"])
    assert all((REPOSITORY / name).exists() for name in target["only-include"])
    assert not {"results", "tests", "benchmarks"} & set(target["only-include"])


def test_lowest_versions_are_the_floors():
    """`make test-lowest` tries them; pandas 2.2.0 had been named, which refuses our numpy."""
    found = dict(line.split("==") for line in lowest_versions(()))
    assert set(map(str.lower, found)) == {name_of(line) for line in PROJECT["dependencies"]}
    for line in PROJECT["dependencies"]:
        name = re.match(r"[\w.-]+", line).group()
        assert f"{name}>={found[name]}" in line


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


def test_the_workflow_covers_what_the_package_promises():
    text = (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    promised = [
        line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)
    ]
    assert matrix["python"] == promised
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos"}
    assert {"lowest", "nightly", "windows", "all-checks"} <= set(jobs)
    for job in jobs.values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)


def test_what_must_hold_is_checked_in_one_place():
    steps = re.findall(
        r"^step make ([a-z-]+)",
        (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert {"setup", "lint", "docs", "wheel-check", "test-processors"} <= set(steps)
    assert steps[-1] == "test-coverage", "pytest's summary line must be the last"
    report = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert report["coverage"]["report"]["fail_under"] > 0


def test_what_a_visitor_looks_for_is_there():
    names = ("CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "CHANGELOG.md", ".editorconfig")
    for name in names:
        assert (REPOSITORY / name).stat().st_size > 100


def test_the_demo_of_the_installation_page_is_tried_with_the_wheel():
    """Pages run in the tests, but for the whole demo: it takes minutes, and CI has it anyway."""
    page = (REPOSITORY / "docs" / "install.md").read_text(encoding="utf-8")
    script = (REPOSITORY / "tools" / "check_wheel.sh").read_text(encoding="utf-8")
    steps = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    assert "```text\nsclcs demo --out demo\n```" in page
    assert '/bin/sclcs" demo --out demo\n' in script
    assert "step make wheel-check\n" in steps
