"""What a run is asked to do: one flat list of keys, from a YAML file and options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict

from sclcs.compute.executors import DEFAULT, ExecutorChoice, choose_executor, find_executor
from sclcs.core.errors import InputError, UnknownNameError
from sclcs.core.files import require_existing
from sclcs.core.gate import read_yaml
from sclcs.core.settings import Names, Settings, as_assignments, as_list, as_text, setting
from sclcs.run_folder.budget import DEFAULT_BUDGET

__all__ = [
    "ExportFormat",
    "RunConfig",
    "collect_config",
    "config_text",
    "make_config",
    "read_config",
]

ExportFormat = Literal["relmat", "npz", "mat", "csv", "nbs", "brainnet", "conn", "graphvar"]
#: Keys of the first version; ``on`` says the same.
OLDER = ("jobs", "scheduler")
#: What the ranking of every task is asked with, ...
RANKING_OPTIONS = (
    "within",
    "drop_missing",
    "folds",
    "repeats",
    "leave_out",
    "permutations",
    "bootstrap",
    "confidence",
)
#: ... and what depends on the task as well, see :class:`sclcs.runs.order.RunOrder`.
TASK_OPTIONS = ("covariates", "harmonise", "treat_as")
#: Keys that ask for the two stages; none of them goes with a budget.
TWO_STAGES = ("method", "ratio", "parameters")
DEFAULT_METHOD, DEFAULT_RATIO = "guided", 0.1
DEFAULT_DISK = "50G"


class RunConfig(Settings):
    """The keys of a configuration file; ``sclcs run --init-config`` prints them all.

    Relative paths in a file start at the folder of the file.
    """

    model_config = ConfigDict(strict=False)  # YAML may write a number as a text

    def __init__(self, **values: Any) -> None:  # noqa: ANN401
        super().__init__(**_with_way(values))

    cohort: str | None = setting("the cohort, made by `sclcs cohort`", None)
    out: str | None = setting("the folder of the run", None)
    tasks: Names = setting(
        "what operators are ranked for: subject, labels or numbers", ["subject"], min_length=1
    )
    spis: Names = setting(
        "operators to compare: sets, identifiers or globs", ["paper-fast"], min_length=1
    )
    budget: Annotated[str | None, BeforeValidator(as_text)] = setting(
        "CPU time such as 10m or 2h, or a share of the full cost such as 5% (the default way)",
        None,
    )
    exact_below: float = setting(
        "CPU seconds; if everything costs less, it is computed whatever the budget", 120.0, ge=0
    )
    method: str | None = setting(
        "two stages instead of a budget: how the core-set is chosen (guided by default)", None
    )
    ratio: float | None = setting(
        "two stages instead of a budget: share of the samples in it (0.1 by default)",
        None,
        gt=0,
        le=1,
    )
    parameters: dict[str, Any] = setting(
        "parameters of the method; `sclcs select --list --method NAME`", {}
    )
    seed: int = setting("same seed, same results", 0)
    score: str | None = setting(
        "how operators are scored; by default share for labels and numbers, cohen_d for subject",
        None,
    )
    covariates: Annotated[list[str], BeforeValidator(as_list)] = setting(
        "columns whose influence is taken out, for example site, mean_fd, age, sex", []
    )
    within: str | None = setting("compare inside the groups of this column only", None)
    harmonise: str | None = setting(
        "ComBat: bring features of the groups of this column (site) to one location and scale",
        None,
    )
    treat_as: Annotated[list[str], BeforeValidator(as_assignments)] = setting(
        "what columns of numbers are, where they do not tell: number, classes or age=number", []
    )
    drop_missing: bool = setting("leave subjects out whose covariates are unknown", False)
    folds: int = setting("score predict: parts into which subjects are divided", 10, ge=2)
    repeats: int = setting("score predict: how many divisions", 10, ge=1)
    leave_out: str | None = setting(
        "score predict: the groups of this column are the parts, for example site", None
    )
    criteria: Annotated[list[str], BeforeValidator(as_list)] = setting(
        "the card, what else operators are judged by: reliability, motion, site, columns "
        "(sex=unwanted), none; by default what the cohort has",
        [],
    )
    permutations: int = setting("of the target, for p; 0 for none", 1000, ge=0)
    bootstrap: int = setting("redraws of subjects for the intervals; 0 for none", 1000, ge=0)
    confidence: float = setting("coverage of the intervals", 0.95, gt=0, lt=1)
    top_k: int = setting("operators per task to compute on the whole cohort", 5, ge=1)
    full_benchmark: bool = setting(
        "also compute every operator on everybody, to see how right the core-set was", False
    )
    export: Annotated[list[ExportFormat], BeforeValidator(as_list)] = setting(
        "write the winners' matrices: relmat (BIDS-like tables), npz, mat, csv, nbs, brainnet, "
        "conn, graphvar",
        [],
    )
    keep: Literal["all", "winners", "none"] = setting(
        "which matrices stay when the run is finished: all, those of the best top_k operators per "
        "task on everybody, or none; it does not change any result",
        "all",
    )
    disk: Annotated[str, BeforeValidator(as_text)] = setting(
        "how much matrices that are not kept may take of the disk at a time; it does not change "
        "any result",
        DEFAULT_DISK,
    )
    on_bad: Literal["error", "skip"] = setting(
        "samples with constant regions: stop, or leave them out", "error"
    )
    on: str = setting(
        "who does the work: local:4 (processes; -1 for one per processor), dask:ADDRESS, "
        "slurm:slurm.yaml",
        DEFAULT,
    )
    memory: Annotated[str | None, BeforeValidator(as_text)] = setting(
        "how much a ranking may take, for example 4G; it does not change any result", None
    )
    title: str = setting("heading of the report", "")
    description: str = setting("a few words about the cohort, for the report", "")

    @property
    def budgeted(self) -> bool:
        """Whether a budget decides what is computed, rather than a ratio and a method."""
        return self.budget is not None

    @property
    def ranking_options(self) -> dict[str, Any]:
        """The options of every ranking, as :func:`sclcs.benchmark.rank` takes them."""
        return {name: getattr(self, name) for name in RANKING_OPTIONS}

    @property
    def question_options(self) -> dict[str, Any]:
        """All that decides what is asked, as it was given."""
        return self.ranking_options | {name: getattr(self, name) for name in TASK_OPTIONS}

    @property
    def executor(self) -> ExecutorChoice:
        """Who does the work."""
        return find_executor(self.on)


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the keys of a configuration file; those that are not in it are not set.

    Parameters
    ----------
    path : path-like
        YAML. Relative paths in it start at its folder.

    Returns
    -------
    dict
        Checked; `cohort` and `out` as absolute paths.
    """
    path = require_existing(path, "configuration file (YAML)")
    content = read_yaml(path)
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise InputError(f"Expected `key: value` lines in {path}, for example `ratio: 0.1`.")
    # YAML takes a bare `on` for true.
    keys = _with_on({"on" if key is True else str(key): value for key, value in content.items()})
    make_config(keys, source=str(path))
    for name in ("cohort", "out"):
        if keys.get(name) is not None:
            keys[name] = os.path.normpath(path.absolute().parent / keys[name])
    return keys


def collect_config(file: str | os.PathLike[str] | None, options: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of a file and of options that are not None; options beat it."""
    keys = {} if file is None else read_config(file)
    given = _with_on({name: value for name, value in options.items() if value is not None})
    return make_config({**keys, **given}, "the options" if file is None else f"{file} and options")


def make_config(keys: Mapping[str, Any], source: str = "the options") -> RunConfig:
    """Check keys and values, and fill in the defaults.

    Parameters
    ----------
    keys : mapping
        Names of :class:`RunConfig` and values.
    source : str
        Where they come from, for error messages.

    Returns
    -------
    RunConfig
    """
    keys = _with_on(keys)
    unknown = [name for name in keys if name not in RunConfig.model_fields]
    if unknown:
        raise InputError(" ".join(_unknown(name, source) for name in unknown))
    try:
        return RunConfig(**keys)
    except UnknownNameError:
        raise
    except InputError as error:
        raise InputError(f"Wrong values in {source}: {error}") from error


def _with_on(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the keys of the first version that say who does the work into ``on``."""
    rest = {name: value for name, value in keys.items() if name not in OLDER}
    older = {name: keys[name] for name in OLDER if keys.get(name) is not None}
    if "scheduler" in older and older.get("jobs") == 1:
        older.pop("jobs")  # what the first version wrote beside an address
    if not older:
        return rest
    return rest | {"on": str(choose_executor(keys.get("on"), **older))}


def _is_unset(value: object) -> bool:
    return value is None or (isinstance(value, dict) and not value)


def _with_way(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the defaults of the way that is asked for: a budget, or two stages."""
    asked = [name for name in TWO_STAGES if not _is_unset(keys.get(name))]
    budget = keys.get("budget")
    if not asked:
        return {**keys, "budget": DEFAULT_BUDGET if budget is None else budget}
    if budget is not None:
        raise InputError(
            f"Choose one of budget and {', '.join(asked)}: a run has a budget, or the two stages "
            "of a ratio and a method."
        )
    way = {"method": DEFAULT_METHOD, "ratio": DEFAULT_RATIO}
    given = {name: value for name, value in keys.items() if value is not None}
    return way | given


def _unknown(name: str, source: str) -> str:
    known = list(RunConfig.model_fields)
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    advice = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}."
    return f"Unknown key {name!r} in {source}; {advice}"


def config_text(config: RunConfig, folder: Path | None = None) -> str:
    """Return the configuration as YAML, every key with a comment.

    Parameters
    ----------
    config : RunConfig
    folder : Path, optional
        The folder of the file; paths inside it are written relative to it, so that it can be
        moved.

    Returns
    -------
    str
    """
    import yaml

    values = config.model_dump()
    if folder is not None:
        for name in ("cohort", "out"):
            values[name] = _inside(values[name], folder)
    lines = ["# A run of sclcs: sclcs run --config THIS_FILE"]
    for name, facts in RunConfig.model_fields.items():
        text = yaml.safe_dump({name: values[name]}, allow_unicode=True, default_flow_style=False)
        text = text.rstrip().replace("'on':", "on:")  # read_config knows what is meant
        lines.append(f"\n# {facts.description}\n{text}")
    return "\n".join(lines) + "\n"


def _inside(path: str | None, folder: Path) -> str | None:
    if path is None:
        return None
    absolute = Path(path).absolute()
    home = folder.absolute()
    return str(absolute.relative_to(home)) if absolute.is_relative_to(home) else str(absolute)
