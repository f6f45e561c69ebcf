"""What a run may cost: a time, or a share of what everything on everybody would cost."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sclcs.core.errors import InputError

__all__ = ["DEFAULT_BUDGET", "Budget", "parse_budget", "percent_words", "time_words"]

DEFAULT_BUDGET = "5%"
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
