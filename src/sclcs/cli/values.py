"""Reading values from the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sclcs.core.errors import InputError

__all__ = ["key_values", "parse_numbers", "parse_parameters"]


def parse_parameters(pairs: Sequence[str] | None) -> dict[str, Any]:
    """Turn ``["epochs=50", "preset=official", "mlp=true"]`` into a dictionary."""
    parameters: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f"Expected --param name=value, got {pair!r}.")
        parameters[name.strip().replace("-", "_")] = _value(text.strip())
    return parameters


def key_values(pairs: Sequence[str], option: str = "--entity") -> dict[str, str]:
    """Turn ``["reg=36Parameter", "den=91k"]`` into a dictionary of text."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip() or not text.strip():
            raise InputError(f"Expected {option} key=value, got {pair!r}.")
        found[name.strip()] = text.strip()
    return found


def _value(text: str) -> object:
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    try:
        return json.loads(text)
    except ValueError:
        return text  # a plain word needs no quotes


def parse_numbers(text: str, option: str) -> list[int]:
    """Turn ``"4,8,16"`` into whole numbers."""
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise InputError(
            f"Expected {option} to be whole numbers with commas, got {text!r}."
        ) from error
