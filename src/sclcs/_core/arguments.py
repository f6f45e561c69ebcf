"""Arguments of public functions, checked against their annotations.

A wrong type would otherwise surface deep inside as a bare TypeError or AttributeError. Only the
documented entry points are decorated. What an annotation cannot say (ranges, shapes, names that go
together) the functions check themselves; what is missing or too much, Python says itself.

Annotations are strings in our modules. They are parsed, never evaluated: a name is looked up among
the globals of its function, and what is not there (imports for type checkers) is not checked.
Values are judged by their type alone, so that no property of theirs is run: a cohort would hash
its signals, a store would read a file.
"""

from __future__ import annotations

import ast
import builtins
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
)

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core.errors import InputError, name_first

P = ParamSpec("P")
T = TypeVar("T")

LONGEST = 60  # characters of a value in a message
#: Values that are shown in a message; of others only the type is.
SHOWN = (str, int, float, type(None), list, tuple, dict, np.ndarray, np.generic)


class Check(NamedTuple):
    """What fits an annotation: some types without a further look, others by a test."""

    words: str
    exact: frozenset[type]
    fits: Callable[[Any], bool]


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Check the types of a function's arguments when it is called.

    The checks are built from the annotations at the first call; a call costs a microsecond or two,
    and more only for the elements of long lists (`benchmarks/bench_arguments.py`).

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
    kind = type(value).__name__
    text = repr(value) if issubclass(type(value), SHOWN) else ""
    shown = f"{text} ({kind})" if 0 < len(text) <= LONGEST and "\n" not in text else f"a {kind}"
    openers = [part for part in check.exact if hasattr(part, "open")]
    hint = ""
    if issubclass(type(value), str | os.PathLike) and openers:
        hint = f" Open it first: {openers[0].__name__}.open({str(value)!r})."
    return InputError(f"{_name(function)}: `{name}` must be {check.words}, got {shown}.{hint}")


def _name(function: Callable[..., object]) -> str:
    return function.__qualname__.removesuffix(".__init__").split("<locals>.")[-1] + "()"


Named = tuple[str, Check | None]


@functools.cache
def _checks(
    function: Callable[..., object],
) -> tuple[list[Named], dict[str, Check | None], Check | None]:
    """Return the checks by position, by name, and that of ``**others`` (None: it has none)."""
    names = vars(builtins) | inspect.unwrap(function).__globals__
    positional: list[Named] = []
    named: dict[str, Check | None] = {}
    others = None
    for name, parameter in inspect.signature(function).parameters.items():
        check = _check(_meaning(function.__annotations__.get(name, Any), names))
        if parameter.kind is parameter.VAR_KEYWORD:
            others = check or Check("anything", frozenset(), lambda _: True)
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            if parameter.kind is not parameter.KEYWORD_ONLY:
                positional.append((name, check))
            if name != "self":
                named[name] = check
    return positional, named, others


class _Unknown:
    """Stands for a name that a module imports for type checkers only, and for what is in it."""


def _meaning(annotation: Any, names: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return the type that an annotation names."""
    if not isinstance(annotation, str):
        return annotation
    return _named(ast.parse(annotation, mode="eval").body, names)


def _named(node: ast.expr, names: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return the type that a parsed annotation names; nothing of it is evaluated."""
    found: Any = _Unknown
    match node:
        case ast.Constant(value=value):
            found = value
        case ast.Name(id=name):
            found = names.get(name, _Unknown)
        case ast.Attribute(value=owner, attr=name):
            found = inspect.getattr_static(_named(owner, names), name, _Unknown)
        case ast.Subscript(value=owner, slice=of):
            kind = _named(owner, names)
            found = kind if kind is _Unknown else kind[_named(of, names)]
        case ast.BinOp(left=left, right=right):
            found = Union[_named(left, names), _named(right, names)]  # noqa: UP007
        case ast.Tuple(elts=parts):
            found = tuple(_named(part, names) for part in parts)
        case ast.List(elts=parts):
            found = [_named(part, names) for part in parts]
    return found


def _check(kind: Any) -> Check | None:  # noqa: ANN401, PLR0911
    """Return the check of a type; None if it takes anything or cannot be checked."""
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
    if not isinstance(kind, type) or kind in {object, Any, _Unknown} or protocol:
        return None
    return Check(f"a {kind.__name__}", frozenset({kind}), lambda v: issubclass(type(v), kind))


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
    # First those that look into a value: the types of the others are among the exact ones.
    tests = [check.fits for check in sorted(checks, key=lambda check: len(check.exact))]

    def fits(value: Any) -> bool:  # noqa: ANN401
        for test in tests:  # noqa: SIM110 - a loop costs half of any() with a generator
            if test(value):
                return True
        return False

    return Check(" or ".join(words), exact, fits)


def _array(dtype: Any) -> Check:  # noqa: ANN401
    held = get_origin(get_args(dtype)[0]) or get_args(dtype)[0]
    kinds, of = "", ""
    for base, letters, words in _DTYPES:
        if isinstance(held, type) and issubclass(held, base):
            kinds, of = letters, f" of {words}"
    return Check(
        f"a numpy array{of}",
        _NONE,
        lambda value: (
            issubclass(type(value), np.ndarray) and (not kinds or value.dtype.kind in kinds)
        ),
    )


def _container(container: Check, arguments: Sequence[Any]) -> Check:
    """Return the check of a list or mapping and of what it holds, where that can be looked at."""
    held = arguments[-1] if container is _MAPPING else arguments[0] if arguments else Any
    same = container in _LISTS and len({*arguments} - {...}) == 1  # not tuple[int, str]
    inner = _check(held) if same or container is _MAPPING else None
    if inner is None:
        return container
    of_exact, of_fits = inner.exact, inner.fits

    def fits(value: Any) -> bool:  # noqa: ANN401
        if type(value) not in container.exact and not container.fits(value):
            return False
        if issubclass(type(value), dict):
            value = value.values()
        elif issubclass(type(value), np.ndarray):
            if value.ndim == 0:
                return False
            value = value if value.dtype.hasobject else value[:1]  # all are of one type
        elif not issubclass(type(value), _LOOKED_INTO):
            return True  # may be gone through only once, or be somebody's own
        return of_exact.issuperset(map(type, value)) or all(map(of_fits, value))

    plural = {"a string": "strings", "an integer": "integers", "a number": "numbers"}
    of = f" of {plural[inner.words]}" if inner.words in plural else ""
    return Check(container.words + of, frozenset(), fits)


def _is_list(value: object) -> bool:
    kind = type(value)
    return (issubclass(kind, Sequence) or hasattr(kind, "__array__")) and not _is_text(value)


def _is_text(value: object) -> bool:
    return issubclass(type(value), str | bytes)


_LOOKED_INTO = (list, tuple, pd.Index, pd.Series)
_TRUTH = (bool, np.bool_)
_NONE: frozenset[type] = frozenset()
_DTYPES = (
    (np.floating, "fiu", "numbers"),
    (np.integer, "iu", "integers"),
    (np.bool_, "b", "True and False"),
)
_PLAIN: Mapping[Any, Check] = {
    type(None): Check("None", frozenset({type(None)}), lambda value: value is None),
    bool: Check("True or False", frozenset(_TRUTH), lambda value: issubclass(type(value), _TRUTH)),
    int: Check(
        "an integer",
        frozenset({int}),
        lambda value: issubclass(type(value), Integral) and not issubclass(type(value), _TRUTH),
    ),
    float: Check(
        "a number",
        frozenset({float, int}),
        lambda value: issubclass(type(value), Real) and not issubclass(type(value), _TRUTH),
    ),
    str: Check("a string", frozenset({str}), lambda value: issubclass(type(value), str)),
}
_LIST = Check("a list", frozenset({list, tuple}), _is_list)
_MAPPING = Check("a mapping", frozenset({dict}), lambda value: issubclass(type(value), Mapping))
_CONTAINERS: Mapping[Any, Check] = {
    Sequence: _LIST,
    Iterable: Check(
        "a list", _NONE, lambda value: hasattr(type(value), "__iter__") and not _is_text(value)
    ),
    list: Check("a list", frozenset({list}), lambda value: issubclass(type(value), list)),
    tuple: Check("a tuple", frozenset({tuple}), lambda value: issubclass(type(value), tuple)),
    Mapping: _MAPPING,
    dict: _MAPPING,
    Callable: Check("callable", _NONE, callable),
    os.PathLike: Check("a path", _NONE, lambda value: hasattr(type(value), "__fspath__")),
}
_LISTS = [_CONTAINERS[kind] for kind in (Sequence, Iterable, list, tuple)]


REAL = "fiu"  # kinds of dtype: floating, integer, unsigned


def real_numbers(values: object, expected: str) -> NDArray[Any]:
    """Return an array of real numbers, not a copy if it is one already, or say what is there.

    Data frames may have pandas' nullable types; their missing values become NaN. What would be
    dropped on the way (masks, imaginary parts) is refused.

    Parameters
    ----------
    values : object
        An array, a data frame, lists of numbers, a tensor.
    expected : str
        What it should be, in words.

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
    known = isinstance(values, list | tuple | np.generic | int | float)
    if isinstance(values, Mapping) or not (known or hasattr(values, "__array__")):
        raise InputError(f"Expected {expected}, got {type(values).__name__}.")
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise InputError(
            f"Expected {expected}, but some of its values are masked; leave those regions or time "
            "points out, or fill them with .filled()."
        )
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except ValueError:
        raise InputError(f"Expected {expected}, got lists of numbers of unequal lengths.") from None
    except (TypeError, RuntimeError) as error:  # objects; a tensor that is being differentiated
        reason = str(error).rstrip(".")
        raise InputError(f"Expected {expected}, got {type(values).__name__}: {reason}.") from None
    if array.dtype.kind not in REAL:
        raise InputError(f"Expected {expected}, of real numbers, got the type {array.dtype}.")
    return array


def _of_frame(frame: pd.DataFrame, expected: str) -> NDArray[Any]:
    kinds = [getattr(dtype, "kind", "O") for dtype in frame.dtypes]
    other = [name for name, kind in zip(frame.columns, kinds, strict=True) if kind not in REAL]
    if other:
        raise InputError(
            f"Expected {expected}, of real numbers, but these columns hold something else: "
            f"{name_first(other)}; leave them out."
        )
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)
