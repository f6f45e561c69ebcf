"""Every code block of the README and the documentation runs.

``python`` blocks of a page share one namespace; ``bash`` blocks run line by line in a shell
with this environment's ``sclcs``, loaded once for all of them (``fork_server``). A page's example
files are made by ``example_data``. Blocks marked ``text`` are output, commands that change the
machine (``make``, ``git clone``), and the demo, which `.ci/run` tries with the wheel.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from example_data import prepare
from fork_server import started

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "docs/development", "docs/tutorials", "docs/operators", "docs/results")
DOCS = [page for folder in FOLDERS for page in REPOSITORY.glob(f"{folder}/*.md")]
PAGES = ["README.md", *sorted(str(page.relative_to(REPOSITORY)) for page in DOCS)]
FENCE = re.compile(r"^```(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KNOWN = {"python", "bash", "text", "{eval-rst}", "{include}", "{image}", "{toctree}", "{math}"}


def blocks(page):
    return FENCE.findall((REPOSITORY / page).read_text(encoding="utf-8"))


def runnable(page):
    return [block for block in blocks(page) if block[0] in {"python", "bash"}]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page):
    assert {kind for kind, _ in blocks(page)} <= KNOWN
    fences = (REPOSITORY / page).read_text(encoding="utf-8").count("\n```")
    assert fences >= 2 * len(blocks(page)) - 1


def page_parameter(page):
    # The README is what a newcomer copies first; the other pages take minutes together.
    return pytest.param(page, marks=() if page == "README.md" else pytest.mark.slow)


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server")) as place:
        yield place


@pytest.mark.parametrize("page", [page_parameter(page) for page in PAGES if runnable(page)])
def test_the_page_runs_from_top_to_bottom(page, commands, tmp_path, monkeypatch):
    prepare(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    places = [str(commands), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(places))
    paths = [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]  # paper/ is run from a checkout
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    namespace = {"__name__": "__main__"}
    for kind, text in runnable(page):
        if kind == "python":
            exec(compile(text, page, "exec"), namespace)  # noqa: S102 (our own documentation)
        else:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", text],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{page}:\n{text}\n{done.stdout}\n{done.stderr}"


def test_links_between_pages_lead_somewhere(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "docs" / "_ext")
    from generated_pages import write_pages

    write_pages(REPOSITORY / "docs")
    link = re.compile(r"\]\(([^)#:]+?)(?:#[^)]*)?\)")
    for page in PAGES:
        folder = (REPOSITORY / page).parent
        for target in link.findall((REPOSITORY / page).read_text(encoding="utf-8")):
            assert (folder / target).exists(), f"{page} links to {target}"
