"""Settings whose default, meaning and check stand in one place.

A field of a :class:`Settings` is declared once, with its type, limits, default and one line of
help. The command line and the documentation show them; a wrong value is one sentence that says
what was expected.
"""

from __future__ import annotations

import os
import types
from collections.abc import Iterable, Mapping
from inspect import get_annotations
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin

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

from sclcs._core import InputError, UnknownNameError

__all__ = [
    "Names",
    "Settings",
    "as_assignments",
    "as_list",
    "as_path",
    "as_text",
    "expected_words",
    "extra",
    "setting",
]


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
    """Return what :func:`setting` was told about a field."""
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
    """Let a file write a text as a number."""
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
        order = [name for kind in cls.__mro__ for name in get_annotations(kind)]
        return list(dict.fromkeys(name for name in order if name in cls.model_fields))

    @classmethod
    def refuse_unknown(cls, given: Iterable[str], noun: str | None = None) -> None:
        """Raise if a name is no field, and say which there are."""
        unknown = [name for name in given if name not in cls.model_fields]
        if unknown:
            raise UnknownNameError(
                f"Unknown {noun or cls.noun()} {', '.join(unknown)}; the known ones are "
                f"{', '.join(cls.names()) or 'none'}."
            )

    def change(self, changes: Mapping[str, Any]) -> Self:
        """Return settings with some values changed; an unknown name is an error."""
        return type(self)(**{**self.to_dict(), **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return the values, from which the settings can be made again."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of every field."""
        fields = cls.model_fields
        return {
            name: None if fields[name].is_required() else fields[name].default
            for name in cls.names()
        }

    @classmethod
    def helps(cls) -> dict[str, str]:
        """Return one line about every field."""
        return {name: cls.model_fields[name].description or "" for name in cls.names()}

    @classmethod
    def expected(cls) -> dict[str, str]:
        """Return what every field may be, in words."""
        return {name: expected_words(cls.model_fields[name]) for name in cls.names()}

    def deciding(self) -> dict[str, Any]:
        """Return the values that decide a result, not where it is kept or how fast it comes."""
        return {
            name: getattr(self, name)
            for name, field in type(self).model_fields.items()
            if extra(field, "decides", True)
        }


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
        sentence = f"Expected {name} to be {words}, got {got}."
        if sentence not in found:
            found.append(sentence)
    return " ".join(found)


_LIMITS = {
    "ge": "of at least {:g}",
    "gt": "above {:g}",
    "le": "at most {:g}",
    "lt": "below {:g}",
}
_TYPES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
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
    return " ".join([_type_words(field.annotation), " and ".join(limits)]).strip()


def _takes_truth(annotation: Any) -> bool:  # noqa: ANN401
    """Say whether true and false are among what a type may be."""
    if annotation in {bool, Any} or isinstance(annotation, bool):
        return True
    return any(_takes_truth(part) for part in get_args(annotation))


def _type_words(annotation: Any) -> str:  # noqa: ANN401
    """Say what a type may be; None goes without saying."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_words(arguments[0])
    if origin is Literal:
        words = [str(value) for value in arguments]
        return words[0] if len(words) == 1 else f"one of {', '.join(words)}"
    if origin in {Union, types.UnionType}:
        parts = dict.fromkeys(_type_words(part) for part in arguments if part is not type(None))
        if "a path" in parts:  # which is written as a text
            parts.pop("a text", None)
        return " or ".join(parts)
    if origin in {list, tuple}:
        if get_origin(arguments[0]) is Literal:
            return f"one or several of {', '.join(map(str, get_args(arguments[0])))}"
        return "a name or several" if arguments[0] is str else "a list"
    return _TYPES.get(origin or annotation, "a value")
