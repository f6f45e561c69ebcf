"""No measured number without the file or command that makes it, in the same section."""

import re

import pytest
from test_code_blocks import REPOSITORY

MEASURED = re.compile(
    r"\d ?(CPU (seconds|minutes|hours|s)\b|s per epoch|[GTM]B\b|ms\b)"
    r"|\d times (faster|less|as (long|much))"
    r"|(nDCG(@\d+)?|Kendall|regret)[^.|]{0,60} 0?\.\d"
    r"|\bp (is |of |below |= ?)0?\.\d"
    r"|(explains|explained|coverage|covers?) [^.|]{0,30}\d ?%"
)
MAKES_IT = re.compile(
    r"benchmarks/|results/|tools/|\bsclcs (run|plan|demo|compute|rank)\b|python -m paper|make bench"
    r"|\{include\} .*generated/"
)
#: About a method that was removed, measurements included; it names the commit that has both.
GONE = REPOSITORY / "docs" / "development" / "guided_core_sets.md"
PAGES = [
    REPOSITORY / "README.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted(set((REPOSITORY / "docs" / "development").glob("*.md")) - {GONE}),
    *sorted((REPOSITORY / "docs" / "tutorials").glob("*.md")),
    *sorted((REPOSITORY / "docs" / "operators").glob("*.md")),
    REPOSITORY / "docs" / "results" / "index.md",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_figure_has_a_file_that_makes_it(page):
    sections = re.split(r"(?m)^(?=#{1,3} )", page.read_text(encoding="utf-8"))
    bare = [
        f"{section.splitlines()[0]}: ...{found.group()}"
        for section in sections
        if (found := MEASURED.search(section)) and not MAKES_IT.search(section)
    ]
    assert not bare, "\n".join(bare)


#: Files of ours; a folder of CONN has the name of one.
NAMED = re.compile(r"\b(?!results/preprocessing)((?:results|benchmarks|tools)/[\w./-]*\w)(?![\w*])")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_files_that_make_figures_are_there(page):
    named = set(NAMED.findall(page.read_text(encoding="utf-8")))
    near = (REPOSITORY, REPOSITORY / "docs", page.parent)
    found = {
        name
        for name in named
        if any((folder / name).exists() or (folder / f"{name}.md").exists() for folder in near)
    }
    assert named - found == set()
