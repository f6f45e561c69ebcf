"""What a run is asked to do: one flat list of keys, from a YAML file and options."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sclcs._core import DEFAULT_METHOD, InputError, UnknownNameError, read_yaml, require_existing
from sclcs.settings import (
    DEFAULT_BUDGET,
    DEFAULT_RATIO,
    ExportFormat,
    QuestionSettings,
    RunSettings,
)
from sclcs.store import ExecutorChoice, find_executor

__all__ = [
    "DEFAULT_BUDGET",
    "Budget",
    "ExportFormat",
    "RunConfig",
    "collect_config",
    "config_text",
    "make_config",
    "parse_budget",
    "percent_words",
    "read_config",
    "time_words",
]


_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "%": 0.01}


@dataclass(frozen=True)
class Budget:
    """A budget of CPU time.

    Parameters
    ----------
    text : str
        As it was given.
    seconds : float, optional
        Of CPU time, all processes together.
    share : float, optional
        Of the cost of everything on everybody.
    """

    text: str
    seconds: float | None = None
    share: float | None = None

    def seconds_of(self, everything: float) -> float:
        """Return the CPU seconds it allows, if everything costs so many."""
        return self.share * everything if self.share is not None else float(self.seconds or 0.0)


def parse_budget(text: str) -> Budget:
    """Read a budget.

    Parameters
    ----------
    text : str
        A time (``90s``, ``10m``, ``2h``, ``1d``) or a share of the full cost (``5%``).

    Returns
    -------
    Budget

    Examples
    --------
    >>> parse_budget("1.5h").seconds
    5400.0
    >>> parse_budget("5%").share
    0.05
    """
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(s|m|min|h|d|%)\s*", text, re.IGNORECASE)
    amount = 0.0 if found is None else float(found[1]) * _UNITS[found[2].lower()]
    if found is None or amount <= 0:
        raise InputError(
            "Expected a budget of CPU time such as 10m or 2h, or a share of the full cost such as "
            f"5%, got {text!r}."
        )
    if found[2] == "%":
        return Budget(text.strip(), share=min(amount, 1.0))
    return Budget(text.strip(), seconds=amount)


def percent_words(share: float) -> str:
    """Return a share as a budget could be given, rounded up to two digits.

    Examples
    --------
    >>> percent_words(0.012345)
    '1.3%'
    """
    if share >= 1:
        return "100%"
    digits = 1 - math.floor(math.log10(100 * max(share, 1e-9)))
    rounded = math.ceil(round(100 * share * 10**digits, 6)) / 10**digits
    return f"{min(rounded, 100):g}%"


def time_words(seconds: float) -> str:
    """Return a time as a budget could be given, rounded up.

    Examples
    --------
    >>> time_words(61.2)
    '62s'
    >>> time_words(7201)
    '121m'
    """
    if seconds < 600:
        return f"{-(-seconds // 1):.0f}s"
    return f"{-(-seconds // 60):.0f}m"


#: What depends on the task as well as on the options, see :class:`sclcs.runs.order.RunOrder`.
TASK_OPTIONS = ("covariates", "harmonise", "treat_as")
#: Keys that ask for the two stages; none of them goes with a budget.
TWO_STAGES = ("method", "ratio", "parameters", "epochs", "device")


class RunConfig(RunSettings):
    """What a run is asked to do: the options of ``run``, with what follows from them.

    Parameters
    ----------
    **values : object
        Options by name; the others have their defaults. Without `method`, `ratio` and
        `parameters` there is a budget.
    """

    def __init__(self, **values: Any) -> None:  # noqa: ANN401
        super().__init__(**_with_way(values))

    @property
    def tasks(self) -> list[str]:
        """What operators are ranked for, in order."""
        return self.task

    @property
    def budgeted(self) -> bool:
        """Whether a budget decides what is computed, rather than a ratio and a method."""
        return self.budget is not None

    @property
    def taken_out(self) -> set[str]:
        """Columns that cannot explain an effect any more."""
        return {name for name in (*self.covariates, self.within, self.harmonise) if name}

    @property
    def question_options(self) -> dict[str, Any]:
        """All that decides what is asked and how it is tested, but the score."""
        names = QuestionSettings.model_fields.keys() - {"score", "seed"}
        return {name: value for name, value in self.deciding().items() if name in names}

    @property
    def ranking_options(self) -> dict[str, Any]:
        """The options of every ranking, as :func:`sclcs.stats.rank` takes them."""
        options = self.question_options
        return {name: value for name, value in options.items() if name not in TASK_OPTIONS}

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
    keys = {"on" if key is True else str(key): value for key, value in content.items()}
    make_config(keys, source=str(path))
    for name in ("cohort", "out"):
        if keys.get(name) is not None:
            keys[name] = os.path.normpath(path.absolute().parent / keys[name])
    return keys


def collect_config(file: str | os.PathLike[str] | None, options: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of a file and of options that are not None; options beat it."""
    keys = {} if file is None else read_config(file)
    given = {name: value for name, value in options.items() if value is not None}
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
    unknown = [name for name in keys if name not in RunConfig.model_fields]
    if unknown:
        raise InputError(" ".join(_unknown(name, source) for name in unknown))
    try:
        return RunConfig(**keys)
    except UnknownNameError:
        raise
    except InputError as error:
        raise InputError(f"Wrong values in {source}: {error}") from error


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
    known = RunConfig.names()
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
    for name in RunConfig.names():
        text = yaml.safe_dump({name: values[name]}, allow_unicode=True, default_flow_style=False)
        text = text.rstrip().replace("'on':", "on:")  # read_config knows what is meant
        lines.append(f"\n# {RunConfig.model_fields[name].description}\n{text}")
    return "\n".join(lines) + "\n"


def _inside(path: str | None, folder: Path) -> str | None:
    if path is None:
        return None
    absolute = Path(path).absolute()
    home = folder.absolute()
    return str(absolute.relative_to(home)) if absolute.is_relative_to(home) else str(absolute)
