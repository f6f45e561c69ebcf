"""The selection methods: one row per method, and the size of a core-set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    METHOD_WITHOUT_TRAINING,
    InputError,
    MissingDependencyError,
    Settings,
    UnknownNameError,
    plain,
)
from sclcs.cohort import Cohort


@dataclass(frozen=True, eq=False)
class Choice:
    """What a method chose.

    Parameters
    ----------
    rows : array of int
        Row numbers of the chosen samples, best first where there is an order.
    scores : array of float, optional
        Score of every sample of the cohort, chosen or not.
    weights : array of float, optional
        How many samples each chosen one stands for.
    info : mapping
        What else is recorded with the core-set.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    info: Mapping[str, Any] = field(default_factory=dict)


Choose = Callable[[Cohort, int, int, Any], Choice]


class NoParameters(Settings):
    """Of methods that have none."""


@dataclass(frozen=True)
class Selector:
    """A method that chooses samples.

    Parameters
    ----------
    name : str
        What the user types.
    summary : str
        One line for a list of methods.
    reference : str
        Where the method comes from.
    choose : callable
        ``choose(cohort, size, seed, parameters) -> Choice``.
    version : int
        Raised when the same cohort, size, seed and parameters give another choice than before.
    parameters : type
        The method's parameters: default, meaning and check of each.
    direction : {"low", "high", "none"}
        Which end of the score is kept.
    needs_labels : bool
        Whether label columns are used; subjects are not labels.
    network : {"", "encoder", "classifier"}
        Which network can be trained.
    needs_training : bool
        Whether it always is, so that ``epochs`` means something.
    can_balance : bool
        Whether samples can be drawn in balance with the density of their scores.
    nested : bool
        Whether a smaller core-set of the same seed is always part of a larger one.
    """

    name: str
    summary: str
    reference: str
    choose: Choose
    version: int = 1
    parameters: type[Settings] = NoParameters
    direction: Literal["low", "high", "none"] = "none"
    needs_labels: bool = False
    network: Literal["", "encoder", "classifier"] = ""
    needs_training: bool = False
    can_balance: bool = False
    nested: bool = False

    @property
    def takes_task(self) -> bool:
        """Whether a task can be named: what is learned, or what operators are ranked for."""
        return "task" in self.parameters.model_fields

    @property
    def asks_task(self) -> bool:
        """Whether the choice always depends on the task."""
        return self.takes_task and self.needs_training

    @property
    def follows_target(self) -> bool:
        """Whether labels and connectivity decide together, so that effects look larger there."""
        return self.network == "classifier"

    def require_packages(self) -> None:
        """Raise if the method trains a network and torch is not installed."""
        if self.needs_training and find_spec("torch") is None:
            raise MissingDependencyError(
                f"The selection method {self.name} trains a network and needs torch, which is not "
                "installed. Install it with `pip install 'sclcs[torch]'`, or choose a method that "
                f"does without, for example {METHOD_WITHOUT_TRAINING}."
            )

    def complete(self, given: Mapping[str, Any]) -> Settings:
        """Return all parameters, checked; an unknown name is an error that lists the known ones."""
        if "density" in given and not self.can_balance:
            able = ", ".join(name for name, other in SELECTORS.items() if other.can_balance)
            raise InputError(
                f"Density balancing draws single samples by their score, which {self.name} does "
                f"not do; leave density out or use one of {able}."
            )
        self.parameters.refuse_unknown(given, f"parameter of {self.name}:")
        return self.parameters(**given)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        shown = set(self.__dataclass_fields__) - {"choose", "parameters", "network"}
        return {name: getattr(self, name) for name in sorted(shown)} | {
            "parameters": plain(self.parameters.defaults()),
            "parameter_help": self.parameters.helps(),
        }


#: All methods, in the order in which they are listed.
SELECTORS: dict[str, Selector] = {}


def register(selector: Selector) -> Selector:
    """Add a method to the list."""
    SELECTORS[selector.name] = selector
    return selector


def find_selector(name: str) -> Selector:
    """Return the method of that name; an unknown one is an error that lists the known ones."""
    if name not in SELECTORS:
        raise UnknownNameError(
            f"Unknown selection method {name!r}; the known ones are {', '.join(SELECTORS)}."
        )
    return SELECTORS[name]


def core_size(cohort: Cohort, ratio: float) -> int:
    """Return int(ratio * number of samples), at least one, or say what is wrong."""
    if not 0 < ratio <= 1:
        raise InputError(f"Expected a ratio above 0 and at most 1, got {ratio!r}.")
    size = int(ratio * len(cohort))
    if size < 1:
        raise InputError(
            f"A ratio of {ratio:g} of {len(cohort)} samples leaves no sample; "
            f"use at least {1 / len(cohort):.2g}."
        )
    return size
