"""A run as a function: what ``sclcs.run`` is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sclcs.cohort.cohort import Cohort
from sclcs.core.arguments import checked
from sclcs.core.progress import announce, show_progress
from sclcs.run_folder import collect_config
from sclcs.runs.result import RunResult
from sclcs.runs.two_stage import carry_out

__all__ = ["run"]


@checked
def run(
    cohort: Cohort | str | os.PathLike[str] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    tasks: str | Sequence[str] | None = None,
    spis: str | Sequence[str] | None = None,
    budget: str | None = None,
    exact_below: float | None = None,
    method: str | None = None,
    ratio: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    score: str | None = None,
    covariates: str | Sequence[str] | None = None,
    within: str | None = None,
    harmonise: str | None = None,
    treat_as: str | Sequence[str] | Mapping[str, str] | None = None,
    drop_missing: bool | None = None,
    folds: int | None = None,
    repeats: int | None = None,
    leave_out: str | None = None,
    criteria: str | Sequence[str] | None = None,
    permutations: int | None = None,
    bootstrap: int | None = None,
    confidence: float | None = None,
    top_k: int | None = None,
    full_benchmark: bool | None = None,
    export: str | Sequence[str] | None = None,
    keep: Literal["all", "winners", "none"] | None = None,
    disk: str | None = None,
    on_bad: Literal["error", "skip"] | None = None,
    on: str | None = None,
    memory: str | None = None,
    title: str | None = None,
    description: str | None = None,
    config: str | os.PathLike[str] | None = None,
    progress: bool = False,
    **others: object,
) -> RunResult:
    """Find the best operators for a cohort within a budget, and say how sure that is.

    What is cheap is computed exactly, the rest is estimated, the likely best is confirmed. With
    `ratio` or `method` it is the two stages of the paper: all operators on a core-set, the best
    on everybody.

    Called again with the same folder, it does only what is not done yet; a changed setting
    redoes only what depends on it. A setting that is not given has the value of `config`, or
    else its default.

    Parameters
    ----------
    cohort : Cohort or path
        The samples. A cohort in memory is saved in the folder of the run.
    out : path-like
        The folder of the run: new, or that of an earlier one.
    tasks : str or sequence of str, default "subject"
        What operators are ranked for: ``"subject"`` (fingerprinting), label columns, or columns
        of numbers.
    spis : str or sequence of str, default "paper-fast"
        Operators to compare: sets, identifiers or globs, see :func:`sclcs.spi.resolve`.
    budget : str, default "5%"
        CPU time such as ``"10m"`` or ``"2h"``, or a share of the full cost such as ``"5%"``.
    exact_below : float, default 120
        CPU seconds; if everything costs less, it is computed whatever the budget.
    method : str, optional
        Two stages instead of a budget: how the core-set is chosen (``"guided"`` by default), as in
        `sclcs.selection.select`.
    ratio : float, optional
        Two stages instead of a budget: share of the samples in it (0.1 by default).
    parameters : mapping, optional
        Parameters of the method.
    seed : int, default 0
        Same seed, same results.
    score : str, optional
        How operators are scored; by default share for labels and numbers, cohen_d for subject.
    covariates : str or sequence of str, optional
        Columns whose influence is taken out, for example site, mean_fd, age, sex.
    within : str, optional
        Compare inside the groups of this column only.
    harmonise : str, optional
        ComBat: bring features of the groups of this column (site) to one location and scale.
    treat_as : str, sequence of str or mapping, optional
        What columns of numbers are, where they do not tell: number, classes or age=number.
    drop_missing : bool, default False
        Leave subjects out whose covariates are unknown.
    folds, repeats : int, default 10
        Score predict: parts into which subjects are divided, and how many divisions.
    leave_out : str, optional
        Score predict: the groups of this column are the parts, for example site.
    criteria : str or sequence of str, optional
        The card, what else operators are judged by: reliability, motion, site, columns
        (sex=unwanted), none; by default what the cohort has.
    permutations : int, default 1000
        Of the target, for p; 0 for none.
    bootstrap : int, default 1000
        Redraws of subjects for the intervals; 0 for none.
    confidence : float, default 0.95
        Coverage of the intervals.
    top_k : int, default 5
        Operators per task to compute on the whole cohort.
    full_benchmark : bool, default False
        Also compute every operator on everybody, to see how right the core-set was.
    export : str or sequence of str, optional
        Write the winners' matrices as relmat (BIDS-like tables) or npz.
    keep : {"all", "winners", "none"}, default "all"
        Which matrices stay when the run is finished: all, those of the best `top_k` operators
        per task, or none. It does not change any result; what is needed again is computed again.
    disk : str, default "50G"
        How much matrices that are not kept may take of the disk at a time. If all of them are more,
        a budgeted run computes, scores and removes some after others.
    on_bad : {"error", "skip"}, default "error"
        Samples with constant regions: stop, or leave them out.
    on : str, default "local:1"
        Who does the work: ``"local:4"`` (processes; -1 for one per processor),
        ``"dask:ADDRESS"``, ``"slurm:slurm.yaml"`` (the jobs are waited for).
    memory : str, optional
        How much a ranking may take, for example ``"4G"``; it does not change any result.
    title, description : str, optional
        Heading of the report, and a few words about the cohort for it.
    config : path-like, optional
        A YAML file with settings; arguments beat the file.
    progress : bool, default False
        Show the stages and a bar, in a notebook as in a terminal.
    **others : object
        ``jobs=4`` and ``scheduler=ADDRESS``, older names of ``on``; anything else is an error
        that names what was probably meant.

    Returns
    -------
    RunResult
        :meth:`RunResult.open` reads it again from the folder.

    Examples
    --------
    ``sclcs.run("abide.zarr", out="RUN", tasks="diagnosis", budget="5%", progress=True).best()``
    """
    settings = {name: value for name, value in locals().items() if name not in _APART}
    settings |= others
    given = cohort if isinstance(cohort, Cohort) else None
    if not isinstance(cohort, Cohort | None):
        settings["cohort"] = os.fspath(cohort)
    settings["out"] = None if out is None else os.fspath(out)
    with show_progress(bool(progress)):
        tell = announce if progress else None
        return RunResult.open(*carry_out(collect_config(config, settings), given=given, tell=tell))


#: What is no setting of a run, or needs a word first.
_APART = ("cohort", "out", "config", "progress", "others")
