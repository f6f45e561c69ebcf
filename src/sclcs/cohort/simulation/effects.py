"""How strong each effect of a simulated cohort is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sclcs.core.errors import InputError, UnknownNameError, name_first

__all__ = ["Effects"]

_SHARES = ("noise", "motion_share")
_BELOW_ONE = ("noise", "colour")


@dataclass(frozen=True)
class Effects:
    """Strengths of everything that shapes a simulated scan.

    The defaults are calibrated on a real cohort of 33 regions
    (``tools/calibrate_simulator.py``); zero switches an effect off. Connectivity strengths
    are the root mean square, over pairs of regions, of the change of the log-connectivity
    (the matrix logarithm of the correlation matrix, in which effects add up and every sum
    is a valid connectivity).

    Parameters
    ----------
    subject : float
        Stable deviation of each subject from the population (log-connectivity).
    subject_global : float
        Stable deviation of each subject's overall level of connectivity: standard
        deviation of a factor on the strongest mode of the population (log-connectivity).
    session : float
        Deviation of one scan of a subject from another (log-connectivity). Not
        calibrated: the real cohort has one scan per subject.
    site : float
        Deviation of each site (log-connectivity).
    group : float
        Deviation of each diagnostic group from the mean of the groups
        (log-connectivity).
    state : float
        Deviation of each brain state, shared by all subjects (log-connectivity).
    dwell_seconds : float
        Mean time in a state before the next change.
    noise : float
        Share of the variance of each region that is measurement noise, between 0 and 1.
    colour : float
        Lag-1 coefficient of the noise before band-limitation, between 0 (white) and 1.
    motion_share : float
        Share of scans with motion artefacts.
    motion_size : float
        Size of an artefact, in standard deviations of a region before band-limitation.
    amplitude : float
        Spread of the standard deviations of the regions: standard deviation of their
        logarithm.
    low_hz, high_hz : float
        Pass band of the preprocessing that is imitated.
    """

    subject: float = 0.208
    subject_global: float = 0.6
    session: float = 0.075
    site: float = 0.049
    group: float = 0.0095
    state: float = 0.092
    dwell_seconds: float = 140.0
    noise: float = 0.25
    colour: float = 0.39
    motion_share: float = 0.2
    motion_size: float = 2.0
    amplitude: float = 0.3
    low_hz: float = 0.01
    high_hz: float = 0.1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0:
                raise InputError(
                    f"Expected the effect {field.name} to be 0 or a positive number, got {value}."
                )
        for name in _SHARES:
            if getattr(self, name) > 1:
                raise InputError(f"Expected {name} between 0 and 1, got {getattr(self, name)}.")
        for name in _BELOW_ONE:
            if getattr(self, name) >= 1:
                raise InputError(f"Expected {name} below 1, got {getattr(self, name)}.")
        if self.dwell_seconds == 0:
            raise InputError(
                "Expected dwell_seconds above 0, got 0; to switch states off, use state=0."
            )
        if self.low_hz >= self.high_hz:
            raise InputError(
                f"Expected low_hz below high_hz, got {self.low_hz} and {self.high_hz}."
            )

    def change(self, strengths: Mapping[str, float]) -> Effects:
        """Return the effects with some strengths replaced; unknown names are an error."""
        known = [field.name for field in fields(self)]
        unknown = [name for name in strengths if name not in known]
        if unknown:
            raise UnknownNameError(
                f"Unknown effects: {name_first(unknown)}; known ones are {', '.join(known)}."
            )
        return replace(self, **strengths)

    def to_dict(self) -> dict[str, Any]:
        """Return the strengths, for the provenance."""
        return asdict(self)
