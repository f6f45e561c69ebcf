"""Methods as the tables name them: selectors, and selectors with some parameters changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sclcs.selection.registry import Selector

__all__ = ["VARIANTS", "Variant", "known_methods", "parameters_of", "selector_of"]


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
    from sclcs.selection import SELECTORS

    return [*SELECTORS, *VARIANTS]


def selector_of(method: str) -> Selector:
    """Return the selector behind a method of the tables."""
    from sclcs.selection import SELECTORS

    return SELECTORS[VARIANTS[method].method if method in VARIANTS else method]


def parameters_of(method: str) -> dict[str, Any]:
    """Return what a method of the tables changes about its selector."""
    return dict(VARIANTS[method].parameters) if method in VARIANTS else {}
