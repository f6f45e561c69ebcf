"""Settings whose default, meaning and check stand in one place.

A field of a :class:`Settings` is declared once, with its type, limits, default and one line of
help; a wrong value is one sentence that says what was expected. Here the fields become keyword
arguments of functions (:func:`takes`) and tables of the docs (:func:`options_table`);
`sclcs.cli.options` makes options of commands.
"""

from __future__ import annotations

import inspect
import os
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import fill
from typing import Annotated, Any, Literal, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo

from sclcs._core.errors import InputError, UnknownNameError, did_you_mean

F = TypeVar("F", bound=Callable[..., Any])

#: Where :func:`takes` puts the parameters of the settings in a docstring.
PLACEHOLDER = "{options}"
OPTIONS = "options"  # the name of what the function has for the fields
WIDTH = 92  # of a line of a docstring's parameter, which is indented


def setting(
    help: str,  # noqa: A002
    default: Any = ...,  # noqa: ANN401
    *,
    details: str = "",
    decides: bool = True,
    group: str = "",
    front: bool = False,
    flag: str = "",
    metavar: str = "",
    commas: bool = True,
    takes: Any = None,  # noqa: ANN401
    **limits: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Declare a field, with all that command line, signature, docstring and docs say about it.

    Parameters
    ----------
    help : str
        One line, shown everywhere.
    default : object
        What it is if nothing is given.
    details : str
        Sentences that docstrings and the docs add.
    decides : bool
        Whether it decides the result; False for folders, processes, memory and devices.
    group : str
        Heading above the option in the command's help.
    front : bool
        Whether ``--help`` shows it; the others are under ``--help-all``.
    flag : str
        The option, if it is not ``--`` and the name.
    metavar : str
        What stands for the value in the command's help.
    commas : bool
        Whether one option may hold several names with commas.
    takes : type
        What Python code may pass, if that is more than the type of the field.
    **limits : object
        ``ge``, ``gt``, ``le``, ``lt``, ``min_length`` and the like.

    Returns
    -------
    object
        A field of pydantic.
    """
    extra = {
        "details": details,
        "decides": decides,
        "group": group,
        "front": front,
        "flag": flag,
        "metavar": metavar,
        "commas": commas,
        "takes": takes,
    }
    return Field(default, description=help, json_schema_extra=extra, **limits)


def extra(field: FieldInfo, name: str, default: Any = None) -> Any:  # noqa: ANN401
    """Return what :func:`setting` declared about a field."""
    found = field.json_schema_extra
    return found.get(name, default) if isinstance(found, Mapping) else default


def as_list(value: object) -> object:
    """Let one name, or several with commas, stand for a list of names."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return list(value) if isinstance(value, tuple) else value


def as_assignments(value: object) -> object:
    """Let one word, several, a mapping of names to words, or nothing stand for a list."""
    if isinstance(value, Mapping):
        return [f"{name}={word}" for name, word in value.items()]
    return [] if value is None else as_list(value)


def as_text(value: object) -> object:
    """Let a file write a string as a number."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def as_path(value: object) -> object:
    """Let a path stand for its text."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


#: One name or several, written with commas or as a list.
Names = Annotated[list[str], BeforeValidator(as_list), Field(min_length=1)]


class Settings(BaseModel):
    """Named values, checked when they are given; they never change afterwards.

    Parameters
    ----------
    **values : object
        Fields by name; the others have their defaults.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    def __init__(self, **values: Any) -> None:  # noqa: ANN401
        self.refuse_unknown(values)
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(_sentences(type(self), error)) from error

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_not_one(cls, value: object, info: ValidationInfo) -> object:
        field = cls.model_fields[str(info.field_name)]
        if hasattr(type(value), "item") and not getattr(value, "shape", True):
            value = value.item()  # type: ignore[attr-defined]  # a number of numpy
        if isinstance(value, bool) and not _takes_truth(field.annotation):
            raise ValueError(expected_words(field))
        return value

    @classmethod
    def noun(cls) -> str:
        """Return what a field is called in error messages."""
        return "parameter"

    @classmethod
    def names(cls) -> list[str]:
        """Return the fields, those that a class adds to its parents first."""
        order = [name for kind in cls.__mro__ for name in inspect.get_annotations(kind)]
        return list(dict.fromkeys(name for name in order if name in cls.model_fields))

    @classmethod
    def refuse_unknown(cls, given: Iterable[str], noun: str | None = None) -> None:
        """Raise if a name is no field, and say which there are."""
        unknown = [name for name in given if name not in cls.model_fields]
        if unknown:
            raise UnknownNameError(
                f"Unknown {noun or cls.noun()} {', '.join(unknown)}; the known ones are "
                f"{', '.join(cls.names()) or 'none'}.{did_you_mean(unknown[0], cls.names())}"
            )

    def change(self, changes: Mapping[str, Any]) -> Self:
        """Return settings with some values changed; an unknown name is an error."""
        return type(self)(**{**self.to_dict(), **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return the values, from which the settings can be made again."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def deciding(self) -> dict[str, Any]:
        """Return the values that decide a result, not where it is kept or how fast it comes."""
        fields = type(self).model_fields.items()
        return {name: getattr(self, name) for name, one in fields if extra(one, "decides", True)}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of every field, None of those that must be given."""
        fields = {name: cls.model_fields[name] for name in cls.names()}
        return {name: None if one.is_required() else one.default for name, one in fields.items()}

    @classmethod
    def helps(cls) -> dict[str, str]:
        """Return one line about every field."""
        return {name: cls.model_fields[name].description or "" for name in cls.names()}

    @classmethod
    def expected(cls) -> dict[str, str]:
        """Return what every field may be, in words."""
        return {name: expected_words(cls.model_fields[name]) for name in cls.names()}


def _sentences(model: type[Settings], error: ValidationError) -> str:
    """Return what was expected and what was found, for every value that is wrong."""
    found = []
    for problem in error.errors():
        if not problem["loc"]:  # fields that do not go together
            found.append(str(problem["ctx"]["error"]))
            continue
        name = str(problem["loc"][0])
        if problem["type"] == "value_error":
            words = str(problem["ctx"]["error"])
        else:
            words = expected_words(model.model_fields[name])
        got = "nothing" if problem["type"] == "missing" else repr(problem["input"])
        found.append(f"`{name}` must be {words}, got {got}.")
    return " ".join(dict.fromkeys(found))


_LIMITS = {
    "ge": "of at least {:g}",
    "gt": "above {:g}",
    "le": "at most {:g}",
    "lt": "below {:g}",
}
_TYPES = {
    bool: "True or False",
    int: "an integer",
    float: "a number",
    str: "a string",
    dict: "names with values",
    os.PathLike: "a path",
}


def expected_words(field: FieldInfo) -> str:
    """Say what a field may be: its type and its limits."""
    limits = [
        words.format(value)
        for name, words in _LIMITS.items()
        for data in field.metadata
        if (value := getattr(data, name, None)) is not None
    ]
    return " ".join([_words(field.annotation), " and ".join(limits)]).strip()


def _takes_truth(annotation: Any) -> bool:  # noqa: ANN401
    """Say whether True and False are among what a type may be."""
    if annotation in {bool, Any} or isinstance(annotation, bool):
        return True
    return any(_takes_truth(part) for part in get_args(annotation))


def _words(annotation: Any) -> str:  # noqa: ANN401
    """Say what a type may be; None goes without saying."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _words(arguments[0])
    if origin is Literal:
        words = [str(value) for value in arguments]
        return words[0] if len(words) == 1 else f"one of {', '.join(words)}"
    if origin in {Union, types.UnionType}:
        parts = dict.fromkeys(_words(part) for part in arguments if part is not type(None))
        if "a path" in parts:  # which is written as a string
            parts.pop("a string", None)
        return " or ".join(parts)
    if origin in {list, tuple}:
        if get_origin(arguments[0]) is Literal:
            return f"one or several of {', '.join(map(str, get_args(arguments[0])))}"
        return "a name or a list of names" if arguments[0] is str else "a list"
    return _TYPES.get(origin or annotation, "a value")


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
        signature = inspect.signature(function)
        own = [one for name, one in signature.parameters.items() if name != OPTIONS]
        named = {parameter.name for parameter in own}
        kinds = {
            name: python_type(field) | None if none else python_type(field)
            for name, field in fields.items()
            if name not in named
        }
        more = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default_of(fields[name]),
                annotation=kind,
            )
            for name, kind in kinds.items()
        ]
        function.__signature__ = signature.replace(parameters=own + more)  # type: ignore[attr-defined]
        function.__annotations__ = {**function.__annotations__, **kinds}
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
    words = re.sub(r"\*|_(?!\w)", r"\\\g<0>", described(field))  # a pattern is no markup
    indented = fill(words, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"{name} : {type_words(python_type(field))}, {shown}\n{indented}"


def described(field: FieldInfo) -> str:
    """Return the help of a field with its details."""
    return f"{as_sentence(field.description or '')} {extra(field, 'details')}".strip()


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
    return Mapping[str, Any] if origin is dict else kind


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
    """Return a page's section about settings: a Markdown table for every group."""
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
    words = [expected_words(field), described(field)]
    cells = [f"`{name}`", f"`{flag_of(name, field)}`", shown, *words]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
