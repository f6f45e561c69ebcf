"""The ten sentences that open docs/results, made from the result files so that they stay equal.

python tools/ten_sentences.py --write    # after a result was made again
python tools/ten_sentences.py            # print them

Every sentence names its worst case, its cohort and its file. A sentence whose claim does not
hold any more is an error that says so: then its words must change, not only its numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs" / "results" / "index.md"
START, END = "<!-- ten sentences: tools/ten_sentences.py --write -->", "<!-- end of them -->"
LABELS = ("diagnosis", "age", "mean_fd")


def read(folder: str, name: str = "summary.csv") -> pd.DataFrame:
    """Return one file of a result."""
    return pd.read_csv(REPOSITORY / "results" / folder / name)


def rows(folder: str, **where: Any) -> pd.DataFrame:  # noqa: ANN401
    """Return the rows of a summary with these values."""
    table = read(folder)
    for column, value in where.items():
        table = table[table[column] == value]
    return table


def row(folder: str, **where: Any) -> pd.Series:  # noqa: ANN401
    """Return the one row of a summary with these values."""
    found = rows(folder, **where)
    if len(found) != 1:
        raise SystemExit(f"results/{folder}: {len(found)} rows with {where}, expected one.")
    return found.iloc[0]


def holds(claim: bool, words: str) -> None:
    """Stop if a sentence says what the numbers do not say any more."""
    if not claim:
        raise SystemExit(f"No longer true: {words}. Change the words of this sentence.")


def _main(method: str, folder: str = "main", **where: Any) -> pd.Series:  # noqa: ANN401
    usual = {"task": "diagnosis", "ratio": 0.1, "operators": "all", "score": "cohen_d"}
    usual |= {"gain": "minmax", "measure": "ndcg@10"}
    asked = usual | {"method": method} | where
    return row(folder, **{name: value for name, value in asked.items() if value is not None})


def papers_method() -> str:
    """SCLCS for diagnosis with a tenth of the samples."""
    texts = []
    for folder in ("main", "main-766"):
        ours, dense, chance = (_main(name, folder) for name in ("sclcs", "sclcs-dense", "random"))
        holds(ours["mean"] < chance["mean"], "SCLCS is below random draws")
        holds(dense["mean"] < chance["mean"] + chance["std"], "Dense is within the scatter")
        both = ", ".join(f"{row['mean']:.2f} ({row['worst']:.2f})" for row in (ours, dense))
        texts.append(f"{both} and {chance['mean']:.2f} ({chance['worst']:.2f})")
    names = ("sclcs-official", "sclcs-dense-official")
    published = [_main(name, "main-official") for name in names]
    prior = _main("prior", "main-official", ratio=0.0)
    chance = _main("random", "main-official")
    for found in published:
        holds(found["mean"] < chance["mean"] + chance["std"], "scripts: within the scatter")
        holds(found["mean"] < prior["mean"], "the prior is above the published variant")
    scripts = " and ".join(f"{found['mean']:.2f} ({found['worst']:.2f})" for found in published)
    sound = [
        _main(name, "sound-trained", score="sound", operators=None) for name in (*names, "random")
    ]
    holds(sound[2]["mean"] < min(sound[0]["mean"], sound[1]["mean"]), "ahead by the sound score")
    ahead = [f"{found['mean']:.2f} ({found['worst']:.2f})" for found in sound]
    return (
        "**The paper's method does not clearly beat random draws for diagnosis; as its scripts "
        "have it, it may.** With a tenth of the samples SCLCS, SCLCS-Dense and random draws "
        f"rank 131 operators at nDCG@10 (worst seed) {texts[0]} in 307 subjects, and at {texts[1]} "
        f"in 766; the scatter of random draws is {chance['std']:.2f}. As the scripts have it (no "
        f"softmax, 1000 epochs), {published[0]['n']} seeds, the first two reach {scripts} in 307; "
        f"by the sound score {ahead[0]} and {ahead[1]} against {ahead[2]} of random draws. The "
        f"similarity prior, which chooses no sample, reaches {prior['mean']:.2f} and "
        f"{_main('prior', 'sound-trained', score='sound', operators=None, ratio=1.0)['mean']:.2f}. "
        "Two cuts of ABIDE I, one data collection; `results/main`, `results/main-766`, "
        "`results/main-official`, `results/sound-trained`."
    )


def papers_score() -> str:
    """Say that the score with numbers of the paper's size does not repeat itself."""
    asked = {"method": "halves", "ratio": 0.5, "measure": "ndcg@5", "gain": "raw"}
    subject = _main(task="subject", score="ratio", **asked)
    label = _main(score="ratio", **asked)
    sure = _main(task="subject", score="cohen_d", **asked)
    holds(max(subject["mean"], label["mean"]) < 0.6, "the ratio does not repeat itself")
    return (
        "**Numbers of the paper's size come out with a score that does not repeat itself.** By the "
        "ratio of similarities two halves of the same subjects agree at nDCG@5 "
        f"{subject['mean']:.2f} for fingerprinting (worst of fifty splits {subject['worst']:.2f}) "
        f"and {label['mean']:.2f} for diagnosis ({label['worst']:.2f}); by Cohen's d at "
        f"{sure['mean']:.2f} for fingerprinting. ABIDE I, 307 subjects; `results/main`."
    )


def theorem_2() -> str:
    """How many of the sixteen operators are approximated better than by their mean matrix."""
    known = rows("universal", protocol="published").dropna(subset=["skill"])
    few, many = (rows("universal", protocol="sound", heads=count) for count in (4, 64))
    holds(len(few) == len(many) > 0, "heads were varied")
    holds(abs(many["skill"].mean() - few["skill"].mean()) < 0.05, "more heads hardly help")
    lost = known[known["skill"] <= 0]
    holds(len(lost) > len(known) / 2, "most operators are not approximated")
    return (
        f"**Attention maps approximate few operators.** As published, {len(lost)} of {len(known)} "
        "operators are predicted no better than by the mean matrix of the training samples, which "
        f"knows nothing about the sample (skill {known['skill'].min():.2f} in the worst case, "
        f"{known['skill'].max():.2f} in the best). In a sound design the mean skill is "
        f"{few['skill'].mean():.2f} with 4 heads and {many['skill'].mean():.2f} with 64. ABIDE I, "
        f"all windows of 307 subjects, {many['seeds'].min()} seeds; `results/universal`."
    )


def noise_of_subjects() -> str:
    """Say what a ranking of these subjects is worth for others."""
    asked = {"task": "diagnosis", "method": "halves", "score": "sound"}
    gain, order = (row("sound", measure=name, **asked) for name in ("ndcg@10", "kendall"))
    holds(gain["mean"] < 0.85, "halves of the subjects disagree")
    return (
        "**No core-set can know more about other people than half of the subjects do.** By the "
        "sound "
        f"score two halves of the subjects agree for diagnosis at nDCG@10 {gain['mean']:.2f} "
        "(worst "
        f"of fifty splits {gain['worst']:.2f}) and Kendall {order['mean']:.2f} "
        f"({order['worst']:.2f}): what a table shows above that is the noise of these people. "
        "ABIDE "
        "I, 307 subjects; `results/sound`."
    )


def guided_sound() -> str:
    """Guided core-sets by the sound score, against random draws and k-Center."""
    asked = {"task": "diagnosis", "ratio": 0.02, "score": "sound", "measure": "ndcg@10"}
    guided, chance = (row("sound", method=name, **asked) for name in ("guided", "random"))
    holds(guided["worst"] > chance["mean"], "guided core-sets are above random ones")
    return (
        "**Guidance saves samples.** Core-sets of 2 % that keep the order of ten cheap operators "
        "rank "
        f"131 for diagnosis at nDCG@10 {guided['mean']:.2f} (worst {guided['worst']:.2f}) by the "
        "sound "
        f"score, random draws at {chance['mean']:.2f} ({chance['worst']:.2f}); the ranking is "
        "that of "
        "the same subjects, noise included, and the method was developed on this cohort. ABIDE I, "
        "307 subjects; `results/sound`."
    )


def unseen_operators() -> str:
    """Estimation of operators that were never computed on everybody."""
    usual = rows("estimation", known="half", ratio=0.02)
    usual = usual[usual.groupby(["task", "given"])["effect_p"].transform("min") < 0.05]
    labels = usual[usual["task"].isin(LABELS) & (usual["method"] == "random")]
    person = usual[(usual["task"] == "subject") & (usual["method"] == "pairs")].iloc[0]
    both = pd.concat([labels, usual[usual.index == person.name]])
    return (
        "**What was never computed is estimated roughly.** Operators of unseen families are put in "
        f"order at Kendall {labels['kendall'].mean():.2f} for labels (worst criterion "
        f"{labels['kendall'].min():.2f}) and {person['kendall']:.2f} for fingerprinting, from 31 "
        f"scans; their 90 % intervals hold in {100 * both['coverage'].min():.0f} to "
        f"{100 * both['coverage'].max():.0f} %; after eight confirmations the choice loses "
        f"{100 * both['regret_8'].mean():.1f} % of best minus median (worst criterion "
        f"{100 * both['regret_8'].max():.1f} %). ABIDE I, 307 subjects, where the rules were "
        "settled; "
        "`results/estimation`."
    )


def _share(least: float) -> str:
    return "every cohort" if least == 1 else f"at least {100 * least:.0f} % of cohorts"


def hidden_effects() -> str:
    """Say what becomes of an effect that only strangers to the panel see."""
    strange, related = (row("kinds", case=name) for name in ("hidden, from strangers", "hidden"))
    plain = rows("kinds").set_index("case").loc[["few edges", "many edges"]]
    missed = strange["run_found"] < 0.5 and strange["exact_found"] > 0.8
    holds(missed and related["exact_found"] > 0.8, "the run misses what is hidden")
    return (
        "**A budgeted run is blind to what no cheap operator sees.** An effect that only nonlinear "
        f"operators see is found in {100 * strange['exact_found']:.0f} % of cohorts if everything "
        f"is computed, and in {100 * strange['run_found']:.0f} % by a run with 30 % of the cost if "
        f"none of them is cheap, in {100 * related['run_found']:.0f} % if some are; its choice "
        "then "
        f"loses {100 * strange['regret']:.0f} and {100 * related['regret']:.0f} % of best minus "
        f"median (worst cohort {100 * max(strange['regret_worst'], related['regret_worst']):.0f} "
        f"%). An effect in few or many edges is found in {_share(plain['run_found'].min())}, and "
        "the choice loses at most "
        f"{100 * plain['regret_worst'].max():.0f} %. Simulated, {int(strange['cohorts'])} cohorts "
        "of 60 subjects of each kind; `results/kinds`."
    )


def false_alarms() -> str:
    """How often an effect is named where there is none."""
    kinds = ("no effect", "site as covariate", "within site")
    level = read("soundness")
    level = level[level["bar"].isin(kinds)]
    holds(level["found"].max() <= 0.09, "false alarms are near 5 %")
    return (
        "**An effect that is not there is named about as often as designed.** In "
        f"{len(level)} kinds of cohorts without an effect (equal and unequal classes, with and "
        "without "
        f"a confounding site) {100 * level['found'].mean():.1f} % raise a false alarm (5 % by "
        "design; "
        f"{100 * level['found'].min():.1f} to {100 * level['found'].max():.1f} % from kind to "
        "kind). "
        f"Simulated, {int(level['cohorts'].min())} cohorts of each kind; `results/soundness`."
    )


def no_effect_in_psychosis() -> str:
    """Outcomes of treatment, both preprocessings."""
    cells = read("questions-psychosis", "cells.csv")
    holds(bool((cells["p"] > 0.05).all()), "no outcome has an effect")
    return (
        "**Where there is nothing to find, single operators look convincing.** No operator is "
        "shown to see any of "
        f"four outcomes of treatment in two preprocessings (family-wise p {cells['p'].min():.2f} "
        "and "
        f"more in {len(cells)} rankings), although the best single one has p "
        f"{cells['smallest_uncorrected_p'].min():.3f} and predicts with r up to "
        f"{cells.loc[cells['score'] == 'predict', 'best_score'].max():.2f}. 55 patients with "
        "psychosis, "
        "every fifth of 419 regions; `results/questions-psychosis`."
    )


def two_preprocessings() -> str:
    """Fingerprinting over three months, with and without the global signal, on fewer regions."""
    both = row("multiverse", task="subject", what="rankings")
    guess = rows("multiverse", task="subject").dropna(subset=["kendall_copied"])
    holds(guess["kendall"].max() < both["kendall"], "copying orders better than estimating")
    cells = read("region-cuts", "cells.csv").set_index(["preprocessing", "regions", "spi"])
    pearson = cells.xs("cov_EmpiricalCovariance", level="spi").loc["timeseries"]
    shrunk = cells.xs("prec_ShrunkCovariance", level="spi").loc["timeseries"]
    holds(bool(pearson["best_set"][33] and not pearson["best_set"][419]), "33 regions cannot tell")
    return (
        "**For fingerprinting the best operator depends on the number of regions rather than on "
        "removing the global signal.** With 419 regions shrunk precision reaches Cohen's d "
        f"{shrunk['score'][419]:.1f} and Pearson correlation {pearson['score'][419]:.1f}; with 33 "
        f"of them {shrunk['score'][33]:.1f} and {pearson['score'][33]:.1f}, and the data cannot "
        "tell them apart. With 105, removing the signal costs the winner "
        f"{100 * both['regret']:.0f} % of best minus median (Kendall {both['kendall']:.2f}), but "
        "estimating the second preprocessing from 9 to 27 scans orders worse than copying the "
        "first (worst Kendall "
        f"{guess['kendall'].min():.2f}). 55 patients with psychosis, two scans three months apart, "
        "this cohort only; `results/region-cuts`, `results/multiverse`."
    )


#: What speaks against the paper or against us comes first.
SENTENCES: tuple[Callable[[], str], ...] = (
    papers_method,
    papers_score,
    theorem_2,
    hidden_effects,
    unseen_operators,
    noise_of_subjects,
    two_preprocessings,
    no_effect_in_psychosis,
    guided_sound,
    false_alarms,
)


def block() -> str:
    """Return the sentences as they stand on the page."""
    lines = [f"{number}. {make()}" for number, make in enumerate(SENTENCES, start=1)]
    return "\n".join([START, "", *lines, "", END])


def main() -> None:
    """Print the sentences, or put them on the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put them on the page")
    text = block()
    if not parser.parse_args().write:
        print(text)
        return
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    PAGE.write_text(before + text + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
