"""From latent connectivity to a scan: states, haemodynamics, noise, motion, pass band."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.simulation.effects import Effects
from sclcs.core.errors import InputError

__all__ = ["Motion", "Scanner", "haemodynamic_response", "state_sequence"]

Floats = NDArray[np.float64]

_MARGIN_SECONDS = 60.0  # filters settle outside the part that is kept
_EVENTS_PER_MINUTE = 0.6
_QUIET_MOTION_MM = 0.08
_SPREAD_OF_MOTION = 0.35
_MM_PER_EVENT = 0.05


def haemodynamic_response(tr: float) -> Floats:
    """Sample the canonical double-gamma response at the repetition time.

    A gamma density with its peak at 5 s minus a sixth of one with its peak at 15 s.
    """
    from scipy.stats import gamma

    seconds = np.arange(0.0, 32.0, tr)
    response = gamma.pdf(seconds, 6) - gamma.pdf(seconds, 16) / 6
    return np.asarray(response / np.linalg.norm(response))


def state_sequence(
    n_timepoints: int, n_states: int, dwell_points: float, draw: np.random.Generator
) -> NDArray[np.int64]:
    """Draw which state is active at each time point; a change always goes to another state."""
    leave = draw.random(n_timepoints) < 1.0 / max(dwell_points, 1.0)
    leave[0] = False
    steps = np.where(leave, draw.integers(1, n_states, n_timepoints), 0)
    return np.asarray((draw.integers(n_states) + np.cumsum(steps)) % n_states, dtype=np.int64)


@dataclass(frozen=True)
class Motion:
    """The motion of one scan: an artefact trace (or none) and the mean displacement in mm."""

    trace: Floats | None
    displacement: float


@dataclass(frozen=True)
class Scanner:
    """Turns mixing matrices into the signals of scans of one length.

    Parameters
    ----------
    n_timepoints : int
        Length of a scan.
    tr : float
        Repetition time in seconds.
    effects : Effects
        Strengths of noise, motion and the pass band.
    """

    n_timepoints: int
    tr: float
    effects: Effects

    @cached_property
    def margin(self) -> int:
        """Time points simulated and cut off at either end."""
        return int(np.ceil(_MARGIN_SECONDS / self.tr))

    @cached_property
    def n_simulated(self) -> int:
        """Time points simulated, a length the Fourier transform likes."""
        from scipy.fft import next_fast_len

        return int(next_fast_len(self.n_timepoints + 2 * self.margin, real=True))

    @cached_property
    def _frequencies(self) -> Floats:
        return np.asarray(np.fft.rfftfreq(self.n_simulated, self.tr), dtype=np.float64)

    @cached_property
    def _pass_band(self) -> Floats:
        low, high = self.effects.low_hz, self.effects.high_hz
        passed = (self._frequencies >= low) & (self._frequencies <= high)
        if not passed.any():
            raise InputError(
                f"The pass band from {low} to {high} Hz holds no frequency of scans of "
                f"{self.n_timepoints} time points every {self.tr} s; widen it."
            )
        return passed.astype(np.float64)

    @cached_property
    def _neural_filter(self) -> NDArray[np.complex128]:
        response = np.fft.rfft(haemodynamic_response(self.tr), self.n_simulated)
        return self._unit_gain(response * self._pass_band)

    @cached_property
    def _noise_filter(self) -> NDArray[np.complex128]:
        turn = np.exp(-2j * np.pi * self._frequencies * self.tr)
        return self._unit_gain(self._pass_band / (1.0 - self.effects.colour * turn))

    def _unit_gain(self, response: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Scale a filter so that white noise of variance 1 keeps its variance."""
        doubled = np.full(len(response), 2.0)  # each frequency stands for itself and its mirror
        doubled[0] = 1.0
        if self.n_simulated % 2 == 0:
            doubled[-1] = 1.0
        gain = np.sqrt(np.sum(doubled * np.abs(response) ** 2) / self.n_simulated)
        return np.asarray(response / gain)

    def scan(
        self, mixing: Floats, motion: Motion, draw: np.random.Generator
    ) -> NDArray[np.float32]:
        """Simulate one scan.

        Parameters
        ----------
        mixing : ndarray, shape (state, region, region)
            Mixing matrix of each state.
        motion : Motion
            The artefact to add.
        draw : Generator
            The scan's own generator.

        Returns
        -------
        ndarray of float32, shape (region, time)
        """
        n_states, n_regions, _ = mixing.shape
        dwell = self.effects.dwell_seconds / self.tr
        states = state_sequence(self.n_simulated, n_states, dwell, draw)
        white = draw.standard_normal((n_regions, self.n_simulated))
        neural = np.empty_like(white)
        for state in np.unique(states):
            active = states == state
            neural[:, active] = mixing[state] @ white[:, active]
        noise = draw.standard_normal((n_regions, self.n_simulated))
        share = self.effects.noise
        spectrum = np.sqrt(1 - share) * self._neural_filter * np.fft.rfft(neural)
        spectrum += np.sqrt(share) * self._noise_filter * np.fft.rfft(noise)
        if motion.trace is not None:
            coupling = 1.0 + 0.5 * draw.standard_normal((n_regions, 1))
            spectrum += coupling * (self._pass_band * np.fft.rfft(motion.trace))
        signals = np.fft.irfft(spectrum, self.n_simulated)
        signals *= np.exp(self.effects.amplitude * draw.standard_normal((n_regions, 1)))
        kept = slice(self.margin, self.margin + self.n_timepoints)
        return np.asarray(signals[:, kept], dtype=np.float32)

    def motion(self, draw: np.random.Generator) -> Motion:
        """Draw whether the subject moves in a scan, and the spikes and steps if so."""
        quiet = _QUIET_MOTION_MM * np.exp(_SPREAD_OF_MOTION * draw.standard_normal())
        moves = draw.random() < self.effects.motion_share
        minutes = self.n_simulated * self.tr / 60
        n_events = 1 + draw.poisson(_EVENTS_PER_MINUTE * minutes)
        if not moves or self.effects.motion_size == 0:
            return Motion(None, round(float(quiet), 4))
        trace = np.zeros(self.n_simulated)
        for _ in range(n_events):
            start = draw.integers(self.n_simulated)
            size = self.effects.motion_size * draw.standard_normal()
            is_step = draw.random() < 0.3
            length = self.n_simulated if is_step else draw.integers(1, 4)
            trace[start : start + length] += size
        displacement = quiet + _MM_PER_EVENT * n_events / minutes
        return Motion(trace, round(float(displacement), 4))
