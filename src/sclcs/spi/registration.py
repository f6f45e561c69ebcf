"""Your own operator: a function that is ranked, stored, resumed and reported like ours."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, get_args

from sclcs._core import Identity, InputError, UnknownNameError, checked
from sclcs.spi import own
from sclcs.spi.operators import ALIASES, our_operators
from sclcs.spi.own import OwnOperator, Symmetry, Takes

__all__ = ["register", "unregister"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SETS = ("paper-fast", "paper-slow", "slow", "all", "panel", "own")


@checked
def register(
    name: str,
    function: Callable[..., Any],
    *,
    takes: Literal["sample", "pair", "batch"] = "sample",
    symmetry: Literal["symmetric", "antisymmetric", "none"] = "symmetric",
    random: bool = False,
    minimum_length: int = 3,
    scale_invariant: bool = True,
    description: str = "",
    labels: str = "",
    reference: str = "",
    version: str | None = None,
) -> None:
    """Make a function an operator: it can be computed, ranked, stored and reported by its name.

    Signals come z-scored along time, as all operators get them, in the axis order of the whole
    package: (region, time). Registering a name again replaces the function.

    An operator that is registered in a script or notebook is known to that process only; other
    processes (``on="local:4"``, Dask, SLURM, the command line) know operators of installed
    packages. A package names, in the entry point group ``sclcs.operators``, a function without
    arguments that calls :func:`register`.

    Parameters
    ----------
    name : str
        Letters, digits, ``_``, ``-`` and ``.``; not the name of an operator of the catalogue.
    function : callable
        From the signals to the matrix, see `takes`. What stands on the diagonal does not matter.
        NaN where it is undefined; an error it raises is recorded and stops nothing else.
    takes : {"sample", "pair", "batch"}
        What the function is called with: one sample (region, time), and it returns the matrix
        (region, region); the two signals (time,) of a pair, and it returns a number; or several
        samples (sample, region, time), and it returns (sample, region, region).
    symmetry : {"symmetric", "antisymmetric", "none"}
        Of the matrix. A symmetric one is taken from its upper triangle; with ``takes="pair"``
        only that is computed. If there is none, rows are sources and columns targets.
    random : bool
        Whether it draws random numbers. It is then also given ``rng``, a numpy generator that
        is seeded by the content of the sample, and must use no other.
    minimum_length : int
        The fewest time points it needs; shorter samples are skipped with that reason.
    scale_invariant : bool
        Whether rescaling a region leaves it unchanged up to rounding; ``sclcs spis check`` tries.
    description, labels, reference : str
        For the catalogue and the report: one line (the first of the function's docstring if
        empty), words separated by blanks, the literature.
    version : str, optional
        Of its numbers: raise it when the function gives other numbers, and stored matrices of the
        old version are computed again. By default a digest of the source (of the module for
        functions of an imported file, else of the function itself).

    Raises
    ------
    InputError
        If the name is taken or cannot be used, or a version is needed and not given.

    Examples
    --------
    >>> def mean_product(x, y):
    ...     return (x * y).mean()
    >>> register("mean-product", mean_product, takes="pair", version="1")
    >>> signals = np.random.default_rng(0).normal(size=(3, 80, 5))
    >>> sclcs.compute(signals, ["mean-product", "pearson"]).shape
    (2, 3, 5, 5)
    >>> unregister("mean-product")
    """
    _check_name(name)
    if not callable(function):
        raise InputError(
            f"Expected a function for the operator {name!r}, got {type(function).__name__}."
        )
    _check_choice("takes", takes, get_args(Takes))
    _check_choice("symmetry", symmetry, get_args(Symmetry))
    if random and takes == "batch":
        raise InputError(
            'A random operator takes "sample" or "pair", because every sample has its own seed.'
        )
    if not isinstance(minimum_length, int) or minimum_length < 2:
        raise InputError(f"Expected minimum_length of at least 2, got {minimum_length!r}.")
    own.keep(
        OwnOperator(
            name,
            function,
            takes,
            symmetry,
            bool(random),
            minimum_length,
            bool(scale_invariant),
            description or _first_line(function) or name,
            labels,
            reference,
            str(version) if version is not None else _source_version(name, function),
            own.origin(),
        )
    )


@checked
def unregister(name: str) -> None:
    """Forget an operator that was registered.

    Parameters
    ----------
    name : str
        As it was registered.

    Examples
    --------
    >>> register("nothing", lambda signals: signals @ signals.T, version="1")
    >>> unregister("nothing")
    """
    if name not in own.own_operators():
        known = ", ".join(own.own_operators()) or "none"
        raise UnknownNameError(f"No own operator is called {name!r}; registered are: {known}.")
    own.drop(name)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"The name of an operator is made of letters, digits, _, - and ., got {name!r}."
        )
    if name in our_operators() or name in ALIASES or name in _SETS:
        raise InputError(f"The catalogue has {name!r} already; choose another name.")


def _check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"Expected {name} to be one of {', '.join(known)}, got {value!r}.")


def _first_line(function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function) if isinstance(function, FunctionType) else None
    return text.splitlines()[0].strip() if text else ""


def _source_version(name: str, function: Callable[..., Any]) -> str:
    """Return a digest of everything that can be seen to decide a function's numbers."""
    if not isinstance(function, FunctionType):
        raise _needs_version(name, f"a {type(function).__name__} has no source of its own")
    values = inspect.getclosurevars(function).nonlocals
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    try:
        facts = Identity(
            "operator",
            inputs={"source": _source(function)},
            parameters={"around": values, "defaults": defaults},
        )
        return f"source-{facts.digest(12)}"
    except OSError as error:
        raise _needs_version(name, "the source of the function cannot be read") from error
    except (TypeError, ValueError) as error:
        raise _needs_version(name, "it depends on objects around it") from error


def _source(function: FunctionType) -> str:
    """Return the source of an imported module, whose functions may call each other, or its own."""
    module = inspect.getmodule(function)
    file = getattr(module, "__file__", None)
    if module is None or module.__name__ == "__main__" or file is None:
        return inspect.getsource(function)
    place = f"{function.__qualname__}, line {function.__code__.co_firstlineno}"
    return f"{place}\n{Path(file).read_text(encoding='utf-8')}"


def _needs_version(name: str, why: str) -> InputError:
    return InputError(
        f"Expected version= for the operator {name!r}, because {why}; give a text such as "
        '"1" and raise it when the function changes.'
    )
