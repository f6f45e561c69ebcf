"""The selection methods: one row of facts per method, and the size of a core-set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError, UnknownNameError

__all__ = ["SELECTORS", "Choice", "Selector", "core_size", "find_selector", "register"]


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
    facts : mapping
        What else should be recorded with the core-set.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


Choose = Callable[..., Choice]


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
        ``choose(cohort, size, seed, **parameters) -> Choice``.
    parameters : mapping
        Names the method knows and their defaults. None as a default means "not set".
    parameter_help : mapping
        One sentence per parameter.
    direction : {"low", "high", "none"}
        Which end of the score is kept.
    needs_labels : bool
        Whether label columns are used; subjects are not labels.
    needs_training : bool
        Whether a network is trained, so that ``epochs`` means something.
    nested : bool
        Whether a smaller core-set of the same seed is always part of a larger one.
    """

    name: str
    summary: str
    reference: str
    choose: Choose
    parameters: Mapping[str, Any] = field(default_factory=dict)
    parameter_help: Mapping[str, str] = field(default_factory=dict)
    direction: Literal["low", "high", "none"] = "none"
    needs_labels: bool = False
    needs_training: bool = False
    nested: bool = False

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters; an unknown name is an error that lists the known ones."""
        unknown = [name for name in given if name not in self.parameters]
        if "density" in unknown:
            raise self._no_density()
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise UnknownNameError(
                f"Unknown parameter of {self.name}: {', '.join(unknown)}; the known ones are "
                f"{known}."
            )
        return {**self.parameters, **given}

    @property
    def can_balance(self) -> bool:
        """Whether samples can be drawn in balance with the density of their scores."""
        return "density" in self.parameters

    def _no_density(self) -> InputError:
        able = ", ".join(name for name, other in SELECTORS.items() if other.can_balance)
        return InputError(
            f"Density balancing draws single samples by their score, which {self.name} does not "
            f"do; leave density out or use one of {able}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return {
            "name": self.name,
            "summary": self.summary,
            "reference": self.reference,
            "parameters": dict(self.parameters),
            "parameter_help": dict(self.parameter_help),
            "direction": self.direction,
            "needs_labels": self.needs_labels,
            "needs_training": self.needs_training,
            "nested": self.nested,
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
    if not isinstance(ratio, int | float) or not 0 < ratio <= 1:
        raise InputError(f"Expected a ratio above 0 and at most 1, got {ratio!r}.")
    size = int(ratio * len(cohort))
    if size < 1:
        raise InputError(
            f"A ratio of {ratio:g} of {len(cohort)} samples leaves no sample; "
            f"use at least {1 / len(cohort):.2g}."
        )
    return size
