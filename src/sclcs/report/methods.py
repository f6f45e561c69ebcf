"""Full citations of what a methods paragraph names in short."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sclcs.coresets import SELECTORS
from sclcs.report.answers import judge, task_answer
from sclcs.report.drawing import count, interval, label_of, number, percent, plural, score_of
from sclcs.report.parts import RunParts, catalogue_row
from sclcs.stats import Ranking, between_sentence, entry_name, find_criterion

__all__ = [
    "ADJUSTED_PERMUTATION",
    "BEST_SET",
    "COMBAT",
    "FAMILY_WISE",
    "PAPER",
    "PYSPI",
    "SCATTER",
    "full_citations",
    "methods_text",
]


PAPER = (
    "Zhan L, Li Z, Huang J, Jia T (2026). Accelerating benchmarking of functional connectivity "
    "modeling via structure-aware core-set selection. International Conference on Learning "
    "Representations (ICLR)."
)
PYSPI = (
    "Cliff OM, Bryant AG, Lizier JT, Tsuchiya N, Fulcher BD (2023). Unifying pairwise interactions "
    "in complex dynamics. Nature Computational Science 3:883-893. "
    "https://doi.org/10.1038/s43588-023-00519-x"
)
FAMILY_WISE = "Westfall PH, Young SS (1993). Resampling-Based Multiple Testing. Wiley, New York."
BEST_SET = (
    "Hsu JC (1984). Constrained simultaneous confidence intervals for multiple comparisons with "
    "the best. Annals of Statistics 12:1136-1144."
)
ADJUSTED_PERMUTATION = (
    "Winkler AM, Ridgway GR, Webster MA, Smith SM, Nichols TE (2014). Permutation inference for "
    "the general linear model. NeuroImage 92:381-397."
)
COMBAT = (
    (
        "Johnson WE, Li C, Rabinovic A (2007). Adjusting batch effects in microarray expression "
        "data using empirical Bayes methods. Biostatistics 8:118-127."
    ),
    (
        "Fortin J-P, Cullen N, Sheline YI, et al. (2018). Harmonization of cortical thickness "
        "measurements across scanners and sites. NeuroImage 167:104-120."
    ),
)
SCATTER = (
    "Anderson MJ (2006). Distance-based tests for homogeneity of multivariate dispersions. "
    "Biometrics 62:245-253."
)
_FULL = MappingProxyType(
    {
        "Cohen 1988": "Cohen J (1988). Statistical Power Analysis for the Behavioral Sciences, "
        "2nd edition. Lawrence Erlbaum, Hillsdale.",
        "Liu et al. 2025": "Liu Z-Q, Luppi AI, Hansen JY, Tian YE, Zalesky A, Yeo BTT, Fulcher BD, "
        "Misic B (2025). Benchmarking methods for mapping functional connectivity in the brain. "
        "Nature Methods 22:1593-1602. https://doi.org/10.1038/s41592-025-02704-4",
        "Amico & Goñi 2018": "Amico E, Goñi J (2018). The quest for identifiability in human "
        "functional connectomes. Scientific Reports 8:8254.",
        "Mann & Whitney 1947": "Mann HB, Whitney DR (1947). On a test of whether one of two random "
        "variables is stochastically larger than the other. Annals of Mathematical Statistics "
        "18:50-60.",
        "Kriegeskorte et al. 2008": "Kriegeskorte N, Mur M, Bandettini P (2008). Representational "
        "similarity analysis: connecting the branches of systems neuroscience. Frontiers in "
        "Systems Neuroscience 2:4.",
        "Bridgeford et al. 2021": "Bridgeford EW, Wang S, Wang Z, et al. (2021). Eliminating "
        "accidental deviations to minimize generalization error and maximize replicability. "
        "PLoS Computational Biology 17:e1009279.",
        "Anderson 2001": "Anderson MJ (2001). A new method for non-parametric multivariate "
        "analysis of variance. Austral Ecology 26:32-46.",
        "2017 (PERMANOVA)": "Anderson MJ, Walsh DCI, Clarke KR, Gorley RN, Guerra-Castro E (2017). "
        "Some solutions to the multivariate Behrens-Fisher problem for dissimilarity-based "
        "analyses. Australian & New Zealand Journal of Statistics 59:57-79.",
        "Shehzad et al. 2014": "Shehzad Z, Kelly C, Reiss PT, et al. (2014). A multivariate "
        "distance-based analytic framework for connectome-wide association studies. NeuroImage "
        "93:74-94.",
        "Gretton et al. 2012": "Gretton A, Borgwardt KM, Rasch MJ, Schölkopf B, Smola A (2012). A "
        "kernel two-sample test. Journal of Machine Learning Research 13:723-773.",
        "Shou et al. 2013": "Shou H, Eloyan A, Lee S, et al. (2013). Quantifying the reliability "
        "of image replication studies: the image intraclass correlation coefficient (I2C2). "
        "Cognitive, Affective, & Behavioral Neuroscience 13:714-724.",
        "Li et al. 2019": "Li J, Kong R, Liégeois R, et al. (2019). Global signal regression "
        "strengthens association between resting-state functional connectivity and behavior. "
        "NeuroImage 196:126-141.",
        "He et al. 2020": "He T, Kong R, Holmes AJ, et al. (2020). Deep neural networks and kernel "
        "regression achieve comparable accuracies for functional connectivity prediction of "
        "behavior and demographics. NeuroImage 206:116276.",
        "Poldrack et al. 2020": "Poldrack RA, Huckins G, Varoquaux G (2020). Establishment of best "
        "practices for evidence for prediction: a review. JAMA Psychiatry 77:534-540.",
        "Finn et al. 2015": "Finn ES, Shen X, Scheinost D, et al. (2015). Functional connectome "
        "fingerprinting: identifying individuals using patterns of brain connectivity. Nature "
        "Neuroscience 18:1664-1671.",
    }
)
_YEAR = re.compile(r"\b(18|19|20)\d\d\b")


def full_citations(short: str) -> list[str]:
    """Return the literature behind a reference of a registry or of the catalogue.

    Parameters
    ----------
    short : str
        For example ``"Cohen 1988; Liu et al. 2025 (who take the absolute value)"``.

    Returns
    -------
    list of str
        Full citations of the names that are known here; else the text itself, if it names a
        year; nothing for words that are no literature.
    """
    found = [full for name, full in _FULL.items() if name in short]
    if found:
        return found
    return [short] if _YEAR.search(short) and "ICLR 2026" not in short else []


_ENTRIES = {
    "offdiag": "off-diagonal entries",
    "upper": "entries above the diagonal",
    "sym_upper": "entries above the diagonal of the symmetrised matrices",
}
#: How definitions of scores begin what they are for one kind of target only.
_OF_KIND = {
    "classes": ("classes: ", "labels: "),
    "number": ("numbers: ",),
    "subject": ("subject: ",),
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
        sentences += [_analysed(run, ranking) for ranking in rankings]
        sentences += [_operators(run, rankings[0]), _scoring(rankings), _second_stage(run)]
        references.append(PYSPI)
        for ranking in rankings:
            references += full_citations(score_of(ranking).reference)
        references += COMBAT if _asked(rankings[0], "harmonise") else ()
        references += _tests_cited(rankings)
        if rankings[0].provenance.get("bootstrap", {}).get("draws"):
            references.append(BEST_SET)
    for task in run.tasks:
        sentence, reference = _winner(run, task)
        sentences.append(sentence)
        references += full_citations(reference)
    return " ".join(filter(None, sentences)), list(dict.fromkeys(references))


def _tests_cited(rankings: list[Ranking]) -> list[str]:
    """Return the literature of the tests that were made."""
    if not rankings[0].provenance.get("permutations"):
        return []
    cited = [FAMILY_WISE]
    if _adjusted(rankings[0]):
        cited.append(ADJUSTED_PERMUTATION)
    if any("scatter" in ranking.findings for ranking in rankings):
        cited.append(SCATTER)
    return cited


def _software(run: RunParts, rankings: list[Ranking]) -> str:
    version = rankings[0].provenance.get("versions", {}).get("sclcs", "") if rankings else ""
    how = "" if run.budgeted else " in two stages"
    return (
        f"Functional-connectivity operators were compared{how} with sclcs"
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
        f"{facts['timepoints']} time points{tr}.{_made(facts)}"
    )


def _made(facts: Mapping[str, Any]) -> str:
    """Say how files became the cohort: atlas, confounds, filters, cuts, exclusions."""
    return f" It was made of {facts['preparation']}" if facts.get("preparation") else ""


def _analysed(run: RunParts, ranking: Ranking) -> str:
    """Say how many subjects a task has, where that is not everybody."""
    everybody = (run.check.get("cohort") or {}).get("subjects")
    used = _asked(ranking, "subjects")
    if ranking.coreset is not None or everybody is None or used is None or used >= everybody:
        return ""
    why = f"{ranking.task}{' or a covariate' if _asked(ranking, 'covariates') else ''} is unknown"
    if _asked(ranking, "repeated"):
        why += ", or they were seen under one condition only"
    return (
        f"For {ranking.task}, {count(used)} of these subjects were analysed; of the others {why}."
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


def _operators(run: RunParts, ranking: Ranking) -> str:
    amount = plural(len(ranking.table), "statistical pairwise interaction")
    scored = int(ranking.table["score"].notna().sum())
    lost = len(ranking.table) - scored
    without = f"; {count(lost)} of them gave no score" if lost else ""
    entries = int(ranking.groups["score"].notna().sum())
    alike = ""
    if entries < scored:
        alike = (
            f"; those that order the connections of every sample alike count as one, which leaves "
            f"{count(entries)}"
        )
    where = _computed_where(ranking) if run.budgeted else "computed on the core-set"
    return f"{amount} as defined by pyspi (Cliff et al. 2023) were {where}{without}{alike}."


def _computed_where(ranking: Ranking) -> str:
    """Say how many operators were computed on everybody, and how many estimated."""
    estimated = int((ranking.table["source"] == "estimated").sum())
    if not estimated:
        return "computed on all samples"
    return (
        f"compared, {count(len(ranking.table) - estimated)} of them computed on all samples and "
        f"{count(estimated)} estimated from operators that measure alike"
    )


def _scoring(rankings: list[Ranking]) -> str:
    first = rankings[0]
    measure = first.provenance.get("measure", {})
    entries = _ENTRIES.get(measure.get("vectorize", ""), "entries")
    similarity = str(measure.get("similarity", "spearman")).capitalize()
    text = (
        f"Two samples were compared by the {similarity} correlation of the {entries} of their "
        "matrices; windows of a scan that share time points were "
        f"{'also' if _asked(first, 'overlapping') else 'never'} compared.{_averaged(rankings)}"
    )
    for score in dict.fromkeys(ranking.score for ranking in rankings):
        asked = [ranking for ranking in rankings if ranking.score == score]
        tasks = ", ".join(ranking.task for ranking in asked)
        formula = _formula(score, {str(_asked(ranking, "kind")) for ranking in asked})
        label = find_criterion(score).label
        text += f" Operators were scored for {tasks} by {label} ({formula})."
    more = [_folds(rankings), _covariates(first), _groups(first), _inference(first)]
    more += [_scatter(rankings), _worth(first)]
    return " ".join([text, *filter(None, more)])


def _formula(score: str, kinds: set[str]) -> str:
    """Return the definition of a score without what it is for targets of another kind."""
    others = tuple(
        prefix for kind, prefixes in _OF_KIND.items() if kind not in kinds for prefix in prefixes
    )
    parts = find_criterion(score).formula.split("; ")
    return "; ".join(part for part in parts if not part.startswith(others or ("\0",)))


def _asked(ranking: Ranking, name: str) -> Any:  # noqa: ANN401
    return ranking.provenance.get("question", {}).get(name)


def _covariates(ranking: Ranking) -> str:
    names = _asked(ranking, "covariates")
    held = _asked(ranking, "columns") or {}
    told = [f"{name} ({held[name]})" if name in held else str(name) for name in names or ()]
    return f"Covariates were projected out: {', '.join(told)}." if told else ""


def _averaged(rankings: list[Ranking]) -> str:
    """Say that subjects are compared, by scores that do not compare pairs of samples."""
    asked = [ranking for ranking in rankings if _asked(ranking, "kind") != "subject"]
    if not any(not score_of(ranking).of_pairs for ranking in asked):
        return ""
    if any(_asked(ranking, "repeated") for ranking in asked):
        return " Subjects were compared with themselves: their means were taken out."
    return " The samples of a subject were averaged, and subjects compared."


def _folds(rankings: list[Ranking]) -> str:
    """Say how subjects were divided for predictions."""
    rules = next((_asked(ranking, "folds") for ranking in rankings if _learns(ranking)), None)
    if not rules:
        return ""
    if rules["leave_out"]:
        return f"Predictions left out one group of {rules['leave_out']} at a time."
    return (
        f"Predictions come from {rules['folds']}-fold cross-validation over subjects, repeated "
        f"{plural(rules['repeats'], 'time')}."
    )


def _groups(ranking: Ranking) -> str:
    """Say what was done about sites besides covariates."""
    within, harmonise, parts = _asked(ranking, "within"), _asked(ranking, "harmonise"), []
    if within:
        parts.append(f"Subjects were compared inside groups of {within} only.")
    if harmonise:
        learned = "the training subjects of every fold" if _learns(ranking) else "all subjects"
        parts.append(
            f"Connections were harmonised across {harmonise} by ComBat (Johnson et al. 2007; "
            f"Fortin et al. 2018), learned from {learned} without sight of the target."
        )
    return " ".join(parts)


def _learns(ranking: Ranking) -> bool:
    return score_of(ranking).predictions is not None


def _worth(ranking: Ranking) -> str:
    """Say where the worth on new subjects comes from."""
    if "worth" not in ranking.findings:
        return ""
    how = "choosing and training it" if _learns(ranking) else "choosing it"
    return (
        f"What the choice of an operator is worth on new subjects was estimated by {how} on one "
        "half of the subjects and scoring it on the other."
    )


def _inference(ranking: Ranking) -> str:
    facts, parts = ranking.provenance, []
    if facts.get("permutations"):
        within = "subjects" if _asked(ranking, "repeated") else _asked(ranking, "exchangeable")
        where = f" within {within}" if within else ""
        parts.append(
            f"Whether there is an effect was tested by {count(facts['permutations'])} permutations"
            f"{where}, family-wise over operators (Westfall & Young 1993)"
            f"{_adjusted(ranking)}."
        )
    bootstrap = facts.get("bootstrap", {})
    if bootstrap.get("draws"):
        parts.append(
            f"{percent(bootstrap['confidence'])} intervals and the set of operators that could be "
            f"the best (90\u00a0% confidence; Hsu 1984) come from {count(bootstrap['draws'])} "
            "joint draws of all scores, whose covariance random halves of the subjects gave"
            f"{_in_proportion(ranking)}."
        )
    return " ".join(parts)


def _in_proportion(ranking: Ranking) -> str:
    """Name what both halves have the same share of."""
    label = _asked(ranking, "kind") == "classes" and not _asked(ranking, "repeated")
    kept = ["classes"] if label else []
    kept += [f"groups of {_asked(ranking, 'exchangeable')}"] * bool(_asked(ranking, "exchangeable"))
    return f" ({' and '.join(kept)} in proportion)" if kept else ""


def _adjusted(ranking: Ranking) -> str:
    """Say how a target was permuted beside covariates; a user's own criterion permutes it plain."""
    criterion = score_of(ranking)
    own = criterion.statistics is not None and criterion.predictions is None
    if not _asked(ranking, "covariates") or own or _asked(ranking, "kind") == "subject":
        return ""
    return "; what the covariates leave of the target was permuted (Winkler et al. 2014)"


def _scatter(rankings: list[Ranking]) -> str:
    if not any("scatter" in ranking.findings for ranking in rankings):
        return ""
    return (
        "Whether classes scatter alike was tested by the same permutations, from distances to the "
        "mean of the class (PERMDISP, Anderson 2006)."
    )


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
    effect = "" if judged.effect is None else judged.effect.text
    told = judged.headline if effect in {"", judged.headline} else f"{judged.headline} {effect}"
    between = between_sentence(found.basis)
    sentence = (
        f"For {task}: {told} The highest score {where} is that of {entry_name(best)}: "
        f"{label_of(found.basis)} {number(best['score'])}"
        f"{'' if ends == '–' else f' ({ends})'}.{' ' if between else ''}{between}"
    )
    return sentence, str(facts["reference"])
