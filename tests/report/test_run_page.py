"""The page of a run: what it holds, that it copes with missing parts, that names stay text."""

import json
import re
import shutil
from html.parser import HTMLParser
from unittest.mock import Mock, patch

import numpy as np
import pandas as pd
import pytest
from run_example import IMAGE, OPERATORS, REGION, SITE, TITLE, make_run

from sclcs._core.provenance import signed
from sclcs.coresets.encoder import EncoderSettings, TrainedEncoder
from sclcs.report.cohort_sections import class_means, composition_section
from sclcs.report.costs import run_costs
from sclcs.report.drawing import number
from sclcs.report.methods import methods_text
from sclcs.report.pages import run_report
from sclcs.report.parts import RunParts
from sclcs.run_folder import RunFolder
from sclcs.stats import Ranking
from sclcs.stats.verdict import entry_name

ALL = ["answer", "ranking", "card", "agreement", "core-set", "connectivity", "costs", "losses"]
ALL += ["methods"]


class Page(HTMLParser):
    """Elements, attributes and visible text of a page."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.words, self.data = [], [], []
        self._inside = None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in {"script", "style"}:
            self._inside = dict(attributes).get("type", tag)

    def handle_endtag(self, tag):
        if tag in {"script", "style"}:
            self._inside = None

    def handle_data(self, text):
        if self._inside == "application/json":
            self.data.append(json.loads(text))
        elif self._inside is None:
            self.words.append(text)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))

    def sections(self):
        return [found["id"] for tag, found in self.elements if tag == "section"]

    def tags(self, name):
        return [found for tag, found in self.elements if tag == name]


@pytest.fixture(scope="module")
def html(finished_run):
    return run_report(finished_run).get_standalone()


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


@pytest.fixture
def copied_run(finished_run, tmp_path):
    shutil.copytree(finished_run.path, tmp_path / "RUN")
    return RunFolder.open(tmp_path / "RUN")


def test_all_sections_are_there_and_linked(page):
    assert page.sections() == ALL
    links = [found["href"] for found in page.tags("a")]
    assert links == ["#content", *(f"#{name}" for name in ALL)]
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links} <= set(ids)


def test_the_page_refers_to_nothing_outside(html, page):
    for _, found in page.elements:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert found.get(name, "#").startswith(("#", "data:")), found
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src 'none'" in html
    assert [found for found in page.tags("script") if "src" in found] == []


def test_names_from_data_stay_text(html, page):
    assert page.tags("img") == []
    assert page.tags("b") == []
    assert all(not name.startswith("on") for _, found in page.elements for name in found)
    own = [found for found in page.tags("script") if found.get("type") != "application/json"]
    assert len(own) == 1
    for name in (TITLE, SITE, IMAGE, "scan <img src=x onerror=alert(1)>"):
        assert name in page.text, name
    assert page.data
    assert all(matrix["regions"][0] == REGION for matrix in page.data)
    assert html.count("</script>") == 1 + len(page.data)


def test_the_card_shows_every_operator_in_pictures_and_in_a_table(finished_run, page):
    card = finished_run.card("diagnosis")
    assert card.names == ["reliability", "motion", "site"]
    for sentence in card.sentences:
        assert sentence in page.text
    tips = [found.get("data-tip", "").replace("−", "-") for found in page.tags("circle")]
    for row in card.table.to_dict(orient="records"):
        target, motion = (number(row[name]).replace("−", "-") for name in ("target", "motion"))
        shown = [tip for tip in tips if f"({row['spi']}): diagnosis {target}" in tip]
        assert len(shown) == len(card.names), row["spi"]  # one picture per criterion
        assert all(f"motion {motion}" in tip for tip in shown)
        assert all(("on the front" in tip) == row["front"] for tip in shown)
    assert "lower is better" in page.text
    assert "higher is better" in page.text


def test_the_same_folder_gives_the_same_page(finished_run, html, copied_run):
    assert run_report(finished_run.path).get_standalone() == html
    assert run_report(copied_run).get_standalone() == html


def test_the_answer_names_the_best_on_everybody(finished_run, page):
    for task in ("subject", "diagnosis"):
        truth = finished_run.truth(task)
        best = truth.best_set.iloc[0]
        assert f"Task: {task}" in page.text
        assert best["name"] in page.text
        assert best["spi"] in page.text
        assert number(best["score"]) in page.text
        assert truth.answer[0] in page.text
    assert "Checked: two stages alone would have" in page.text
    costs = finished_run.confirmation()["costs"]
    assert run_costs(RunParts(finished_run)).everything == costs["everything_measured"]


def test_every_operator_is_a_row_and_equivalents_are_one(finished_run, page, html):
    tables = [found["id"] for found in page.tags("table") if "sortable" in found.get("class", "")]
    assert tables == ["ranking-table-1", "ranking-table-2", "card-table-1", "card-table-2"]
    rows = [found for found in page.tags("tr") if "data-family" in found]
    groups = [finished_run.truth(task).groups for task in ("subject", "diagnosis")]
    assert all(len(found) < len(OPERATORS) for found in groups)
    assert all(sum(1 + len(also) for also in found["also"]) == len(OPERATORS) for found in groups)
    assert len(rows) == sum(len(found) for found in groups)
    assert re.search(r"<code>cov_EmpiricalCovariance</code> <small[^>]*>and \d equivalents?<", html)
    assert re.search(r">= [^<]*cov_LedoitWolf", html)  # the search finds it all the same
    assert {row["data-directed"] for row in rows} == {"yes", "no"}
    assert all(float(row["data-cost"]) >= 0 for row in rows)


def test_every_control_has_a_name(html, page):
    labelled = re.findall(r"<label>[^<]+<(?:input|select)", html)
    assert len(labelled) == len(page.tags("input")) + len(page.tags("select"))
    assert all(found["type"] in {"button", "reset"} for found in page.tags("button"))
    assert all(found.get("aria-label") for found in page.tags("canvas"))


def test_a_run_in_progress_says_what_is_missing(tmp_path):
    told = {}
    for stage in ("check", "select", "compute-core", "rank", "compute-top"):
        run = make_run(tmp_path / "RUN", until=stage, full_benchmark=False)
        told[stage] = Page(run_report(run).get_standalone())
    assert told["check"].sections() == ["answer", "losses", "methods"]
    assert "the plan, the core-set," in told["check"].text
    assert "Not ranked yet" in told["check"].text
    assert told["select"].sections() == ["answer", "core-set", "losses", "methods"]
    assert "costs" in told["compute-core"].sections()
    assert "ranking" in told["rank"].sections()
    assert "Not confirmed on the whole cohort yet" in told["rank"].text
    assert "connectivity" in told["compute-top"].sections()
    assert "Still missing: the confirmation for subject" in told["compute-top"].text


def test_a_stage_that_stopped_says_why(copied_run):
    state = json.loads(copied_run.state_file.read_text())
    state["stages"]["rank"]["problem"] = "The disk is full <b>"
    copied_run.state_file.write_text(json.dumps(signed(state)))
    assert (
        "Stage rank stopped: The disk is full <b>"
        in Page(run_report(copied_run).get_standalone()).text
    )


def test_a_damaged_part_does_not_take_the_others_with_it(copied_run):
    (copied_run.path / "core.json").write_text("{ damaged")
    page = Page(run_report(copied_run).get_standalone())
    assert page.sections() == ALL
    assert page.text.count("This part could not be made") >= 1
    assert "Ranking of all operators" in page.text
    shutil.rmtree(copied_run.whole_store / "matrices")
    assert "connectivity" in Page(run_report(copied_run).get_standalone()).sections()


def test_without_the_cohort_the_rest_is_there(copied_run):
    shutil.rmtree(copied_run.path / "cohort.zarr")
    assert Page(run_report(copied_run).get_standalone()).sections() == ALL
    shutil.rmtree(copied_run.whole_store)
    page = Page(run_report(copied_run).get_standalone())
    assert "cannot be compared with it" in page.text
    assert "connectivity" not in page.sections()


def test_the_core_set_is_compared_with_the_cohort(finished_run):
    facts = composition_section(RunParts(finished_run)).facts
    assert [column["name"] for column in facts["columns"]] == ["site", "diagnosis", "sex"]
    assert {row["name"] for row in facts["numbers"]} == {"age", "motion"}
    chosen = finished_run.core_set()
    assert sum(row["windows"] * row["core"] for row in facts["windows"]) == len(chosen)
    assert sum(row["cohort"] for row in facts["windows"]) == 12
    assert sum(row["core"] for row in facts["windows"]) == 12


def test_operators_are_named_alike_in_every_section(finished_run):
    page = run_report(finished_run).get_standalone()
    assert "Pearson correlation and 2 equivalents</span>" in page  # the card
    assert "tied)" not in page
    assert "Pearson correlation · among the first by score for" in page
    assert page.count("Differences of means are a description") == 1
    persons = Mock(return_value=[])
    with patch("sclcs.report.cohort_sections._two_classes", persons):
        assert "Differences of means" not in run_report(finished_run).get_standalone()


def test_means_of_matrices_are_those_of_numpy(finished_run):
    store = finished_run.whole_matrices
    spi = store.operators[0]
    everything = store.matrices(spi).astype(float)
    labels = store.samples["diagnosis"]
    mean, by_class = class_means(store, spi, {"diagnosis": labels})
    np.testing.assert_allclose(mean, everything.mean(axis=0), equal_nan=True)
    for name in ("HC", "MDD"):
        expected = everything[(labels == name).to_numpy()].mean(axis=0)
        np.testing.assert_allclose(by_class["diagnosis"][name], expected, equal_nan=True)


def test_the_methods_paragraph_says_what_was_done(finished_run, tmp_path):
    text, references = methods_text(RunParts(finished_run))
    assert "36 samples of 12 subjects, each with 6 regions and 40 time points (TR 2 s)" in text
    assert "A core-set of 14 samples (39\u00a0% of the cohort)" in text
    assert f"{len(OPERATORS)} statistical pairwise interactions" in text
    assert "tested by 1,000 permutations within site, family-wise over operators" in text
    assert "95\u00a0% intervals and the set of operators that could be the best" in text
    assert "scored for subject by Cohen's d" in text
    assert "scored for diagnosis by explained share" in text
    assert "d² = (W̄_a + W̄_b" in text  # what the score is for labels, and not for numbers
    assert "f² / (1 + f²)" not in text
    best = finished_run.truth("diagnosis").groups.iloc[0]
    assert f"The highest score on the whole cohort is that of {entry_name(best)}" in text
    assert "Zhan L, Li Z, Huang J, Jia T (2026)" in references[0]
    assert any("10.1038/s43588-023-00519-x" in entry for entry in references)
    assert "two-stage sampling" not in references
    assert "Whether classes scatter alike was tested by the same permutations" in text
    assert any("homogeneity of multivariate dispersions" in entry for entry in references)
    assert "Winkler" not in " ".join([text, *references])  # there are no covariates
    early = make_run(tmp_path / "RUN", until="check")
    text, references = methods_text(RunParts(early))
    assert "core-set" not in text
    assert len(references) == 1


@pytest.mark.parametrize("estimated", [0, 2])
def test_the_methods_of_a_budgeted_run_have_no_two_stages(finished_run, estimated):
    truth = finished_run.truth("diagnosis")
    table = truth.table.copy()
    table.loc[table.index[:estimated], "source"] = "estimated"
    run = RunParts(finished_run)
    whole = Ranking(table, truth.task, truth.score, None, truth.provenance, truth.findings)
    with patch.multiple(RunParts, budgeted=True, core=None, ranking=Mock(return_value=whole)):
        text, _ = methods_text(run)
    assert "two stages" not in text
    assert "core-set" not in text
    expected = (
        f"{len(table) - 2} of them computed on all samples and 2 estimated from operators"
        if estimated
        else "were computed on all samples"
    )
    assert expected in text


def test_the_methods_say_how_the_target_was_permuted_beside_covariates(finished_run):
    truth = finished_run.truth("diagnosis")
    question = {**truth.provenance["question"], "covariates": ["mean_fd"]}
    facts = {**truth.provenance, "question": question}
    adjusted = Ranking(truth.table, truth.task, truth.score, None, facts, truth.findings)
    with patch.multiple(RunParts, tasks=("diagnosis",), ranking=Mock(return_value=adjusted)):
        text, references = methods_text(RunParts(finished_run))
    assert "what the covariates leave of the target was permuted (Winkler et al. 2014)." in text
    assert any("Permutation inference for the general linear" in entry for entry in references)


def asked_otherwise(run, score="share", **question):
    """The ranking of the diagnosis as if something else had been asked."""
    truth = run.truth("diagnosis")
    facts = {**truth.provenance, "question": {**truth.provenance["question"], **question}}
    return Ranking(truth.table, truth.task, score, None, facts, truth.findings)


def written(run, ranking):
    with patch.multiple(RunParts, tasks=("diagnosis",), ranking=Mock(return_value=ranking)):
        return methods_text(RunParts(run))


def test_the_methods_count_who_was_analysed(finished_run):
    text, _ = written(finished_run, asked_otherwise(finished_run))
    assert "were analysed" not in text  # everybody was
    fewer = asked_otherwise(finished_run, subjects=10, covariates=["mean_fd"])
    text, _ = written(finished_run, fewer)
    assert (
        "For diagnosis, 10 of these subjects were analysed; of the others diagnosis or a covariate "
        "is unknown." in text
    )
    assert "The samples of a subject were averaged, and subjects compared." in text
    entries = int(fewer.groups["score"].notna().sum())
    assert f"alike count as one, which leaves {entries}" in text
    assert "(classes and groups of site in proportion)" in text


def test_the_methods_tell_the_effect_and_what_a_score_contains_besides(finished_run):
    truth = finished_run.truth("diagnosis")
    effect = {"p": 0.001, "operators": 2, "exchangeable": "site", "between": 0.5}
    truth.findings["effect"] = effect
    with patch.multiple(RunParts, tasks=("diagnosis",), truth=Mock(return_value=truth)):
        text, _ = methods_text(RunParts(finished_run))
    assert "There is an effect of diagnosis (family-wise p = 0.001 over" in text
    assert text.endswith(
        "diagnosis differs between groups of site, which explain 50% of it. Scores contain that "
        "part; p does not."
    )


def test_the_methods_say_how_predictions_were_made(finished_run):
    text, references = written(
        finished_run,
        asked_otherwise(
            finished_run, "predict", kind="number", covariates=["age"], harmonise="site"
        ),
    )
    assert "10-fold cross-validation over subjects, repeated 10 times." in text
    assert "what the covariates leave of the target was permuted (Winkler et al. 2014)." in text
    assert "harmonised across site by ComBat (Johnson et al. 2007; Fortin et al. 2018)" in text
    assert "learned from the training subjects of every fold" in text
    assert any(entry.startswith("Johnson WE") for entry in references)
    assert "(groups of site in proportion)" in text  # a number has no classes
    folds = {"folds": 10, "repeats": 10, "leave_out": "site"}
    other = asked_otherwise(finished_run, "predict", folds=folds, within="scanner")
    text, references = written(finished_run, other)
    assert "Predictions left out one group of site at a time." in text
    assert "Subjects were compared inside groups of scanner only." in text
    assert not any(entry.startswith("Johnson WE") for entry in references)


def trained(run, snapshots=None):
    ids = run.cohort().sample_ids
    epochs = np.arange(1, 6)
    history = pd.DataFrame({"epoch": epochs, "loss": 1.0 / epochs, "perturbation": 0.1 / epochs})
    return TrainedEncoder(
        sample_ids=ids,
        scores=np.linspace(0.01, 0.5, len(ids)),
        history=history,
        settings=EncoderSettings(epochs=5),
        seed=7,
        fingerprint=run.cohort().fingerprint,
        snapshots=snapshots or {},
        info={"seconds": 75.0},
    )


def test_a_trained_encoder_has_its_section(copied_run):
    trained(copied_run).save(copied_run.encoder_folder)
    page = Page(run_report(copied_run).get_standalone())
    assert page.sections() == [*ALL[:5], "training", *ALL[5:]]
    assert "trained for 5 epochs (seed 7, 1.2 min)" in page.text
    assert "0.2 at the end" in page.text
    assert "kept no weights" in page.text


@pytest.mark.slow
def test_attention_maps_are_drawn_from_the_kept_weights(copied_run):
    pytest.importorskip("torch")
    from sclcs.coresets.encoder import train_encoder

    settings = EncoderSettings(epochs=2, heads=2, dim=8)
    train_encoder(copied_run.cohort(), settings, seed=0).save(copied_run.encoder_folder)
    page = Page(run_report(copied_run).get_standalone())
    assert "Attention maps: steadiest sample" in page.text
    maps = [found for found in page.tags("canvas") if "Attention" in found["aria-label"]]
    assert len(maps) >= 4
