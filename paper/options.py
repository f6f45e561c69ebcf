"""How an experiment is run: seeds, repeats, lengths of training, sizes of core-sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sclcs._core import InputError, UnknownNameError, name_first
from sclcs.coresets import Selector


@dataclass(frozen=True)
class Variant:
    """A selector under another name.

    Parameters
    ----------
    method : str
        The selector.
    parameters : mapping
        What differs from its defaults.
    """

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


#: Not compared unless asked for by name, because trainings of the published scripts are five
#: times as long as those of the paper's text.
VARIANTS = {
    "sclcs-official": Variant("sclcs", {"preset": "official"}),
    "sclcs-dense-official": Variant("sclcs-dense", {"preset": "official"}),
    "sps-mha-official": Variant("sps-mha", {"preset": "mha-published"}),
    "boss-medium": Variant("boss", {"beta_a": 2.0, "beta_b": 2.0}),
}


def known_methods() -> list[str]:
    """Return every method that an experiment can compare."""
    from sclcs.coresets import SELECTORS

    return [*SELECTORS, *VARIANTS]


def selector_of(method: str) -> Selector:
    """Return the selector behind a method of the tables."""
    from sclcs.coresets import SELECTORS

    return SELECTORS[VARIANTS[method].method if method in VARIANTS else method]


def parameters_of(method: str) -> dict[str, Any]:
    """Return what a method of the tables changes about its selector."""
    return dict(VARIANTS[method].parameters) if method in VARIANTS else {}


#: The paper's methods, in the order of its tables.
PAPER_METHODS = (
    "random",
    "kmeans",
    "forgetting",
    "entropy",
    "el2n",
    "aum",
    "ccs",
    "eva",
    "boss",
    "sclcs",
    "sclcs-dense",
    "sps-mha",
)
PAPER_RATIOS = (0.1, 0.3, 0.5)
WHOLE_NUMBERS = (
    "repeats",
    "draws",
    "epochs",
    "classifier_epochs",
    "splits",
    "family_splits",
    "jobs",
)
#: Options that decide which cells there are, not what is found in them.
WHICH_CELLS = ("repeats", "draws", "ratios", "methods", "tasks", "family_splits", "jobs")
TOY_OPERATORS = (
    "cov_EmpiricalCovariance",
    "kendalltau",
    "xcorr_max_sig-True",
    "pdist_chebyshev",
    "mi_gaussian",
    "te_kernel_W-0.25_k-1",
)


@dataclass(frozen=True)
class Options:
    """What may be changed about an experiment.

    Parameters
    ----------
    seed : int
        Repeat r of an experiment uses the seed ``seed + r`` for trainings and draws.
    repeats : int
        Of every method.
    draws : int
        Repeats of the method ``random``, which costs nothing and is the yardstick.
    epochs : int
        Of trainings of the encoder with the paper's settings; those of the published scripts
        are five times as long.
    classifier_epochs : int, optional
        Of trainings of the baselines' classifier; as `epochs` if not given.
    ratios : sequence of float
        Sizes of core-sets, as shares of the samples.
    methods : sequence of str
        Selection methods.
    tasks : sequence of str
        What operators are ranked for.
    spis : str or sequence of str
        Operators that are ranked.
    splits : int
        Random halves of the subjects for the ceiling.
    family_splits : int
        Random halves of the families of operators: one is known, the other is estimated. Split
        s has the number ``seed + s``.
    jobs : int
        Processes that compute matrices and threads that rank; no part of the result.
    toy : bool
        Whether sizes were cut down to try the machinery.
    """

    seed: int = 0
    repeats: int = 5
    draws: int = 20
    epochs: int = 200
    classifier_epochs: int | None = None
    ratios: tuple[float, ...] = PAPER_RATIOS
    methods: tuple[str, ...] = PAPER_METHODS
    tasks: tuple[str, ...] = ("subject", "diagnosis")
    spis: str | tuple[str, ...] = "paper-fast"
    splits: int = 50
    family_splits: int = 5
    jobs: int = 1
    toy: bool = False

    def __post_init__(self) -> None:
        for name in WHOLE_NUMBERS:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise InputError(f"`{name}` must be an integer above 0, got {value!r}.")
        wrong = [ratio for ratio in self.ratios if not 0 < ratio <= 1]
        if wrong or not self.ratios:
            raise InputError(
                f"Expected ratios above 0 and at most 1, got {name_first(wrong) or 'none'}."
            )
        self._check_methods()

    def _check_methods(self) -> None:
        known = known_methods()
        unknown = [name for name in self.methods if name not in known]
        if unknown or not self.methods:
            raise UnknownNameError(
                f"Unknown selection method {name_first(unknown) or '(none given)'}; the known "
                f"ones are {', '.join(known)}."
            )

    @classmethod
    def make(cls, *, toy: bool = False, **given: Any) -> Options:  # noqa: ANN401
        """Return options; None means the default, which is tiny for a toy run.

        Parameters
        ----------
        toy : bool
            Start from sizes that finish in seconds.
        **given : object
            Fields that differ; sequences may be lists.
        """
        start = cls(
            repeats=2,
            draws=3,
            epochs=2,
            ratios=(0.3, 0.5),
            splits=4,
            family_splits=2,
            spis=TOY_OPERATORS,
            toy=True,
        )
        known = cls.__dataclass_fields__
        unknown = [name for name in given if name not in known]
        if unknown:
            raise UnknownNameError(
                f"Unknown option {name_first(unknown)}; the known ones are {', '.join(known)}."
            )
        chosen: dict[str, Any] = {
            name: _fixed(value) for name, value in given.items() if value is not None
        }
        return replace(start if toy else cls(), **chosen)

    @property
    def baseline_epochs(self) -> int:
        """Epochs of trainings of the classifier."""
        return self.classifier_epochs or self.epochs

    @property
    def paper_ratios(self) -> list[float]:
        """The sizes that the paper has too, or all if there is none."""
        return [ratio for ratio in self.ratios if ratio in PAPER_RATIOS] or list(self.ratios)

    def ratios_up_to(self, most: float) -> list[float]:
        """Return the sizes up to one, or the smallest if there is none."""
        return [ratio for ratio in self.ratios if ratio <= most] or [min(self.ratios)]

    @property
    def split_numbers(self) -> range:
        """Numbers of the random halves of the families."""
        return range(self.seed, self.seed + self.family_splits)

    def seeds(self, method: str = "") -> list[int]:
        """Return the seeds of the repeats of a method."""
        count = max(self.draws, self.repeats) if method == "random" else self.repeats
        return [self.seed + repeat for repeat in range(count)]

    def deciding(self) -> dict[str, Any]:
        """Return what decides the value of a cell besides the seed.

        The rest only decides which cells there are.
        """
        values = asdict(self) | {"classifier_epochs": self.baseline_epochs}
        for name in (*WHICH_CELLS, "seed"):
            values.pop(name)
        return values


def _fixed(value: object) -> object:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
