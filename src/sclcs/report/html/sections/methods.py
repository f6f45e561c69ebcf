"""A methods paragraph that can be pasted into a paper, and the literature it cites."""

from __future__ import annotations

from typing import Any

from sclcs.benchmark.criteria import find_criterion
from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.verdict import entry_name
from sclcs.report.html.citations import BEST_SET, FAMILY_WISE, PAPER, PYSPI, full_citations
from sclcs.report.html.formats import count, interval, number, percent, plural
from sclcs.report.html.parts import RunParts, catalogue_row
from sclcs.report.html.sections.answer import task_answer
from sclcs.report.html.sections.sureness import judge
from sclcs.report.html.sections.tracks import score_of
from sclcs.selection.registry import SELECTORS

__all__ = ["methods_text"]

_ENTRIES = {
    "offdiag": "off-diagonal entries",
    "upper": "entries above the diagonal",
    "sym_upper": "entries above the diagonal of the symmetrised matrices",
}


def methods_text(run: RunParts) -> tuple[str, list[str]]:
    """Write the paragraph; only what was really done is in it.

    Parameters
    ----------
    run : RunParts

    Returns
    -------
    text : str
    references : list of str
        In the order in which the text cites them.
    """
    rankings = [ranking for task in run.tasks if (ranking := run.ranking(task)) is not None]
    sentences = [_software(run, rankings), _cohort(run), _core(run)]
    references = [PAPER]
    if run.core is not None and run.core.method in SELECTORS:
        references += full_citations(SELECTORS[run.core.method].reference)
    if rankings:
        sentences += [_operators(rankings[0]), _scoring(rankings), _second_stage(run)]
        references.append(PYSPI)
        for ranking in rankings:
            references += full_citations(score_of(ranking).reference)
        if rankings[0].provenance.get("permutations"):
            references.append(FAMILY_WISE)
        if rankings[0].provenance.get("bootstrap", {}).get("draws"):
            references.append(BEST_SET)
    for task in run.tasks:
        sentence, reference = _winner(run, task)
        sentences.append(sentence)
        references += full_citations(reference)
    return " ".join(filter(None, sentences)), list(dict.fromkeys(references))


def _software(run: RunParts, rankings: list[Ranking]) -> str:
    version = rankings[0].provenance.get("versions", {}).get("sclcs", "") if rankings else ""
    return (
        f"Functional-connectivity operators were compared in two stages with sclcs"
        f"{' ' + version if version else ''} (Zhan et al. 2026; seed {run.config.seed})."
    )


def _cohort(run: RunParts) -> str:
    facts = run.check.get("cohort")
    if not facts:
        return ""
    used = int(run.check.get("samples", facts["samples"]))
    left_out = f" ({facts['samples'] - used} left out)" if used < facts["samples"] else ""
    tr = "" if facts.get("tr") is None else f" (TR {facts['tr']:g} s)"
    return (
        f"The cohort has {plural(used, 'sample')}{left_out} of "
        f"{plural(facts['subjects'], 'subject')}, each with {facts['regions']} regions and "
        f"{facts['timepoints']} time points{tr}."
    )


def _core(run: RunParts) -> str:
    core = run.core
    if core is None:
        return ""
    summary = SELECTORS[core.method].summary if core.method in SELECTORS else ""
    share = ""
    if run.check.get("samples"):
        share = f" ({percent(len(core) / run.check['samples'])} of the cohort)"
    return (
        f"A core-set of {plural(len(core), 'sample')}{share} was chosen with the method "
        f"'{core.method}'{_in_brackets(summary)}."
    )


def _in_brackets(summary: str) -> str:
    words = summary.rstrip(".")
    return f" ({words[0].lower()}{words[1:]})" if words else ""


def _operators(ranking: Ranking) -> str:
    amount = plural(len(ranking.table), "statistical pairwise interaction")
    scored = int(ranking.table["score"].notna().sum())
    lost = len(ranking.table) - scored
    without = f"; {count(lost)} of them gave no score" if lost else ""
    return (
        f"{amount} as defined by pyspi (Cliff et al. 2023) were computed on the core-set{without}."
    )


def _scoring(rankings: list[Ranking]) -> str:
    first = rankings[0]
    measure = first.provenance.get("measure", {})
    entries = _ENTRIES.get(measure.get("vectorize", ""), "entries")
    similarity = str(measure.get("similarity", "spearman")).capitalize()
    text = (
        f"Two samples were compared by the {similarity} correlation of the {entries} of their "
        "matrices; windows of a scan that share time points were "
        f"{'also' if _asked(first, 'overlapping') else 'never'} compared."
    )
    for score in dict.fromkeys(ranking.score for ranking in rankings):
        tasks = [ranking.task for ranking in rankings if ranking.score == score]
        found = find_criterion(score)
        text += f" Operators were scored for {', '.join(tasks)} by {found.label} ({found.formula})."
    return " ".join([text, *filter(None, [_covariates(first), _inference(first)])])


def _asked(ranking: Ranking, name: str) -> Any:  # noqa: ANN401
    return ranking.provenance.get("question", {}).get(name)


def _covariates(ranking: Ranking) -> str:
    names = _asked(ranking, "covariates")
    return f"Covariates were projected out: {', '.join(names)}." if names else ""


def _inference(ranking: Ranking) -> str:
    facts, parts = ranking.provenance, []
    if facts.get("permutations"):
        within = _asked(ranking, "exchangeable")
        where = f" within {within}" if within else ""
        parts.append(
            f"Whether there is an effect was tested by {count(facts['permutations'])} permutations"
            f"{where}, family-wise over operators (Westfall & Young 1993)."
        )
    bootstrap = facts.get("bootstrap", {})
    if bootstrap.get("draws"):
        parts.append(
            f"{percent(bootstrap['confidence'])} intervals and the set of operators that could be "
            f"the best (90\u00a0% confidence; Hsu 1984) come from {count(bootstrap['draws'])} "
            "redraws of subjects inside classes and sites."
        )
    return " ".join(parts)


def _second_stage(run: RunParts) -> str:
    confirmed = run.confirmed(run.tasks[0])
    if confirmed is None:
        return ""
    return (
        f"The {plural(len(confirmed), 'best operator')} were then computed on all samples and "
        "ranked there again."
    )


def _winner(run: RunParts, task: str) -> tuple[str, str]:
    found = task_answer(run, task)
    if found is None or found.lines.empty:
        return "", ""
    judged = judge(run, task, found.basis)
    best: Any = found.lines.iloc[0]
    facts = catalogue_row(str(best["spi"]))
    if found.basis.ranks_only:
        return f"For {task}: {judged.headline}", str(facts["reference"])
    where = "on the whole cohort" if found.everybody else "on the core-set (not yet confirmed)"
    ends = interval(best["low"], best["high"])
    sentence = (
        f"For {task}: {judged.headline} The highest score {where} is that of {entry_name(best)}: "
        f"{score_of(found.basis).label} {number(best['score'])}"
        f"{'' if ends == '–' else f' ({ends})'}."
    )
    return sentence, str(facts["reference"])
