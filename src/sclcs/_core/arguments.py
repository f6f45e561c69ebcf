"""Arguments of public functions, checked against their annotations.

A wrong type would otherwise surface deep inside as a bare TypeError or AttributeError. Only the
documented entry points are decorated. What an annotation cannot say (ranges, shapes, names that go
together) the functions check themselves; what is missing or too much, Python says itself.
"""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core.errors import InputError, name_first

__all__ = ["check_arguments", "checked", "checked_record", "real_numbers"]

P = ParamSpec("P")
T = TypeVar("T")

LONGEST = 60  # characters of a value in a message


class Check(NamedTuple):
    """What fits an annotation: some types without a further look, others by a test."""

    words: str
    exact: frozenset[type]
    fits: Callable[[Any], bool]


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Check the types of a function's arguments when it is called.

    The checks are built from the annotations at the first call; a call costs a microsecond or two,
    and more only for the elements of long lists.

    Parameters
    ----------
    function : callable
        With annotations. Types that are imported for type checkers only are not checked.

    Returns
    -------
    callable
        The same function; a wrong type or name is an :class:`~sclcs._core.InputError`.

    Examples
    --------
    >>> @checked
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> double("two")
    Traceback (most recent call last):
    ...
    sclcs._core.errors.InputError: double(): `number` must be an integer, got 'two' (str).
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        check_arguments(function, args, kwargs)
        return function(*args, **kwargs)

    return call


def checked_record(record: type[T]) -> type[T]:
    """Check the fields of a dataclass when one is made, as :func:`checked` does."""
    record.__init__ = checked(record.__init__)  # type: ignore[method-assign]
    return record


def check_arguments(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> None:
    """Check the arguments of a call without calling the function; see :func:`checked`."""
    positional, known, others = _checks(function)
    for (name, check), value in zip(positional, args, strict=False):
        if check is not None and type(value) not in check.exact and not check.fits(value):
            raise _wrong(function, name, value, check)
    for name, value in kwargs.items():
        if name not in known and others is None:
            raise _unexpected(function, name, known)
        check = known.get(name, others)
        if check is not None and type(value) not in check.exact and not check.fits(value):
            raise _wrong(function, name, value, check)


def _unexpected(function: Callable[..., object], name: str, known: Iterable[str]) -> InputError:
    near = get_close_matches(name, known, n=1)
    advice = f" Did you mean {near[0]!r}?" if near else f" It takes {', '.join(known)}."
    return InputError(f"{_name(function)} got an unexpected keyword argument {name!r}.{advice}")


def _wrong(function: Callable[..., object], name: str, value: object, check: Check) -> InputError:
    text = repr(value)
    kind = type(value).__name__
    shown = f"{text} ({kind})" if len(text) <= LONGEST and "\n" not in text else f"a {kind}"
    openers = [part for part in check.exact if hasattr(part, "open")]
    hint = ""
    if isinstance(value, str | os.PathLike) and openers:
        hint = f" Open it first: {openers[0].__name__}.open({os.fspath(value)!r})."
    return InputError(f"{_name(function)}: `{name}` must be {check.words}, got {shown}.{hint}")


def _name(function: Callable[..., object]) -> str:
    return function.__qualname__.removesuffix(".__init__").split("<locals>.")[-1] + "()"


Named = tuple[str, Check | None]


@functools.cache
def _checks(
    function: Callable[..., object],
) -> tuple[list[Named], dict[str, Check | None], Check | None]:
    """Return the checks by position, by name, and that of ``**others`` (None: it has none)."""
    hints = _hints(function)
    positional: list[Named] = []
    named: dict[str, Check | None] = {}
    others = None
    for name, parameter in inspect.signature(function).parameters.items():
        check = _check(hints.get(name, Any))
        if parameter.kind is parameter.VAR_KEYWORD:
            others = check or Check("anything", frozenset(), lambda _: True)
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            if parameter.kind is not parameter.KEYWORD_ONLY:
                positional.append((name, check))
            if name != "self":
                named[name] = check
    return positional, named, others


class _ForTypeCheckers(type):
    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class _Anything(metaclass=_ForTypeCheckers):
    """Stands for a name that a module imports for type checkers only, and for what is in it."""


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    missing: dict[str, Any] = {}
    while True:
        try:
            return get_type_hints(function, localns=missing or None)
        except NameError as error:
            missing[str(error.name)] = _Anything


def _check(kind: Any) -> Check | None:  # noqa: ANN401, PLR0911
    """Return the check of an annotation; None if it takes anything or cannot be checked."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _check(arguments[0])
    if origin in {Union, types.UnionType}:
        return _any_of([_check(part) for part in arguments])
    if origin is Literal:
        return _one_of(arguments)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if origin is np.ndarray:
        return _array(arguments[1])
    if (origin or kind) in _CONTAINERS:
        return _container(_CONTAINERS[origin or kind], arguments)
    protocol = getattr(kind, "_is_protocol", False)  # isinstance would run properties
    if not isinstance(kind, type) or kind in {object, Any, _Anything} or protocol:
        return None
    return Check(f"a {kind.__name__}", frozenset({kind}), lambda value: isinstance(value, kind))


def _one_of(choices: tuple[Any, ...]) -> Check:
    kinds = tuple({type(choice) for choice in choices})
    words = f"one of {', '.join(map(repr, choices))}"
    return Check(words, frozenset(), lambda value: type(value) in kinds and value in choices)


def _any_of(parts: Sequence[Check | None]) -> Check | None:
    checks = [part for part in parts if part is not None]
    if len(checks) < len(parts):
        return None
    words = dict.fromkeys(check.words for check in checks if check is not _PLAIN[type(None)])
    if "a path" in words:
        words.pop("a string", None)
    exact = frozenset().union(*(check.exact for check in checks))
    tests = [check.fits for check in checks]

    def fits(value: Any) -> bool:  # noqa: ANN401
        for test in tests:  # noqa: SIM110 - a loop costs half of any() with a generator
            if test(value):
                return True
        return False

    return Check(" or ".join(words), exact, fits)


def _array(dtype: Any) -> Check:  # noqa: ANN401
    held = get_origin(get_args(dtype)[0]) or get_args(dtype)[0]
    bases = {np.floating: "fiu", np.integer: "iu", np.bool_: "b"}
    kinds = next(
        (k for b, k in bases.items() if isinstance(held, type) and issubclass(held, b)), ""
    )
    words = {"fiu": "numbers", "iu": "integers", "b": "True and False"}
    return Check(
        f"a numpy array of {words[kinds]}" if kinds else "a numpy array",
        frozenset(),
        lambda value: isinstance(value, np.ndarray) and (not kinds or value.dtype.kind in kinds),
    )


def _container(container: Check, arguments: Sequence[Any]) -> Check:
    """Return the check of a list or mapping and of what it holds, where that can be looked at."""
    held = arguments[-1] if container is _MAPPING else arguments[0] if arguments else Any
    same = container in _LISTS and len({*arguments} - {...}) == 1  # not tuple[int, str]
    inner = _check(held) if same or container is _MAPPING else None
    if inner is None:
        return container

    def fits(value: Any) -> bool:  # noqa: ANN401
        if type(value) not in container.exact and not container.fits(value):
            return False
        if isinstance(value, Mapping):
            value = value.values()
        elif not isinstance(value, list | tuple) and not hasattr(type(value), "__array__"):
            return True  # may be gone through only once
        elif getattr(value, "ndim", 1) == 0:
            return False
        return inner.exact.issuperset(map(type, value)) or all(map(inner.fits, value))

    plural = {"a string": "strings", "an integer": "integers", "a number": "numbers"}
    of = f" of {plural[inner.words]}" if inner.words in plural else ""
    return Check(container.words + of, frozenset(), fits)


def _is_list(value: object) -> bool:
    array = hasattr(type(value), "__array__")
    return (array or isinstance(value, Sequence)) and not isinstance(value, str | bytes)


_TRUTH = (bool, np.bool_)
_PLAIN: Mapping[Any, Check] = {
    type(None): Check("None", frozenset({type(None)}), lambda value: value is None),
    bool: Check("True or False", frozenset(_TRUTH), lambda value: isinstance(value, _TRUTH)),
    int: Check(
        "an integer",
        frozenset({int}),
        lambda value: isinstance(value, Integral) and not isinstance(value, _TRUTH),
    ),
    float: Check(
        "a number",
        frozenset({float, int}),
        lambda value: isinstance(value, Real) and not isinstance(value, _TRUTH),
    ),
    str: Check("a string", frozenset({str}), lambda value: isinstance(value, str)),
}
_NONE: frozenset[type] = frozenset()
_LIST = Check("a list", frozenset({list, tuple}), _is_list)
_ITERABLE = Check(
    "a list", _NONE, lambda v: isinstance(v, Iterable) and not isinstance(v, str | bytes)
)
_MAPPING = Check("a mapping", frozenset({dict}), lambda value: isinstance(value, Mapping))
_CONTAINERS: Mapping[Any, Check] = {
    Sequence: _LIST,
    Iterable: _ITERABLE,
    list: Check("a list", _NONE, lambda value: isinstance(value, list)),
    tuple: Check("a tuple", _NONE, lambda value: isinstance(value, tuple)),
    Mapping: _MAPPING,
    dict: _MAPPING,
    Callable: Check("callable", _NONE, callable),
    os.PathLike: Check("a path", _NONE, lambda value: isinstance(value, os.PathLike)),
}
_LISTS = [_CONTAINERS[kind] for kind in (Sequence, Iterable, list, tuple)]


REAL = "fiu"  # kinds of dtype: floating, integer, unsigned


def real_numbers(values: object, expected: str) -> NDArray[Any]:
    """Return an array of real numbers, or say what is there instead.

    Data frames may have pandas' nullable types; their missing values become NaN. What would be
    dropped on the way (masks, imaginary parts) is refused.

    Parameters
    ----------
    values : object
        An array, a data frame, lists of numbers, a tensor.
    expected : str
        What it should be, in words.

    Returns
    -------
    array
        Of floating or whole numbers; not a copy if it is one already.

    Raises
    ------
    InputError
        If it is none.

    Examples
    --------
    >>> real_numbers([[1, 2], [3]], "an array")
    Traceback (most recent call last):
    ...
    sclcs._core.errors.InputError: Expected an array, got lists of numbers of unequal lengths.
    """
    if isinstance(values, pd.DataFrame):
        return _of_frame(values, expected)
    if isinstance(values, str | os.PathLike):
        raise InputError(
            f"Expected {expected}, got the text {str(values)!r}; read it first, with "
            "np.load, pd.read_csv or sclcs.Cohort.open."
        )
    if isinstance(values, Mapping) or not (
        hasattr(values, "__array__") or isinstance(values, list | tuple | np.generic | int | float)
    ):
        raise InputError(f"Expected {expected}, got {type(values).__name__}.")
    _refuse_masks(values, expected)
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except ValueError:
        raise InputError(f"Expected {expected}, got lists of numbers of unequal lengths.") from None
    except (TypeError, RuntimeError) as error:  # objects; a tensor that is being differentiated
        told = str(error).rstrip(".")
        raise InputError(f"Expected {expected}, got {type(values).__name__}: {told}.") from None
    if array.dtype.kind not in REAL:
        raise InputError(f"Expected {expected}, of real numbers, got the type {array.dtype}.")
    return array


def _of_frame(frame: pd.DataFrame, expected: str) -> NDArray[Any]:
    other = [
        str(name)
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
        if getattr(dtype, "kind", "O") not in REAL
    ]
    if other:
        raise InputError(
            f"Expected {expected}, of real numbers, but these columns hold something else: "
            f"{name_first(other)}; leave them out."
        )
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def _refuse_masks(values: object, expected: str) -> None:
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise InputError(
            f"Expected {expected}, but some of its values are masked; leave those regions or time "
            "points out, or fill them with .filled()."
        )
