"""What a ranking says, in sentences that a careful statistician would write."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sclcs._core import ALPHA, ENOUGH_TO_SCATTER, HALVES_REPEATABLE, HALVES_ROUGHLY, SITE_VARIANCE
from sclcs.stats.criteria import CRITERIA

if TYPE_CHECKING:
    import pandas as pd

    from sclcs.stats.ranking_table import Ranking

__all__ = [
    "Verdict",
    "answered",
    "between_sentence",
    "effect_sentence",
    "entry_name",
    "find_verdict",
    "sentences",
    "without_effect",
]

_BARE = {"true", "false", "yes", "no"}  # names of classes that need their column's
Kind = Literal[
    "ranks-only",
    "no-effect",
    "untestable",
    "cannot-answer",
    "alone",
    "one",
    "several",
    "order",
]


@dataclass(frozen=True)
class Verdict:
    """The answer of a ranking in one sentence.

    Parameters
    ----------
    kind : str
        ``one`` operator is the best, or one of ``several``; the cohort ``cannot-answer``; there
        is ``no-effect``, or it is ``untestable``; ``ranks-only`` on a core-set of a
        classifier; ``order`` where subjects were not redrawn; one operator ``alone`` has no rival.
    text : str
        The sentence.
    """

    kind: Kind
    text: str


def find_verdict(ranking: Ranking) -> Verdict:
    """Return the answer of a ranking: whether there is one, and which operators it is.

    Parameters
    ----------
    ranking : Ranking

    Returns
    -------
    Verdict
    """
    effect = ranking.findings.get("effect")
    if ranking.ranks_only:
        return Verdict("ranks-only", _ranks_only(ranking))
    if effect is not None and effect["p"] is None:
        return Verdict("untestable", effect_sentence(ranking))
    if effect is not None and effect["p"] >= ALPHA:
        return Verdict("no-effect", effect_sentence(ranking))
    return _order_verdict(ranking)


def _order_verdict(ranking: Ranking) -> Verdict:
    """Return which operators could be the best, where nothing speaks against an effect."""
    if ranking.findings.get("entries") == 1:
        (name,) = (entry_name(row) for _, row in ranking.groups.head(1).iterrows())
        return Verdict("alone", f"Only {name} was looked at: there is no other to compare it with.")
    kendall = _halves(ranking)
    if kendall is not None and kendall < HALVES_REPEATABLE:
        text = (
            f"This cohort cannot answer the question: halves of it agree at {kendall:.2f} on the "
            "order of operators (Kendall; 1 is the same order, 0 is chance)."
        )
        return Verdict("cannot-answer", text)
    best = _best(ranking)
    if best:
        return Verdict("one" if len(ranking.best_set) == 1 else "several", best)
    return Verdict("order", _first(ranking))


def answered(ranking: Ranking) -> bool:
    """Say whether a ranking names operators that could be the best, and not only an order."""
    return find_verdict(ranking).kind in {"one", "several", "cannot-answer"}


def sentences(ranking: Ranking) -> list[str]:
    """Return what may be said about a ranking, the answer first.

    Parameters
    ----------
    ranking : Ranking

    Returns
    -------
    list of str
        The answer; whether there is an effect; whether the cohort can order operators at all;
        which could be the best; what the choice is worth on new subjects; whether classes
        scatter alike.
    """
    verdict, found = find_verdict(ranking), ranking.findings
    if verdict.kind == "ranks-only":
        return [verdict.text]
    parts = [verdict.text]
    if verdict.kind not in {"no-effect", "untestable"}:  # the order may be noise
        parts.append(effect_sentence(ranking))
        if verdict.kind != "alone":
            order = "" if verdict.kind == "cannot-answer" else _order(ranking)
            parts += [order, _best(ranking), _worth(ranking, found.get("worth"))]
    parts += without_effect(ranking)
    return list(dict.fromkeys(part for part in parts if part))


def without_effect(ranking: Ranking) -> list[str]:
    """Return the sentences about a ranking that hold whether or not there is an effect."""
    return [text for text in (_between(ranking), _scatter(ranking)) if text]


def entry_name(row: Mapping[Any, Any] | pd.Series) -> str:
    """Return an entry of a ranking as a person would name it.

    ``Pearson correlation (cov_EmpiricalCovariance) and 5 equivalents``
    """
    others = len(row["also"]) if "also" in row else 0
    name = f"{row['name']} ({row['spi']})"
    if not others:
        return name
    return f"{name} and {others} equivalent{'s' if others > 1 else ''}"


def effect_sentence(ranking: Ranking) -> str:
    """Say whether any operator sees the target; empty if nothing was permuted."""
    effect = ranking.findings.get("effect")
    if effect is None:
        return ""
    what = "persons" if ranking.task == "subject" else ranking.task
    where = f" within {effect['exchangeable']}" if effect["exchangeable"] else ""
    if _repeated(ranking):  # a person is compared with itself, whatever its site
        where = " within subjects"
    if effect["p"] is None:
        return (
            f"Whether any operator sees {what} cannot be tested: inside every group of "
            f"{effect['exchangeable']} all subjects have the same {what}, so the two cannot be "
            "told apart."
        )
    if effect["p"] >= ALPHA:
        return _unseen(ranking, effect, what, where)
    n, beyond = ranking.findings["entries"], _covariates(ranking)
    many = "1 of them sees" if effect["operators"] == 1 else f"{effect['operators']} of them see"
    seen = "Persons can be told apart" if what == "persons" else f"There is an effect of {what}"
    if n == 1:
        return f"{seen}{beyond} (p {_p(effect['p'])}, target permuted{where})."
    return (
        f"{seen}{beyond} (family-wise p {_p(effect['p'])} over {n} operators, "
        f"target permuted{where}); {many} it beyond chance."
    )


def _unseen(ranking: Ranking, effect: Mapping[str, Any], what: str, where: str) -> str:
    """Say that no effect is shown, and how strong the strongest operator looks by chance.

    Not that there is none: a test that finds nothing does not say so.
    """
    n, p = ranking.findings["entries"], effect["p"]
    tested = ranking.groups[ranking.groups["p"].notna()].sort_values("p", kind="stable")
    name = "" if tested.empty else f", {entry_name(tested.iloc[0])},"
    strong = f"would look as strong by chance in {_percent(p)} cohorts without any effect"
    asked = what + " and".join(filter(None, [_covariates(ranking), _beyond(effect)]))
    if n == 1:
        return (
            f"The only operator{name} is not shown to see {asked}: it {strong} (p = {p:.2g}, "
            f"target permuted{where}).{_alone(effect, what)}"
        )
    return (
        f"No operator is shown to see {asked}: the strongest of {n}{name} {strong} (family-wise "
        f"p = {p:.2g}, target permuted{where}). {_noise(effect, what)}"
    )


def _repeated(ranking: Ranking) -> bool:
    """Say whether the target changes within subjects."""
    return bool(ranking.provenance.get("question", {}).get("repeated"))


def _covariates(ranking: Ranking) -> str:
    """Name what was taken out of scores and test."""
    names = [str(name) for name in ranking.provenance.get("question", {}).get("covariates") or ()]
    if not names:
        return ""
    *others, last = names
    return f" beyond {', '.join(others)} and {last}" if others else f" beyond {last}"


def _tells(effect: Mapping[str, Any]) -> bool:
    """Say whether groups that the target is permuted in differ in it, and count in the score."""
    return bool(effect.get("between", 0.0) >= SITE_VARIANCE)


def _beyond(effect: Mapping[str, Any]) -> str:
    return f" beyond what {effect['exchangeable']} tells of it" if _tells(effect) else ""


def _noise(effect: Mapping[str, Any], what: str) -> str:
    if _tells(effect):
        group = effect["exchangeable"]
        return f"The order of operators may say how they see {group}, and nothing of {what}."
    return "The order of operators may be nothing but noise."


def _alone(effect: Mapping[str, Any], what: str) -> str:
    if not _tells(effect):
        return ""
    return f" Its score may say how it sees {effect['exchangeable']}, and nothing of {what}."


def between_sentence(ranking: Ranking) -> str:
    """Say what a score contains that p does not speak of: the target differs between sites."""
    effect = ranking.findings.get("effect")
    if effect is None or effect["p"] is None or not _tells(effect):
        return ""  # without p, sites tell the target altogether, as the answer says
    group, what = effect["exchangeable"], ranking.task
    shuffled = ""
    if "shuffled" in effect:
        shuffled = (
            f" (with {what} shuffled inside every {group}, the first operator still predicts it "
            f"at {effect['shuffled']:.2f})"
        )
    return (
        f"{what} differs between groups of {group}, which explain {effect['between']:.0%} of it. "
        f"Scores contain that part{shuffled}; p does not."
    )


def _between(ranking: Ranking) -> str:
    """Explain a score that p does not speak of, and say what can be done."""
    told = between_sentence(ranking)
    if not told:
        return ""
    group = ranking.findings["effect"]["exchangeable"]
    return f"{told} Give {group} as a covariate to take it out of the scores, too."


def _halves(ranking: Ranking) -> float | None:
    kendall = ranking.findings.get("halves", {}).get("kendall")
    return None if kendall is None or math.isnan(kendall) else float(kendall)


def _order(ranking: Ranking) -> str:
    kendall = _halves(ranking)
    if kendall is None:
        return ""
    if kendall < HALVES_ROUGHLY:
        return f"The cohort orders operators only roughly: halves of it agree at {kendall:.2f}."
    return f"Halves of the subjects agree on the order at {kendall:.2f} (Kendall)."


def _best(ranking: Ranking) -> str:
    found = ranking.findings
    if "best_set" not in found:
        return ""
    rows = ranking.best_set
    percent = f"{found['best_set']['confidence']:.0%}"
    if len(rows) == 1:
        return f"The best operator is {entry_name(rows.iloc[0])}, with {percent} confidence."
    from sclcs.spi import best_known

    known = best_known(rows["spi"])
    row = rows.iloc[0] if known is None else rows[rows["spi"] == known].iloc[0]
    which = "the first of them by score is" if known is None else "the best known of them is"
    return (
        f"The data cannot tell these {len(rows)} operators apart ({percent} confidence that the "
        f"best is among them); {which} {entry_name(row)}{_shown(ranking, row)}."
    )


def _shown(ranking: Ranking, row: pd.Series) -> str:
    """Say that an operator of the best set is not itself beyond chance, and which one is."""
    rows = ranking.best_set
    shown = rows[rows["p"] < ALPHA]
    if math.isnan(row["p"]) or row["p"] < ALPHA or shown.empty:
        return ""
    what = "persons" if ranking.task == "subject" else ranking.task
    first = entry_name(shown.iloc[0])
    which = f"only {first} is" if len(shown) == 1 else f"{len(shown)} are, first of them {first}"
    return f", which by itself is not shown to see {what} (p = {row['p']:.2g}). Of the set, {which}"


def _first(ranking: Ranking) -> str:
    """Name the first operator where nothing says how sure that is."""
    rows = ranking.groups
    if rows.empty or math.isnan(rows["score"].iloc[0]):
        return "No operator has a score."
    unsure = "was not asked (no redraws of subjects)"
    if ranking.provenance.get("bootstrap", {}).get("draws"):
        unsure = "cannot be said: half of the subjects are too few to score operators by"
    return f"First is {entry_name(rows.iloc[0])}; how sure that is {unsure}."


def _ranks_only(ranking: Ranking) -> str:
    rows = ranking.groups
    first = "" if rows.empty else f" First by rank is {entry_name(rows.iloc[0])}."
    return (
        "This core-set was chosen by labels and connectivity together, which enlarges effects: it "
        "says something about the order of operators and nothing about the size of effects."
        f"{first} "
        "Rank the first operators on everybody to know more."
    )


def _worth(ranking: Ranking, worth: dict[str, Any] | None) -> str:
    criterion = CRITERIA.get(ranking.score)
    trained = criterion is not None and criterion.predictions is not None
    if trained and worth is None and "best_set" in ranking.findings:
        return (
            "What the choice is worth on new subjects is not known: half of the cohort is too "
            "little to train on."
        )
    if worth is None or not ranking.table["score"].notna().any():
        return ""
    best = float(ranking.table["score"].max())
    own = f"The winner's own score, {best:.3g}, is the largest of many."
    other = f"{worth['new_subjects']:.3g}"
    if not trained:
        return (
            f"{own} Chosen on half of the subjects and scored on the other half it is {other} "
            "(mean of many divisions)."
        )
    group = ranking.provenance["question"]["folds"]["leave_out"]
    half = "subjects" if group is None else f"groups of {group}"
    return (
        f"{own} Chosen and trained on half of the {half} only, an operator predicts the other half "
        f"at {other} (mean of several divisions); a model of everybody has seen twice as much."
    )


def _scatter(ranking: Ranking) -> str:
    scatter = ranking.findings.get("scatter")
    if scatter is None or math.isnan(scatter["scatter_p"]):
        return ""
    if _repeated(ranking):  # two conditions lie opposite each other around a person's mean
        return ""
    if ranking.findings.get("effect", {"p": 1.0})["p"] is None:  # nothing could be permuted
        return ""
    n, p = ranking.findings["entries"], scatter["scatter_p"]
    if p >= ALPHA:
        return (
            "No difference of scatter between the classes was found under any operator "
            f"(family-wise p = {p:.2g}){_few(ranking)}."
        )
    row = _entry_of(ranking, scatter["spi"])
    more = f"{scatter['scatter'] - 1:.0%}" if scatter["scatter"] < 10 else "far"
    others = scatter["operators"] - scatter["operators_of_class"]
    rest = f", those of another class under {others}" if others else ""
    return (
        f"Matrices of {_class_name(ranking, scatter['scatter_class'])} scatter more under "
        f"{scatter['operators_of_class']} of {n} operators{rest} (family-wise p {_p(p)}; clearest "
        f"under {row['name']}: {more} more variance): noise or motion may explain part of this."
    )


def _entry_of(ranking: Ranking, spi: str) -> pd.Series:
    """Return the entry that an operator belongs to, under the name people know."""
    rows = ranking.groups
    return rows[[spi == row["spi"] or spi in row["also"] for _, row in rows.iterrows()]].iloc[0]


def _class_name(ranking: Ranking, name: str) -> str:
    """Return the name of a class; one that says nothing alone (a code, yes, true) by its column."""
    wordless = not any(letter.isalpha() for letter in name)
    return f"{ranking.task} {name}" if wordless or name.lower() in _BARE else name


def _few(ranking: Ranking) -> str:
    """Say that a small class hides scatter; nothing if all classes are large enough."""
    sizes: Mapping[str, int] = ranking.findings.get("classes", {})
    smallest = min(sizes, key=sizes.__getitem__, default="")
    if not smallest or sizes[smallest] >= ENOUGH_TO_SCATTER:
        return ""
    return f"; with {sizes[smallest]} subjects of {_class_name(ranking, smallest)} that says little"


def _percent(p: float) -> str:
    return "nearly all" if p > 0.995 else f"{p:.0%} of"


def _p(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"= {p:.2g}"
