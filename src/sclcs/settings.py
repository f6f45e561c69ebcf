"""Every option of ``run``, ``rank``, ``compute``, ``select`` and imports, declared once.

From these classes come the options of the commands, the keyword arguments of the functions with
their docstrings, the keys of configuration files and the tables of the docs. To add an option,
add a field here and use it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict

from sclcs._core import (
    DEFAULT_METHOD,
    Names,
    Settings,
    as_assignments,
    as_list,
    as_path,
    as_text,
    setting,
)

DEFAULT_BUDGET = "5%"
DEFAULT_RATIO = 0.1
DEFAULT_EXECUTOR = "local:1"
ExportFormat = Literal["relmat", "npz", "mat", "csv"]

cut = partial(setting, group="From scans to samples")
read = partial(setting, group="Which files")
imaged = partial(setting, group="Images")
released = partial(setting, group="Public releases")
measured = partial(setting, group="EEG and MEG")
asked = partial(setting, group="What is asked")
scored = partial(setting, group="Scores")
tested = partial(setting, group="Tests and intervals")
bought = partial(setting, group="Budget")
staged = partial(setting, group="Two stages")
worked = partial(setting, group="Work")
told = partial(setting, group="Results")

TASK_HELP = "what operators are ranked for: subject (fingerprinting), labels or numbers"

Columns = Annotated[list[str], BeforeValidator(as_list)]
Text = Annotated[str | None, BeforeValidator(as_text)]
Extent = Annotated[str, BeforeValidator(as_text)]


def _as_levels(value: object) -> object:
    """Let texts with commas, and mappings of columns to words, stand for assignments."""
    if isinstance(value, Mapping):
        lists = {k: [v] if isinstance(v, str) else list(v) for k, v in value.items()}
        value = [f"{name}={','.join(map(str, words))}" for name, words in lists.items()]
    given = as_list(value)
    if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
        return given
    return [part for word in given for part in word.split(",")]


def _as_column(value: object) -> object:
    """Let the command line write False."""
    return False if value == "false" else value


class Seeded(Settings):
    """What draws random numbers."""

    seed: int = tested("same seed, same results", 0)


class Worked(Settings):
    """What is done by an executor."""

    on: str = worked(
        "executor: local:4 (processes; -1 for one per processor), dask:ADDRESS, slurm:slurm.yaml",
        DEFAULT_EXECUTOR,
        details="A run waits for the jobs. No result depends on it.",
        decides=False,
        front=True,
        metavar="NAME:ARGUMENT",
    )


class CutSettings(Settings):
    """How scans become a cohort: options of every ``cohort import``."""

    window: Text = cut(
        "cut scans into windows of so many time points, or seconds (140s); whole scans by default",
        None,
        details="The paper has windows of 70 time points and a stride of 35.",
        front=True,
        takes=int | str | None,
    )
    stride: Text = cut(
        "time points (or 70s) from the start of a window to the next; without it windows do not "
        "overlap",
        None,
        front=True,
        takes=int | str | None,
    )
    truncate: Text = cut(
        "use exactly the first N time points (the paper: 210), or 420s; a shorter scan is bad",
        None,
        front=True,
        takes=int | str | None,
    )
    drop_first: Extent = cut(
        "time points (or 10s) to drop at the start, before anything else", "0", takes=int | str
    )
    drop_regions: Columns = cut("leave out regions: names or patterns", [])
    min_coverage: float = cut(
        "a region a scan covers less of is missing there (0.5)", 0.0, ge=0, le=1
    )
    max_missing_subjects: Text = cut(
        "leave out regions that more subjects lack: 5%, or 3", None, takes=int | float | str | None
    )
    resample: float | None = cut("bring all scans to this TR in seconds", None, gt=0, lt=1000)
    mixed_tr: Literal["error", "keep"] = cut("scans of different TR: stop, or keep them", "error")
    max_fd: float | None = cut(
        "leave out scans whose mean_fd is above (0.5 mm) or unknown", None, gt=0
    )
    levels: Annotated[list[str], BeforeValidator(_as_levels)] = cut(
        "the classes of a column, where they are not clear: group=HC,None",
        [],
        takes=str | Sequence[str] | Mapping[str, Any],
    )
    missing: Annotated[list[str], BeforeValidator(_as_levels)] = cut(
        "what else means not known in a column: age=99,unknown",
        [],
        takes=str | Sequence[str] | Mapping[str, Any],
    )
    on_bad: Literal["error", "skip"] = cut(
        "stop at bad scans and name them, or drop them and record why", "error", front=True
    )


Place = Annotated[str | None, BeforeValidator(as_path)]


class ImportSettings(CutSettings):
    """How files become a cohort: options of ``import`` and of ``load``."""

    kind: (
        Literal["bids", "nifti", "conn", "hcp", "ukb", "rest-meta-mdd", "abide", "mne", "arrays"]
        | None
    ) = read("what the files are; recognised if not given", None, takes=str | None)
    labels: Place = read(
        "table of labels (csv, tsv, xlsx); participants.tsv is found if not given",
        None,
        front=True,
        metavar="FILE",
        takes=str | os.PathLike[str] | None,
    )
    id_column: str | None = read("column of the table with the ids; found if not given", None)
    by_position: bool = read("row n of the table belongs to scan n of an array", False)
    atlas: Place = read(
        "which atlas, where there are several; for images its name (schaefer400) or file",
        None,
        front=True,
        metavar="NAME",
        takes=str | os.PathLike[str] | None,
    )
    regions: Names | None = read(
        "keep these: names, patterns (LH_*), or a region set (dosenbach-dmn33)", None
    )
    task: Names | None = read("only these tasks", None, front=True)
    session: Names | None = read("only these sessions", None)
    run: Names | None = read("only these runs", None)
    sites: Names | None = read("only these sites", None)
    condition: Text = read("of CONN: number or name; 0 is all sessions", None)
    space: str | None = read("value of the space- entity", None)
    desc: str | None = read("value of the desc- entity", None)
    entity: Annotated[list[str], BeforeValidator(as_assignments)] = read(
        "any other entity: reg=36Parameter",
        [],
        takes=Mapping[str, str] | Sequence[str],
        metavar="KEY=LABEL",
    )
    tr: float | None = read("repetition time in seconds, where files do not tell it", None)
    layout: Literal["auto", "time-region", "region-time"] = read(
        "what the rows of a scan are; found where that is certain", "auto", takes=str
    )
    key: str | None = read("name of the signals in .npz and .mat files", None)
    pattern: str | None = read("which files of a folder: '*_rois.csv', '**/*.mat'", None)
    file_names: str | None = read(
        "what file names say: '{subject}_{session}', '{subject}/*/{run}'", None, flag="--names"
    )
    confounds: str | None = imaged(
        "simple, scrubbing, compcor, ica_aroma, components (motion,wm_csf), or none; simple for "
        "images of fMRIPrep",
        None,
        front=True,
        metavar="STRATEGY",
    )
    confound_options: dict[str, Any] = imaged("of nilearn's load_confounds: fd_threshold=0.2", {})
    low_pass: float | None = imaged("cut-off in Hz", None, gt=0)
    high_pass: float | None = imaged("cut-off in Hz", None, gt=0)
    detrend: bool = imaged("remove a linear trend", False)
    smoothing: float | None = imaged("spatial filter, FWHM in mm", None, gt=0)
    radius: float = imaged("of spheres around coordinates, in mm", 5.0, gt=0)
    mask: Place = imaged(
        "use only voxels inside", None, metavar="FILE", takes=str | os.PathLike[str] | None
    )
    atlas_names: Place = imaged(
        "table index, name of a label image",
        None,
        metavar="FILE",
        takes=str | os.PathLike[str] | None,
    )
    data_dir: Place = imaged(
        "where downloads are kept; nilearn's folder by default",
        None,
        metavar="FOLDER",
        takes=str | os.PathLike[str] | None,
    )
    variant: str = released("preprocessing: the end of the folder's name", "FunImgARglobalCWF")
    pipeline: Literal["ccs", "cpac", "dparsf", "niak"] = released("preprocessing of ABIDE", "ccs")
    band_pass: bool = released("ABIDE band-passed 0.01-0.1 Hz", True)
    global_signal: bool = released("ABIDE with the global signal regressed out", False)
    quality_checked: bool = released("only scans of ABIDE that all raters passed", True)
    subjects: int | None = released("only the first N subjects of ABIDE", None, ge=1)
    url: str | None = released("where ABIDE is, if mirrored", None)
    picks: Names = measured("channels: eeg, mag, grad, data, or names", ["data"])
    rate: float | None = measured("resample to this rate in Hz", None, gt=0)


class QuestionSettings(Seeded):
    """What is asked of operators, how they are scored and tested."""

    score: str | None = asked(
        "how operators are scored; share for labels and numbers, cohen_d for subject by default",
        None,
        details="An unknown name is an error that lists all.",
        front=True,
        metavar="NAME",
    )
    covariates: Columns = asked(
        "columns whose influence is taken out, for example site,mean_fd,age,sex",
        [],
        details="Scores of pairs (such as cohen_d) compare inside categories only.",
        front=True,
        metavar="COLUMNS",
    )
    covariate_form: Literal["spline", "linear"] = asked(
        "how covariates that are numbers are taken out: natural splines, or straight lines",
        "spline",
        details="A spline has 4 degrees of freedom, fewer where there are few subjects or values.",
    )
    families: Columns = asked(
        "columns of relatives, outermost first: families, twin pairs; or one person's visits",
        [],
        details="Families of the same structure are permuted as wholes, their members among "
        "themselves; halves, folds and redraws keep families together. Subjects without a value "
        "have no relatives.",
        front=True,
        metavar="COLUMNS",
    )
    within: Annotated[str | Literal[False] | None, BeforeValidator(_as_column)] = asked(
        "compare inside the groups of this column only; false: permute across sites too",
        None,
        details="By default, if there is a column of sites (site, SITE_ID, scanner, center), the "
        "target is permuted and subjects are redrawn inside sites, and nothing else is changed.",
        metavar="COLUMN",
    )
    harmonise: str | None = asked(
        "ComBat: bring features of the groups of this column (site) to one location and scale",
        None,
        details="It keeps the covariates, never sees the target, and learns from the training "
        "subjects of every fold.",
        metavar="COLUMN",
    )
    treat_as: Annotated[list[str], BeforeValidator(as_assignments)] = asked(
        "what columns of numbers are, where it is not clear: number, classes, or age=number",
        [],
        flag="--as",
        metavar="number|classes",
        takes=str | Sequence[str] | Mapping[str, str] | None,
    )
    drop_missing: bool = asked(
        "leave subjects out whose covariates are unknown, instead of an error", False
    )
    similarity: Literal["spearman", "pearson"] = scored("how two matrices are compared", "spearman")
    vectorize: Literal["offdiag", "upper", "sym_upper"] = scored(
        "which entries of the matrices are compared", "offdiag"
    )
    pooled: bool = scored(
        "pair scores: every pair counts alike instead of every class, as in the paper",
        False,
        details="No effect on scores of subjects such as share.",
    )
    overlapping: bool = scored(
        "pair scores: compare windows that share time points, as in the paper", False
    )
    same_subject: bool = scored("labels: also compare samples of one subject (rarely wise)", False)
    across_sessions: bool | None = scored(
        "fingerprinting: compare a subject's samples across sessions only; by default if there "
        "are several",
        None,
    )
    folds: int = scored("score predict: parts into which subjects are divided", 10, ge=2)
    repeats: int = scored("score predict: how many divisions into parts", 10, ge=1)
    leave_out: str | None = scored(
        "score predict: the groups of this column are the parts, for example site",
        None,
        metavar="COLUMN",
    )
    max_nonfinite: float = scored(
        "share of samples on which an operator may fail before it is left out", 0.0, ge=0, le=1
    )
    max_constant: float = scored(
        "share of samples whose matrix may be constant before an operator is left out",
        0.01,
        ge=0,
        le=1,
    )
    permutations: int = tested("permutations of the target, for p; 0 for none", 1000, ge=0)
    bootstrap: int = tested("redraws of subjects, for intervals; 0 for none", 1000, ge=0)
    confidence: float = tested("coverage of the intervals", 0.95, gt=0, lt=1)
    memory: Text = worked(
        "how much a ranking may take, for example 4G",
        None,
        details="Vectors that do not fit are kept in a temporary file; no result depends on it. "
        "Too little for the tables of all pairs of samples is an error before any work.",
        decides=False,
        takes=str | float | None,
    )


class CardSettings(Settings):
    """What else operators are judged by."""

    criteria: Columns = asked(
        "the card, what else operators are judged by: reliability, motion, site, columns "
        "(sex=unwanted), none",
        [],
        details="By default what the cohort has.",
        metavar="NAMES",
    )


class RankSettings(QuestionSettings):
    """Options of ``rank``."""

    task: str = asked(TASK_HELP, "subject", front=True)
    spis: Names | None = asked(
        "operators: sets, identifiers or globs; by default all of a store, paper-fast of a cohort",
        None,
        front=True,
    )
    n_jobs: int = worked(
        "threads, each with memory of its own", 1, ge=1, decides=False, flag="--jobs"
    )


class ComputeSettings(Seeded, Worked):
    """Options of ``compute``."""

    spis: Names = setting(
        "operators: sets, identifiers or globs; they are added to those in the store",
        ["paper-fast"],
        front=True,
    )
    seed: int = setting(
        "seed of operators that draw random numbers; with another one they are computed again",
        0,
        front=True,
    )
    force: bool = setting("compute the operators again even if they are there", False, front=True)
    block_size: int | None = setting(
        "samples per piece of a new store; by default chosen for every family by its cost",
        None,
        ge=1,
    )


class MethodSettings(Settings):
    """What goes to the method that chooses a core-set."""

    epochs: int | None = staged("length of training, for methods that train a network", None, ge=1)
    device: str | None = staged(
        "where networks are trained: auto (the default), cpu, cuda or cuda:1",
        None,
        decides=False,
    )
    parameters: dict[str, Any] = staged(
        "parameters of the method; `sclcs select --list --method NAME` shows them",
        {},
        flag="--param",
    )

    @property
    def method_parameters(self) -> dict[str, Any]:
        """All that is given to the method."""
        given = {"epochs": self.epochs, "device": self.device}
        return self.parameters | {name: value for name, value in given.items() if value is not None}


class SelectSettings(Seeded, MethodSettings):
    """Options of ``select``."""

    method: str = setting(
        "how the core-set is chosen; `sclcs select --list` explains the methods",
        DEFAULT_METHOD,
        front=True,
    )
    ratio: float = setting("share of the samples to keep", DEFAULT_RATIO, gt=0, le=1, front=True)
    seed: int = setting("same seed, same core-set", 0, front=True)


class PlanSettings(SelectSettings):
    """Options of ``plan``."""

    spis: Names = setting("operators: sets, identifiers or globs", ["all"], front=True)
    top_k: int = setting("operators computed on the full cohort at the end", 5, ge=1, front=True)


class RunSettings(QuestionSettings, CardSettings, MethodSettings, Worked):
    """Options of ``run``, and the keys of a configuration file.

    Relative paths in a file start at the folder of the file.
    """

    model_config = ConfigDict(strict=False)  # YAML may write a number as a text

    cohort: str | None = setting("the cohort, made by `sclcs cohort`", None)
    out: str | None = setting(
        "folder of the run: new, or begun by the same command",
        None,
        decides=False,
        front=True,
        metavar="PATH",
        takes=str | os.PathLike[str] | None,
    )
    task: Names = asked(
        TASK_HELP,
        ["subject"],
        front=True,
        commas=False,  # names of columns may have some
    )
    spis: Names = asked(
        "operators to compare: sets, identifiers or globs", ["paper-fast"], front=True
    )
    budget: Text = bought(
        "CPU time (10m, 2h) or share of the full cost that may be spent; 5% by default",
        None,
        front=True,
    )
    exact_below: float = bought(
        "CPU seconds; if everything costs less, it is computed whatever the budget", 120.0, ge=0
    )
    method: str | None = staged(
        f"two stages instead of a budget: how the core-set is chosen; {DEFAULT_METHOD} by default",
        None,
    )
    ratio: float | None = staged(
        "two stages instead of a budget: share of the samples in it; 0.1 by default",
        None,
        gt=0,
        le=1,
    )
    top_k: int = told("operators per task to compute on the full cohort", 5, ge=1)
    full_benchmark: bool = told(
        "also compute all operators on the full cohort, to see how right the answer was", False
    )
    export: Annotated[list[ExportFormat], BeforeValidator(as_list)] = told(
        "also write the winners' matrices: relmat (BIDS-like tables), npz, mat, csv", []
    )
    keep: Literal["all", "winners", "none"] = worked(
        "matrices that stay when the run is finished; winners are the best top_k per task",
        "all",
        details="No result depends on it; what is needed again is computed again.",
    )
    disk: Annotated[str, BeforeValidator(as_text)] = worked(
        "how much matrices that are not kept may take at a time",
        "50G",
        details="If all of them are more, a budgeted run computes, scores and removes some after "
        "others. No result depends on it.",
    )
    on_bad: Literal["error", "skip"] = worked(
        "samples with constant regions: stop, or leave them out", "error"
    )
    title: str = told("heading of the report", "")
    description: str = told("a few words about the cohort, for the report", "")
