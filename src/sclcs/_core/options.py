"""Options that are declared once: Python signatures, docstrings and pages of the docs.

A field of a :class:`~sclcs._core.settings.Settings` is an option. What it means, may be and is by
default is said there and nowhere else; this module turns it into keyword arguments of functions
and tables of the docs, `sclcs.cli.options` into options of commands.
"""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import fill
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from sclcs._core.settings import Settings, expected_words, extra

__all__ = ["as_sentence", "default_of", "flag_of", "options_table", "python_type", "takes"]

F = TypeVar("F", bound=Callable[..., Any])

#: Where the parameters of the settings go in a docstring.
PLACEHOLDER = "{options}"
OPTIONS = "options"  # the name of what the function has for the fields
WIDTH = 92  # of a line of a docstring's parameter, which is indented


def takes(
    model: type[Settings], *, leave_out: Iterable[str] = (), none: bool = False
) -> Callable[[F], F]:
    """Give a function the fields of settings as keyword arguments.

    The function has ``**options`` for them. Its signature and its docstring then show every
    field; a parameter of its own with the name of a field is described as the field is.

    Parameters
    ----------
    model : type
        The settings.
    leave_out : iterable of str
        Fields that are no arguments.
    none : bool
        Whether None means "not given" for all of them.

    Returns
    -------
    callable
        A decorator.
    """
    left_out = set(leave_out)
    fields = {name: model.model_fields[name] for name in model.names() if name not in left_out}

    def decorate(function: F) -> F:
        own = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.name != OPTIONS
        ]
        named = {parameter.name for parameter in own}
        more = {
            name: python_type(field) | None if none else python_type(field)
            for name, field in fields.items()
            if name not in named
        }
        function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            own
            + [
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default_of(fields[name]),
                    annotation=kind,
                )
                for name, kind in more.items()
            ],
            return_annotation=function.__annotations__.get("return", inspect.Signature.empty),
        )
        function.__annotations__ = {
            name: kind for name, kind in function.__annotations__.items() if name not in more
        } | more
        function.__doc__ = _filled(function.__doc__ or "", fields)
        return function

    return decorate


def _filled(text: str, fields: Mapping[str, FieldInfo]) -> str:
    """Put the parameters that a docstring does not describe where its placeholder is."""
    before, placeholder, after = text.partition(PLACEHOLDER)
    if not placeholder:
        return text
    indent = " " * (len(before) - len(before.rstrip(" ")))
    missing = {name: field for name, field in fields.items() if f"\n{indent}{name} : " not in text}
    entries = [_entry(name, field) for name, field in missing.items()]
    lines = "\n".join(entries).splitlines()
    return before + f"\n{indent}".join(lines) + after


def _entry(name: str, field: FieldInfo) -> str:
    """Return the lines of a field in a numpydoc section."""
    default = default_of(field)
    shown = "optional" if default is None or default == () else f"default {_quoted(default)}"
    words = f"{as_sentence(field.description or '')} {extra(field, 'details')}".strip()
    indented = fill(words, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"{name} : {type_words(python_type(field))}, {shown}\n{indented}"


def _quoted(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(_quoted, value))
    return f'"{value}"' if isinstance(value, str) else repr(value)


def as_sentence(text: str) -> str:
    """Return a help text with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def default_of(field: FieldInfo) -> Any:  # noqa: ANN401
    """Return the default of a field as a signature shows it."""
    if field.is_required():
        return inspect.Parameter.empty
    default = field.default
    if isinstance(default, list):
        return default[0] if len(default) == 1 else tuple(default)
    return None if default == {} else default


def python_type(field: FieldInfo) -> Any:  # noqa: ANN401
    """Return what Python code may pass for a field: for a list, one name as well, or a tuple."""
    wider = extra(field, "takes")
    kind = _python_type(field.annotation) if wider is None else wider
    optional = default_of(field) is None and type(None) not in get_args(kind)
    return Union[kind, None] if optional else kind  # noqa: UP007 - kinds may be special forms


def _python_type(kind: Any) -> Any:  # noqa: ANN401
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _python_type(arguments[0])
    if origin in {Union, types.UnionType}:
        return Union[tuple(_python_type(part) for part in arguments)]  # noqa: UP007
    if origin is list:
        return str | Sequence[str]
    if origin is dict:
        return Mapping[str, Any]
    return kind


def type_words(kind: Any) -> str:  # noqa: ANN401
    """Return a type as numpydoc writes it.

    Examples
    --------
    >>> type_words(str | Sequence[str] | None)
    'str or sequence of str'
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        parts = dict.fromkeys(type_words(part) for part in arguments if part is not type(None))
        return " or ".join(parts)
    if origin is Literal:
        if arguments == (False,):
            return "False"
        return "{" + ", ".join(map(_quoted, arguments)) + "}"
    if origin is Sequence:
        return f"sequence of {type_words(arguments[0])}"
    if origin is Mapping:
        return "mapping"
    return "path-like" if origin is os.PathLike else str(getattr(kind, "__name__", kind))


def flag_of(name: str, field: FieldInfo) -> str:
    """Return the option of a field on the command line."""
    return str(extra(field, "flag") or f"--{name.replace('_', '-')}")


def options_table(model: type[Settings], *, leave_out: Iterable[str] = ()) -> str:
    """Return a page's section about settings: a Markdown table for every group.

    Parameters
    ----------
    model : type
        The settings.
    leave_out : iterable of str
        Fields that are not shown.
    """
    left_out, groups = set(leave_out), dict[str, list[str]]()
    for name in model.names():
        if name not in left_out:
            field = model.model_fields[name]
            groups.setdefault(extra(field, "group") or "Options", []).append(_row(name, field))
    head = "| name | option | default | may be | meaning |\n|---|---|---|---|---|"
    tables = [f"**{group}**\n\n{head}\n" + "\n".join(rows) for group, rows in groups.items()]
    return "\n\n".join(tables) + "\n"


def _row(name: str, field: FieldInfo) -> str:
    default = default_of(field)
    shown = "" if default is None or default == () else f"`{_quoted(default)}`"
    words = f"{as_sentence(field.description or '')} {extra(field, 'details')}".strip()
    cells = [f"`{name}`", f"`{flag_of(name, field)}`", shown, expected_words(field), words]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
