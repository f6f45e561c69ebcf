"""The sentences that open the page of results say what the result files say."""

import importlib.util
import re

import pytest
from test_code_blocks import REPOSITORY


@pytest.fixture(scope="module")
def tool():
    place = REPOSITORY / "tools" / "ten_sentences.py"
    spec = importlib.util.spec_from_file_location("ten_sentences", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_numbers_of_the_files(tool):
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.block() in page, "python tools/ten_sentences.py --write, and read them again"
    first = page.index("\n## ")
    assert page.index(tool.START) < page.index("\n## ", first + 1)  # they open the page


def test_each_has_a_number_a_worst_case_a_cohort_and_a_file(tool):
    assert len(tool.SENTENCES) == 10
    for make in tool.SENTENCES:
        text = make()
        assert re.search(r"\d", text)
        assert re.search(r"worst|up to|from kind to kind", text), text
        assert re.search(r"ABIDE|psychosis|[Ss]imulated", text), text
        for name in re.findall(r"`(results/[\w-]+)`", text) or ["no file is named"]:
            assert (REPOSITORY / name).is_dir(), text


def test_a_sentence_that_is_no_longer_true_is_not_written(tool, monkeypatch):
    whole = tool.read

    def turned(folder, name="summary.csv"):
        table = whole(folder, name)
        better = table["method"] == "sclcs"
        table.loc[better, "mean"] = 1.0
        return table

    monkeypatch.setattr(tool, "read", turned)
    with pytest.raises(SystemExit, match="No longer true: SCLCS is below random draws"):
        tool.papers_method()
