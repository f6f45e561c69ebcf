"""Arguments of public functions, checked against their annotations.

A wrong type would otherwise surface deep inside as a bare TypeError or AttributeError. Types stand
in the signature anyway; here they become one sentence. What an annotation cannot say (ranges,
shapes, names that go together) the functions check themselves.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from numbers import Integral, Real
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import numpy as np

from sclcs.core.errors import InputError

__all__ = ["checked", "checked_call", "checked_methods", "checked_record"]

P = ParamSpec("P")
T = TypeVar("T")

UNKNOWN = object()  # an annotation that is not checked
_KNOWN_PACKAGES = ("sclcs", "pandas", "xarray", "numpy")
LONGEST = 80  # characters of a value in a message

_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    type(None): "None",
}


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Check the types of a function's arguments when it is called.

    Parameters
    ----------
    function : callable
        With annotations. Those that cannot be looked up or checked are passed over.

    Returns
    -------
    callable
        The same function; a wrong type is an :class:`~sclcs.core.InputError`.

    Examples
    --------
    >>> @checked
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> double("two")
    Traceback (most recent call last):
    ...
    sclcs.core.errors.InputError: Expected number of double to be a whole number, got 'two'.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:  # a name that is not there, too many, too few
            raise _uncallable(function, signature, error) from None
        kinds = _kinds(function)
        for name, value in _flat(given.arguments, signature).items():
            if name in kinds[0] and not _fits(value, kinds[0][name]):
                raise _wrong(function, name, value, kinds[0][name])
            if name not in signature.parameters and not _fits(value, kinds[1]):
                raise _wrong(function, name, value, kinds[1])
        return function(*args, **kwargs)

    return call


def checked_call(function: Callable[P, T]) -> Callable[P, T]:
    """Check only that a function can be called so; its types are checked when they are used.

    Parameters
    ----------
    function : callable
        Such as the constructor of a scikit-learn estimator, which must take anything.

    Returns
    -------
    callable
        The same function; a name that is not there is an :class:`~sclcs.core.InputError`.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise _uncallable(function, signature, error) from None
        return function(*args, **kwargs)

    return call


def checked_record(record: type[T]) -> type[T]:
    """Check the types of a dataclass's fields when one is made, as :func:`checked` does.

    Parameters
    ----------
    record : type
        A dataclass; its constructor is made by ``dataclass`` and cannot be decorated itself.

    Returns
    -------
    type
        The same class.
    """
    record.__init__ = checked(record.__init__)  # type: ignore[method-assign]
    return record


def checked_methods(owner: type[T]) -> type[T]:
    """Check the arguments of a class's public methods, as :func:`checked` does.

    Parameters
    ----------
    owner : type
        A class that users call methods of; its constructor is not touched.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    >>> @checked_methods
    ... class Pair:
    ...     def scaled(self, factor: float) -> float:
    ...         return 2 * factor
    >>> Pair().scaled(factr=2)
    Traceback (most recent call last):
    ...
    sclcs.core.errors.InputError: Pair.scaled cannot be called so: ...; did you mean factor?
    """
    fields = getattr(owner, "__dataclass_fields__", {})
    for name, member in list(vars(owner).items()):
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if name.startswith("_") or name in fields or not inspect.isfunction(function):
            continue
        if not hasattr(function, "__wrapped__"):  # else it is checked already
            call = checked(function)
            setattr(owner, name, call if function is member else type(member)(call))
    return owner


def _name(function: Callable[..., Any]) -> str:
    return function.__qualname__.removesuffix(".__init__").split("<locals>.")[-1]


def _uncallable(
    function: Callable[..., Any], signature: inspect.Signature, error: TypeError
) -> InputError:
    """Return the sentence for a call that does not fit: what is wrong, and what there is."""
    several = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    known = {
        name: parameter.kind is inspect.Parameter.KEYWORD_ONLY
        for name, parameter in signature.parameters.items()
        if name not in {"self", "cls"} and parameter.kind not in several
    }
    names = [f"{name}=" if by_name else name for name, by_name in known.items()]
    found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    near = get_close_matches(found[1], list(known), n=3, cutoff=0.5) if found else []
    advice = f"did you mean {' or '.join(near)}?" if near else f"it takes {', '.join(names)}."
    return InputError(f"{_name(function)} cannot be called so: {error}; {advice}")


def _wrong(function: Callable[..., Any], name: str, value: object, kind: object) -> InputError:
    return InputError(
        f"Expected {name} of {_name(function)} to be {_words(kind)}, got {_shown(value)}"
        f"{_advice(value, kind)}."
    )


def _advice(value: object, kind: object) -> str:
    """Return how to open what was given as a path."""
    parts = get_args(kind) if get_origin(kind) in {Union, types.UnionType} else (kind,)
    openers = [part for part in parts if isinstance(part, type) and hasattr(part, "open")]
    if not isinstance(value, str | os.PathLike) or not openers:
        return ""
    return f"; open it first, with {openers[0].__name__}.open({os.fspath(value)!r})"


def _flat(given: Mapping[str, Any], signature: inspect.Signature) -> dict[str, Any]:
    """Return the arguments by name, those of ``**others`` too."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            found |= value
        elif kind is not inspect.Parameter.VAR_POSITIONAL:
            found[name] = value
    return found


@functools.cache
def _kinds(function: Callable[..., Any]) -> tuple[Mapping[str, Any], Any]:
    """Return the annotations that can be checked, by parameter, and that of ``**others``."""
    names = _Names(vars(sys.modules[function.__module__]))
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind = _evaluated(parameter.annotation, names)
        if kind is not UNKNOWN and _checkable(kind):
            found[name] = kind
    others = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.VAR_KEYWORD
    ]
    return found, found.get(others[0], object) if others else object


class _Names(dict[str, Any]):
    """The names of a module, and those it imports for type checkers only."""

    def __missing__(self, name: str) -> Any:  # noqa: ANN401
        if name in vars(builtins):
            return vars(builtins)[name]
        if name == "xr":
            return import_module("xarray")
        room = ".".join(str(self.get("__name__")).split(".")[:2])
        rooms = ["sclcs", *([room] if room.startswith("sclcs.") else [])]
        for package in map(import_module, rooms):
            if name in getattr(package, "__all__", ()):
                return getattr(package, name)
        raise KeyError(name)


def _evaluated(annotation: Any, names: _Names) -> Any:  # noqa: ANN401
    if annotation is inspect.Parameter.empty:
        return UNKNOWN
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {}, names)  # noqa: S307 - our own source
    except (NameError, KeyError, TypeError, AttributeError):
        return UNKNOWN  # imported for type checkers only


def _checkable(kind: Any) -> bool:  # noqa: ANN401
    """Tell whether every part of an annotation can be checked."""
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        return all(_checkable(part) for part in get_args(kind))
    if origin is Annotated:
        return _checkable(get_args(kind)[0])
    if kind in {None, Literal} or origin is Literal or kind in _WORDS:
        return True
    if origin in _CONTAINERS or kind in _CONTAINERS:
        return True
    if kind is object or origin is np.ndarray:
        return True
    own = isinstance(kind, type) and kind.__module__.startswith(_KNOWN_PACKAGES)
    protocol = getattr(kind, "_is_protocol", False)
    return own and (not protocol or getattr(kind, "_is_runtime_protocol", False))


_CONTAINERS: Mapping[Any, tuple[str, Callable[[object], bool]]] = {
    Sequence: (
        "a list",
        lambda value: (
            not isinstance(value, str | bytes)
            and (isinstance(value, Sequence) or hasattr(value, "__array__"))
        ),
    ),
    Iterable: (
        "a list",
        lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes),
    ),
    Mapping: ("names with values", lambda value: isinstance(value, Mapping)),
    dict: ("names with values", lambda value: isinstance(value, dict)),
    list: ("a list", lambda value: isinstance(value, list)),
    tuple: ("a tuple", lambda value: isinstance(value, tuple)),
    Callable: ("a function", callable),
    os.PathLike: ("a path", lambda value: isinstance(value, os.PathLike)),
}


def _fits(value: Any, kind: Any) -> bool:  # noqa: ANN401, PLR0911
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        return any(_fits(value, part) for part in get_args(kind))
    if origin is Annotated:
        return _fits(value, get_args(kind)[0])
    if origin is Literal:
        return any(value is choice or _equal(value, choice) for choice in get_args(kind))
    if kind is None or kind is type(None):
        return value is None
    if kind in _WORDS:
        return _is_plain(value, kind)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in _array_kinds(kind)[1]
    container = origin or kind
    if container in _CONTAINERS:
        letters = isinstance(value, str) and get_args(kind) == (object,)
        return letters or (_CONTAINERS[container][1](value) and _elements_fit(value, kind))
    return isinstance(value, kind)


_ARRAYS: Mapping[type, tuple[str, str]] = {
    np.floating: ("a numpy array of numbers", "fiu"),
    np.integer: ("a numpy array of whole numbers", "iu"),
    np.bool_: ("a numpy array of true and false", "b"),
}


def _array_kinds(kind: Any) -> tuple[str, str]:  # noqa: ANN401
    """Return what an array holds, in words, and the kinds of dtype that count as such."""
    held = get_args(get_args(kind)[1])[0]
    held = get_origin(held) or held  # np.integer[Any]
    known = (found for base, found in _ARRAYS.items() if _is_kind(held, base))
    return next(known, ("an array", "biufcSUOmM"))


def _is_kind(held: Any, base: type) -> bool:  # noqa: ANN401
    return isinstance(held, type) and issubclass(held, base)


def _equal(value: object, choice: object) -> bool:
    return type(value) is type(choice) and value == choice


def _is_plain(value: object, kind: type) -> bool:
    truth = isinstance(value, bool | np.bool_)
    if kind is bool:
        return truth
    if kind is int:
        return isinstance(value, Integral) and not truth
    if kind is float:
        return isinstance(value, Real) and not truth
    return isinstance(value, kind)


def _elements_fit(value: Any, kind: Any) -> bool:  # noqa: ANN401
    """Check what a list, tuple, one-dimensional array or mapping holds."""
    arguments = [part for part in get_args(kind) if part is not Ellipsis]  # tuple[str, ...]
    if not arguments or get_origin(kind) is Callable or not _checkable(arguments[-1]):
        return True
    if isinstance(value, Mapping):
        return all(_fits(item, arguments[-1]) for item in value.values())
    if not isinstance(value, list | tuple) and not hasattr(value, "__array__"):
        return True  # may be gone through only once
    return all(_fits(item, arguments[0]) for item in value)


def _words(kind: Any) -> str:  # noqa: ANN401, PLR0911
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        parts = dict.fromkeys(_words(part) for part in arguments if part is not type(None))
        if "a path" in parts:
            parts.pop("a text", None)
        return " or ".join(parts)
    if origin is Annotated:
        return _words(arguments[0])
    if origin is Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if kind in _WORDS:
        return _WORDS[kind]
    if origin is np.ndarray:
        return _array_kinds(kind)[0]
    container = origin or kind
    if container in _CONTAINERS:
        inside = {str: " of texts", int: " of whole numbers", float: " of numbers"}
        listed = arguments and container in {Sequence, Iterable, list, tuple}
        of = inside.get(arguments[0], "") if listed else ""
        return f"{_CONTAINERS[container][0]}{of}"
    return f"a {kind.__name__}"


def _shown(value: object) -> str:
    text = repr(value)
    if len(text) <= LONGEST and "\n" not in text:
        return text
    return f"a {type(value).__name__}"
