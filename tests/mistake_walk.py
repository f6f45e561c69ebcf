"""Many kinds of wrong, and how a function answers them; shared by the walks of mistakes."""

import inspect
import re
import warnings
from pathlib import Path

import numpy as np

from sclcs.core import SclcsError

REPOSITORY = Path(__file__).resolve().parents[1]


class Odd:
    """What nobody expects."""

    def __repr__(self):
        return "Odd()"


WRONG = {
    "an object": Odd(),
    "a negative number": -1,
    "a fraction": 2.5,
    "an unknown name": "no-such-thing",
    "nothing": [],
    "a list of objects": [Odd()],
    "a mapping": {"no": "such"},
    "none": None,
    "nan": float("nan"),
    "true": True,
    "an array": np.zeros((2, 2)),
}


def mistakes(function, arguments):
    """Replace one argument after the other by each kind of wrong; return the bad answers."""
    assert not answer(function, arguments), "the good arguments are not good"
    return [
        f"{parameter} = {kind} {problem}"
        for parameter in arguments
        for kind, wrong in WRONG.items()
        if (problem := answer(function, arguments | {parameter: wrong}))
    ]


def answer(function, arguments):
    """Return what is wrong with the answer to some arguments; empty if nothing is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(**_given(arguments))
    except SclcsError as error:
        text = str(error)
        if len(text.split()) < 4 or not text.rstrip().endswith((".", "?")):
            return f"is no sentence: {text!r}"
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        return f"raises {type(error).__name__}: {error}"
    return ""


def _given(arguments):
    return {name: value() if _lazy(value) else value for name, value in arguments.items()}


def _lazy(value):
    """Tell whether a value is made anew for every call, such as a folder that must be new."""
    return inspect.isfunction(value) and not inspect.signature(value).parameters


def public_names():
    """Return the names that the API page lists, as ``benchmark.rank``."""
    found, module = [], ""
    for line in (REPOSITORY / "docs" / "api.md").read_text(encoding="utf-8").splitlines():
        if opened := re.match(r"\.\. currentmodule:: sclcs\.?(\S*)", line):
            module = opened[1]
        elif listed := re.match(r"   ([\w.]+)$", line):
            found.append(f"{module}.{listed[1]}" if module else listed[1])
    return found
