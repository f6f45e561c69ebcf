"""Does the ranking give the right verdict? Simulated cohorts with a known answer, and real ones.

python tools/ask_questions.py simulated --repeats 400 --nulls 1000 --out results/questions-simulated
python tools/ask_questions.py psychosis FILE.npz --work WORK --out results/questions-psychosis
python tools/ask_questions.py runs RUN... --out results/questions-abide

simulated
    Cohorts of 60 subjects with an effect, a confound, both or none; the verdict is right if
    there is an effect exactly where one was put in. A test at 5 % is right in 95 % of the
    cohorts without an effect and not in more, so these are the ones to have many of.
psychosis
    Four outcomes of treatment, two preprocessings, every fifth of 419 regions, first session.
runs
    What finished runs (`sclcs run`) answered, and what their cards say. Rows of other runs stay
    as they are, so that runs can be made again one by one; every row says when it was made.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from sclcs import Cohort
from sclcs._core import ALPHA, generator, write_text
from sclcs.run_folder import RunFolder
from sclcs.stats import rank
from sclcs.store import compute_store

SUBJECTS, REGIONS, LENGTH = 60, 8, 120
EFFECT, CONFOUND = 0.9, 0.9
ALIGNED = 0.8  # share of patients who are at the second site, and of controls at the first
CORRELATED = 0.6  # of age and motion
OPERATORS = (
    "cov_EmpiricalCovariance", "cov_LedoitWolf", "prec_OAS", "spearmanr", "kendalltau",
    "xcorr_max_sig-True", "xcorr_mean_sig-True", "pdist_euclidean", "pdist_cityblock",
    "pdist_chebyshev", "pdist_cosine", "pdist_canberra", "pdist_braycurtis", "mi_gaussian", "pec",
    "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-5", "plv_multitaper_mean_fs-1_fmin-0_fmax-0-5",
    "icoh_multitaper_mean_fs-1_fmin-0_fmax-0-5", "tlmi_gaussian", "gc_gaussian_k-1_kt-1_l-1_lt-1",
)  # fmt: skip
OUTCOMES = ("bprs_change_6m", "bprs_change_12m", "sofas_change_6m", "sofas_change_12m")
THINNING = 5


def simulated_cohort(target: str, effect: float, confound: float, seed: int) -> Cohort:
    """Make a cohort in which target and confound each strengthen a network of their own."""
    random = generator(seed, "questions", target, effect > 0, confound > 0)
    if target == "diagnosis":
        asked = np.arange(SUBJECTS) % 2
        other = np.where(random.random(SUBJECTS) < ALIGNED, asked, 1 - asked)
        facts = {"diagnosis": np.where(asked, "MDD", "HC"), "site": np.where(other, "x", "y")}
    else:
        asked, rest = 0.5 * random.normal(size=(2, SUBJECTS))  # as wide as two classes
        other = CORRELATED * asked + np.sqrt(1 - CORRELATED**2) * rest
        facts = {"age": 45 + 20 * asked, "mean_fd": 0.3 + 0.1 * other}
    own = random.normal(0, 0.25, (SUBJECTS, 2))
    first = np.exp(own[:, 0] + effect * (asked - asked.mean()))
    second = np.exp(own[:, 1] + confound * (other - other.mean()))
    signals = random.normal(size=(SUBJECTS, REGIONS, LENGTH))
    factors = random.normal(size=(SUBJECTS, 2, LENGTH))
    half = REGIONS // 2
    signals[:, :half] += first[:, None, None] * factors[:, :1]
    signals[:, half:] += second[:, None, None] * factors[:, 1:]
    signals[:, :, 1:] += 0.5 * signals[:, :, :-1]  # slow, as fMRI is
    table = pd.DataFrame(
        {"subject": [f"p{k:02d}" for k in range(SUBJECTS)], "window": 0, **facts},
        index=[f"s{k:02d}" for k in range(SUBJECTS)],
    )
    return Cohort(signals, table)


def simulated(repeats: int, nulls: int) -> pd.DataFrame:
    """Ask every simulated cohort with the confound as covariate, and once without."""
    rows = []
    for target, covariate in (("diagnosis", "site"), ("age", "mean_fd")):
        for scenario, (effect, confound) in {
            "neither": (0.0, 0.0),
            "confound only": (0.0, CONFOUND),
            "effect only": (EFFECT, 0.0),
            "both": (EFFECT, CONFOUND),
        }.items():
            for repeat in range(repeats if effect else max(repeats, nulls)):
                cohort = simulated_cohort(target, effect, confound, repeat)
                for adjusted in (True, False):
                    if not adjusted and (scenario != "confound only" or repeat >= repeats):
                        continue
                    p = _smallest_p(cohort, target, covariate if adjusted else (), repeat)
                    rows.append(
                        {
                            "target": target,
                            "scenario": scenario,
                            "covariates": covariate if adjusted else "",
                            "repeat": repeat,
                            "p": p,
                            "right": (p < ALPHA) == (effect > 0),
                        }
                    )
    return pd.DataFrame(rows)


def _smallest_p(cohort: Cohort, target: str, covariates: object, seed: int) -> float:
    found = rank(
        cohort,
        target,
        list(OPERATORS),
        covariates=covariates,  # type: ignore[arg-type]
        within=None if covariates else False,
        permutations=400,
        bootstrap=0,
        seed=seed,
    )
    return float(found.findings["effect"]["p"])


def simulated_table(cells: pd.DataFrame) -> str:
    """Count the right verdicts."""
    lines = _head(
        ("target", "what is there", "covariate", "cohorts", "right verdicts", "standard error")
    )
    for (target, scenario, covariate), part in cells.groupby(
        ["target", "scenario", "covariates"], sort=False
    ):
        right = part["right"].mean()
        error = np.sqrt(right * (1 - right) / len(part))
        lines.append(
            f"| {target} | {scenario} | {covariate or 'none'} | {len(part)} | {right:.1%} | "
            f"{error:.1%} |"
        )
    return "\n".join(lines) + "\n"


def _known(value: float | None) -> str:
    return "not estimated" if value is None or np.isnan(value) else f"{value:.3f}"


def _head(names: tuple[str, ...]) -> list[str]:
    return [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]


def psychosis(source: Path, work: Path, spis: str) -> pd.DataFrame:
    """Rank operators for every outcome in both preprocessings."""
    rows = []
    with np.load(source, allow_pickle=False) as data:
        first = data["session"] == "1"
        facts = {name: data[name][first].astype(np.float64) for name in OUTCOMES}
        table = pd.DataFrame(
            {"subject": data["subject"][first].astype(str), "window": 0, **facts},
            index=data["subject"][first].astype(str),
        )
        signals = {
            name: data[name][first][:, :, ::THINNING].astype(np.float32).transpose(0, 2, 1)
            for name in ("timeseries", "timeseries_gmr")
        }
    for name, values in signals.items():
        store = compute_store(Cohort(values, table), work / name, spis)
        for outcome in OUTCOMES:
            for score in ("share", "predict"):
                ranking = rank(store, outcome, score=score, permutations=1000, bootstrap=200)
                best = ranking.table.iloc[0]
                rows.append(
                    {
                        "preprocessing": name,
                        "outcome": outcome,
                        "score": score,
                        "subjects": ranking.provenance["question"]["subjects"],
                        "operators": ranking.findings["entries"],
                        "p": ranking.findings["effect"]["p"],
                        "smallest_uncorrected_p": ranking.table["p_single"].min(),
                        "best": best["spi"],
                        "best_score": best["score"],
                        "worth": ranking.findings.get("worth", {}).get("new_subjects"),
                        "halves_kendall": ranking.findings.get("halves", {}).get("kendall"),
                        "verdict": ranking.answer[0],
                    }
                )
    return pd.DataFrame(rows)


def psychosis_table(cells: pd.DataFrame) -> str:
    """Put family-wise beside uncorrected p."""
    lines = _head(
        (
            "preprocessing", "outcome", "score", "subjects", "family-wise p",
            "smallest p of one operator, uncorrected", "highest score", "on other subjects",
        )
    )  # fmt: skip
    lines += [
        f"| {row.preprocessing} | {row.outcome} | {row.score} | {row.subjects} | {row.p:.2f} | "
        f"{row.smallest_uncorrected_p:.3f} | {row.best_score:.3f} | {_known(row.worth)} |"
        for row in cells.itertuples()
    ]
    return "\n".join(lines) + "\n"


def answers(runs: list[Path]) -> pd.DataFrame:
    """Gather what runs found that computed every operator on everybody."""
    rows = []
    for path in runs:
        folder = RunFolder.open(path)
        for task in folder.tasks:
            ranking, card = folder.truth(task) or folder.ranking(task), folder.card(task)
            if card is None or set(ranking.table["source"]) != {"exact"}:
                raise SystemExit(f"{path} has no card, or did not compute everything.")
            found, best, config = ranking.findings, card.table.iloc[0], folder.config()
            stages = list(folder.state()["stages"].values())
            rows.append(
                {
                    "run": path.name,
                    "task": task,
                    "score": ranking.score,
                    "covariates": ",".join(config.covariates),
                    "subjects": ranking.provenance["question"]["subjects"],
                    "operators": found["entries"],
                    "p": found["effect"]["p"],
                    "see_it": found["effect"]["operators"],
                    "could_be_best": found["best_set"]["entries"],
                    "best": best["spi"],
                    "best_score": best["target"],
                    "worth": found.get("worth", {}).get("new_subjects"),
                    "halves_kendall": found.get("halves", {}).get("kendall"),
                    **{name: best[name] for name in card.names},
                    "front": int(card.table["front"].sum()),
                    "cpu_seconds": sum(stage.get("cpu_seconds", 0.0) for stage in stages),
                    "verdict": ranking.answer[0],
                    "made": max(str(stage["finished"]) for stage in stages)[:16],
                }
            )
    return pd.DataFrame(rows)


def with_other_runs(cells: pd.DataFrame, file: Path) -> pd.DataFrame:
    """Keep what is there of runs that were not made again."""
    if not file.exists():
        return cells
    there = pd.read_csv(file).fillna({"covariates": ""})
    order = [*there["run"], *(name for name in cells["run"] if name not in set(there["run"]))]
    both = pd.concat([there[~there["run"].isin(cells["run"])], cells]).set_index("run")
    return both.loc[list(dict.fromkeys(order))].reset_index()


def answers_table(cells: pd.DataFrame) -> str:
    """Show the verdict, the confidence set and the card of the first operator."""
    lines = _head(
        (
            "run", "task", "covariates", "subjects", "family-wise p", "operators that see it",
            "could be the best", "best", "score", "on other subjects", "its reliability",
            "motion", "site", "made",
        )
    )  # fmt: skip
    lines += [
        f"| {row.run} | {row.task} ({row.score}) | {row.covariates or 'none'} | {row.subjects} | "
        f"{row.p:.3g} | {row.see_it} of {row.operators} | {row.could_be_best} | {row.best} | "
        f"{row.best_score:.3f} | {_known(row.worth)} | {row.reliability:.2f} | {row.motion:.3f} | "
        f"{row.site:.3f} | {row.made} |"
        for row in cells.itertuples()
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the table with its command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("simulated")
    one.add_argument("--repeats", type=int, default=400)
    one.add_argument("--nulls", type=int, default=1000)
    two = kinds.add_parser("psychosis")
    two.add_argument("source", type=Path)
    two.add_argument("--work", type=Path, required=True)
    two.add_argument("--spis", default="paper-fast")
    three = kinds.add_parser("runs")
    three.add_argument("runs", type=Path, nargs="+")
    for part in (one, two, three):
        part.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.process_time()
    if given.kind == "simulated":
        cells = simulated(given.repeats, given.nulls)
        table = simulated_table(cells)
        command = f"simulated --repeats {given.repeats} --nulls {given.nulls}"
    elif given.kind == "psychosis":
        cells = psychosis(given.source, given.work, given.spis)
        table = psychosis_table(cells)
        command = f"psychosis {given.source.name} --work WORK --spis {given.spis}"
    else:
        cells = with_other_runs(answers(given.runs), given.out.with_suffix(".csv"))
        table, command = answers_table(cells), f"runs {' '.join(run.name for run in given.runs)}"
    given.out.parent.mkdir(parents=True, exist_ok=True)
    if given.kind == "runs":  # the others are many, and their command makes them again
        cells.to_csv(given.out.with_suffix(".csv"), index=False)
    called = f"python tools/ask_questions.py {command} --out results/{given.out.name}"
    head = f"# {given.out.name}\n\n```text\n{called}\n```\n"
    spent = f"\n{len(cells)} cells, {time.process_time() - start:.0f} CPU seconds.\n\n"
    write_text(given.out.with_suffix(".md"), f"{head}{spent}<!-- table -->\n\n{table}")
    print(table)


if __name__ == "__main__":
    main()
