"""What a two-stage run is asked to do: one flat list of keys, from a YAML file and options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from sclcs.core.errors import InputError, UnreadableFileError
from sclcs.core.files import require_existing

__all__ = ["ExportFormat", "RunConfig", "config_text", "make_config", "read_config"]

ExportFormat = Literal["relmat", "npz"]


def _as_list(value: object) -> object:
    """Let one name, or several with commas, stand for a list of names."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


Names = Annotated[list[str], BeforeValidator(_as_list), Field(min_length=1)]


class RunConfig(BaseModel):
    """The keys of a configuration file; ``sclcs run --init-config`` prints them all.

    Relative paths in a file start at the folder of the file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cohort: str | None = Field(default=None, description="the cohort, made by `sclcs cohort`")
    out: str | None = Field(default=None, description="the folder of the run")
    tasks: Names = Field(
        default=["subject"], description="what operators are ranked for: subject or label columns"
    )
    spis: Names = Field(
        default=["paper-fast"], description="operators to compare: sets, identifiers or globs"
    )
    method: str = Field(default="guided", description="how the core-set is chosen")
    ratio: float = Field(default=0.1, gt=0, le=1, description="share of the samples in it")
    target_ndcg: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="instead of ratio (guided): the smallest core-set expected to reach it",
    )
    parameters: dict[str, Any] = Field(
        default={}, description="parameters of the method; `sclcs select --list --method NAME`"
    )
    seed: int = Field(default=0, description="same seed, same results")
    score: str = Field(default="cohen_d", description="how separation is measured")
    bootstrap: int = Field(
        default=1000, ge=0, description="draws of subjects for the intervals; 0 for none"
    )
    confidence: float = Field(default=0.95, gt=0, lt=1, description="coverage of the intervals")
    top_k: int = Field(
        default=5, ge=1, description="operators per task to compute on the whole cohort"
    )
    full_benchmark: bool = Field(
        default=False,
        description="also compute every operator on everybody, to see how right the core-set was",
    )
    export: Annotated[list[ExportFormat], BeforeValidator(_as_list)] = Field(
        default=[], description="write the winners' matrices as relmat (BIDS-like tables) or npz"
    )
    on_bad: Literal["error", "skip"] = Field(
        default="error", description="samples with constant regions: stop, or leave them out"
    )
    jobs: int = Field(default=1, description="processes; -1 for one per processor")
    scheduler: str | None = Field(
        default=None, description="address of a Dask scheduler to use instead of processes"
    )
    title: str = Field(default="", description="heading of the report")
    description: str = Field(default="", description="a few words about the cohort, for the report")


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
    import yaml

    path = require_existing(path, "configuration file (YAML)")
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise UnreadableFileError(f"Expected YAML in {path}: {error}") from error
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise InputError(f"Expected `key: value` lines in {path}, for example `ratio: 0.1`.")
    keys = {str(key): value for key, value in content.items()}
    make_config(keys, source=str(path))
    for name in ("cohort", "out"):
        if keys.get(name) is not None:
            keys[name] = os.path.normpath(path.absolute().parent / keys[name])
    return keys


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
        raise InputError("; ".join(_unknown(name, source) for name in unknown) + ".")
    try:
        return RunConfig(**keys)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']} "
            f"(got {problem['input']!r})"
            for problem in error.errors()
        )
        raise InputError(f"Wrong values in {source}: {problems}.") from error


def _unknown(name: str, source: str) -> str:
    known = list(RunConfig.model_fields)
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    advice = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
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
    lines = ["# A two-stage run of sclcs: sclcs run --config THIS_FILE"]
    for name, facts in RunConfig.model_fields.items():
        text = yaml.safe_dump({name: values[name]}, allow_unicode=True, default_flow_style=False)
        lines.append(f"\n# {facts.description}\n{text.rstrip()}")
    return "\n".join(lines) + "\n"


def _inside(path: str | None, folder: Path) -> str | None:
    if path is None:
        return None
    absolute = Path(path).absolute()
    home = folder.absolute()
    return str(absolute.relative_to(home)) if absolute.is_relative_to(home) else str(absolute)
