"""``sclcs.run`` in a script and in a notebook."""

import re
import sys
import types
from html import escape

import pytest
from run_cohorts import SETTINGS, small_cohort

import sclcs
from sclcs._core import InputError, NotFoundError
from sclcs._core.console import progress, show_progress
from sclcs.runs import RunResult
from sclcs.stats import entry_name

pytestmark = pytest.mark.usefixtures("quick_plan")


TWO_STAGES = {"method": "pairs", "ratio": 0.5}


@pytest.mark.parametrize("way", [TWO_STAGES, {"budget": "100%"}], ids=["two stages", "budget"])
def test_options_of_a_ranking_reach_it(tmp_path, way):
    asked = {"similarity": "pearson", "vectorize": "upper", "max_nonfinite": 0.1}
    rules = {"pooled": True, "overlapping": True, "same_subject": True}
    more = {"spis": SETTINGS["spis"], "bootstrap": 20, "permutations": 50, "within": False}
    result = sclcs.run(
        small_cohort(), out=tmp_path / "RUN", task="diagnosis", **way, **asked, **rules, **more
    )
    for ranking in (result.rankings["diagnosis"], result.confirmed["diagnosis"]):
        assert ranking.provenance["measure"] == asked | {"max_constant": 0.01}
        question = ranking.provenance["question"]
        assert question["pooled"]
        assert question["overlapping"]
        assert not question["exclude_same_subject"]
        assert question["exchangeable"] is None


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run with everything said, and what it showed on stderr."""
    out = tmp_path_factory.mktemp("call") / "RUN"
    with pytest.MonkeyPatch.context() as patch:
        lines = []
        stream = types.SimpleNamespace(write=lines.append, flush=lambda: None, isatty=lambda: False)
        patch.setattr(sys, "stderr", stream)
        result = sclcs.run(small_cohort(), out=out, task="diagnosis", progress=True, **SETTINGS)
    return result, "".join(lines)


def test_progress_shows_stages_and_counts(finished):
    _, shown = finished
    assert re.search(r"\[1/\d\] ", shown)
    assert "Computing matrices: 54 done" in shown


def test_a_result_is_opened_by_its_path(finished):
    result, _ = finished
    again = RunResult.open(result.folder.path)
    assert again.best() == result.best()
    assert again.stages == []
    assert str(RunResult.open(str(result.folder.path))) == str(result)
    with pytest.raises(NotFoundError, match="no-such"):
        RunResult.open("no-such-folder")


def test_objects_show_themselves_in_a_notebook(finished):
    result, _ = finished
    page = result._repr_html_()
    assert str(result.report) in page
    first = result.confirmed["diagnosis"].groups.iloc[0]
    assert escape(entry_name(first)) in page
    assert entry_name(first) in repr(result)
    headline = result.answers()["diagnosis"][0]  # scores alone would say that something was found
    assert escape(headline) in page
    assert headline in repr(result)
    ranking = result.rankings["diagnosis"]
    assert ranking.groups["name"][0] in ranking._repr_html_()
    core = result.core_set
    assert core.sample_ids[0] in core._repr_html_()
    assert f"and {len(core) - 5} more" in core._repr_html_()
    cohort = small_cohort()
    assert "12" in cohort._repr_html_()
    assert cohort.sample_ids[0] in cohort._repr_html_()


def test_strings_from_data_are_escaped():
    cohort = small_cohort()
    cohort.samples["site"] = "<script>alert(1)</script>"
    assert "<script>" not in cohort._repr_html_()
    assert "&lt;script&gt;" in cohort._repr_html_()


def test_progress_in_a_notebook_is_one_line_that_changes(monkeypatch):
    pages = []

    class Handle:
        def update(self, shown):
            pages.append(shown._repr_html_())

    def display(shown, display_id):
        assert display_id
        pages.append(shown._repr_html_())
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    with show_progress(), progress("Doing <it>", 3) as ticker:
        ticker.advance(2)
    assert '<progress value="0" max="3">' in pages[0]
    assert '<progress value="2" max="3">' in pages[-1]
    assert "&lt;it&gt;" in pages[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ratoi": 0.1}, "Did you mean 'ratio'"),
        ({"ratio": "much"}, "ratio"),
        ({"out": 3}, "`out` must be a path"),
        ({"task": 7}, "task"),
        ({"spis": "kendalltao"}, "kendalltau"),
        ({"parameters": "windows=3"}, "parameters"),
        ({"on": 4}, "on"),
        ({"on": "locale:4"}, "locale"),
    ],
)
def test_mistakes_are_sentences(tmp_path, settings, message):
    with pytest.raises(InputError, match=message):
        sclcs.run(small_cohort(), **({"out": tmp_path / "RUN"} | settings))
    with pytest.raises(InputError, match="`cohort` must be a Cohort or a path"):
        sclcs.run(3, out=tmp_path / "RUN")
