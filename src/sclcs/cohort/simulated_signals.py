"""Signals of simulated scans: the population, its deviations, the scanner, motion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, Settings, generator, setting

strength = partial(setting, ge=0, allow_inf_nan=False)


class Effects(Settings):
    """Strengths of everything that shapes a simulated scan; zero switches an effect off.

    The defaults are calibrated on a real cohort of 33 regions (``tools/calibrate_simulator.py``).
    Strengths of connectivity are the root mean square, over pairs of regions, of the change of the
    log-connectivity (the matrix logarithm of the correlation matrix, in which effects add up and
    every sum is a valid connectivity).
    """

    subject: float = strength("stable deviation of each subject from the population", 0.208)
    subject_global: float = strength("of its overall level, the strongest mode", 0.6)
    session: float = strength("of one scan from another; not calibrated", 0.075)
    site: float = strength("of each site", 0.049)
    group: float = strength("of each diagnostic group from the mean of the groups", 0.0095)
    state: float = strength("of each brain state, shared by all subjects", 0.092)
    dwell_seconds: float = setting("mean time in a state before a change", 140.0, gt=0)
    noise: float = strength("share of the variance of each region", 0.25, lt=1)
    colour: float = strength("lag-1 coefficient of noise before band-limitation", 0.39, lt=1)
    motion_share: float = strength("share of scans with artefacts", 0.2, le=1)
    motion_size: float = strength("in standard deviations before band-limitation", 2.0)
    amplitude: float = strength("standard deviation of the regions' log amplitude", 0.3)
    low_hz: float = strength("pass band of the preprocessing that is imitated", 0.01)
    high_hz: float = strength("its upper end", 0.1)

    @classmethod
    def noun(cls) -> str:
        """Return what a field is called in error messages."""
        return "effect"


Floats = NDArray[np.float64]

# The population is the same for every seed, as the human default-mode network is.
_POPULATION_SEED = 33
_N_NETWORKS = 5
_GLOBAL_LOADING = 0.62
_NETWORK_LOADING = 0.565
_LOADING_SPREAD = 0.155
_HIGHEST_COMMUNALITY = 0.92
N_STATES = 4


@dataclass(frozen=True)
class Anatomy:
    """What all simulated subjects share."""

    log_connectivity: Floats  # matrix logarithm of the population's correlation matrix
    strongest_mode: Floats  # projector on its leading eigenvector

    def pattern(self, strength: float, seed: int, *axes: object) -> Floats:
        """Draw a symmetric deviation of the log-connectivity.

        Its off-diagonal root mean square is `strength` exactly.
        """
        n = len(self.log_connectivity)
        draw = generator(seed, "simulate", *axes).standard_normal((n, n))
        deviation = draw + draw.T
        # The exponential magnifies the strongest mode; left in, it would drown the pattern.
        deviation -= self.strongest_mode @ deviation @ self.strongest_mode
        np.fill_diagonal(deviation, 0.0)
        size = np.sqrt(np.sum(deviation**2) / (n * (n - 1)))
        return np.asarray(deviation * (strength / size))

    def states(self, effects: Effects, seed: int) -> Floats:
        """Draw the brain states (state, region, region), zero on average."""
        drawn = np.stack(
            [self.pattern(effects.state, seed, "state", number) for number in range(N_STATES)]
        )
        centred = drawn - drawn.mean(axis=0)
        return np.asarray(centred * np.sqrt(N_STATES / (N_STATES - 1)))

    def subject(self, effects: Effects, seed: int, name: str) -> Floats:
        """Draw the stable deviation of a subject."""
        level = generator(seed, "simulate", "level", name).standard_normal()
        return (
            self.pattern(effects.subject, seed, "subject", name)
            + effects.subject_global * level * self.strongest_mode
        )


def population_anatomy(regions: int) -> Anatomy:
    """Return the population of a number of regions: one global factor and a few networks."""
    draw = generator(_POPULATION_SEED, "simulate", "population", regions)
    network = np.arange(regions) * min(_N_NETWORKS, regions) // regions
    loadings = np.zeros((regions, 1 + _N_NETWORKS))
    loadings[:, 0] = _GLOBAL_LOADING
    loadings[np.arange(regions), 1 + network] = _NETWORK_LOADING
    used = loadings != 0
    loadings[used] += _LOADING_SPREAD * draw.standard_normal(used.sum())
    communality = np.sum(loadings**2, axis=1, keepdims=True)
    loadings *= np.sqrt(np.minimum(1.0, _HIGHEST_COMMUNALITY / communality))
    correlation = loadings @ loadings.T
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    leading = vectors[:, -1]
    log_connectivity = (vectors * np.log(values)) @ vectors.T
    return Anatomy(log_connectivity, np.outer(leading, leading))


def mixing_matrix(log_connectivity: Floats) -> Floats:
    """Return A such that A times white noise has the connectivity (batches allowed)."""
    values, vectors = np.linalg.eigh(log_connectivity)
    root = (vectors * np.exp(values / 2)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return np.asarray(root / np.linalg.norm(root, axis=-1, keepdims=True))


def correlation_of(log_connectivity: Floats) -> Floats:
    """Return the correlation matrix of a log-connectivity (batches allowed)."""
    root = mixing_matrix(log_connectivity)
    return np.asarray(root @ np.swapaxes(root, -1, -2))


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
    """Turns mixing matrices into the signals of scans of one length."""

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
        """Simulate one scan (region, time), given the mixing matrix of each state."""
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
