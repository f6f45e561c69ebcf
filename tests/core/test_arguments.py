"""Types of arguments: what fits, what does not, and the sentence."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray

from sclcs._core import InputError, arguments
from sclcs._core.arguments import checked


def ask(kind, value):
    def function(given):
        return given

    function.__annotations__ = {"given": kind}
    return checked(function)(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, 3), (int, np.int32(3)), (float, 3), (float, np.float32(0.5)), (bool, True),
        (bool, np.True_), (str, "a"), (str | None, None), (Literal["a", "b"], "a"),
        (Literal[False] | str, False), (Sequence[str], ["a"]), (Sequence[str], ("a",)),
        (Sequence[str], pd.Index(["a"])), (Sequence[int], np.arange(3)), (Mapping[str, int], {}),
        (Callable[[int], int], len), (str | os.PathLike[str], Path("a")),
        (pd.DataFrame, pd.DataFrame()),
        (Iterable[str], (name for name in "ab")), (Any, object()), (ArrayLike, "anything"),
        (ArrayLike | None, object()), ("NoSuchName | None", 3), ("no.Such | int", "a"),
        (NDArray[np.floating], np.zeros(2)), (tuple[int, str], (1, "a")),
    ],
)  # fmt: skip
def test_what_fits_comes_through(kind, value):
    assert ask(kind, value) is value


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (int, 2.5, r"an integer, got 2.5 \(float\)"),
        (int, True, "an integer, got True"),
        (float, "a", "a number, got 'a'"),
        (bool, 1, "True or False"),
        (str, 3, "a string"),
        (Literal["a", "b"], "c", "one of 'a', 'b', got 'c'"),
        (Sequence[str], "abc", "a list of strings"),
        (Sequence[str], [1], "a list of strings"),
        (Sequence[int], np.zeros((2, 2)), "a list of integers"),
        (Sequence[int], np.array(1), "a list of integers"),
        (Mapping[str, float], {"a": "b"}, "a mapping"),
        (str | os.PathLike[str], 3, "a path, got 3"),
        (pd.DataFrame | None, [1], "a DataFrame"),
        (Callable[[int], int], 3, "callable"),
        (NDArray[np.integer], np.zeros(2), "a numpy array of integers, got array"),
    ],
)
def test_what_does_not_fit_is_named(kind, value, words):
    with pytest.raises(InputError, match=rf"function\(\): `given` must be {words}"):
        ask(kind, value)


def test_long_values_are_not_printed():
    with pytest.raises(InputError, match=r"got a list\."):
        ask(int, list(range(100)))


def test_keyword_arguments_are_checked_by_their_annotation():
    @checked
    def function(**strengths: float) -> int:
        return len(strengths)

    assert function(a=1.0, b=2) == 2
    with pytest.raises(InputError, match="`a` must be a number, got 'much'"):
        function(a="much")


def test_names_are_refused_as_python_does():
    @checked
    def function(task: int, *, seed: int = 0) -> int:
        """Docstring."""
        return task + seed

    assert function.__doc__ == "Docstring."
    words = r"function\(\) got an unexpected keyword argument 'taks'\. Did you mean 'task'\?"
    with pytest.raises(InputError, match=words):
        function(taks=1)
    with pytest.raises(InputError, match=r"'x'\. It takes task, seed\."):
        function(1, x=2)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'task'"):
        function()
    with pytest.raises(TypeError, match="takes 1 positional argument but 2"):
        function(1, 2)


class Watched:
    """Says when somebody reads its property."""

    @property
    def samples(self):
        raise AssertionError("a property was run")

    __array__ = __class__ = dtype = fingerprint = ndim = shape = samples


@runtime_checkable
class Source(Protocol):
    @property
    def samples(self) -> int: ...


@pytest.mark.parametrize("kind", [Source, Source | None, int | Source, ArrayLike, Sequence[int]])
def test_properties_are_not_run(kind):
    watched = Watched()
    assert ask(kind, watched) is watched


@pytest.mark.parametrize("kind", [pd.DataFrame, Mapping[str, int], Callable[[], int], int, Path])
def test_properties_are_not_run_when_a_value_is_refused(kind):
    with pytest.raises(InputError, match=r"got a Watched\."):
        ask(kind, Watched())


def evaluated():
    raise AssertionError("a string was evaluated")


@pytest.mark.parametrize("kind", ["evaluated()", "dict[evaluated(), int]", "evaluated() or int"])
def test_strings_are_not_evaluated(kind):
    assert ask(kind, {}) == {}


def test_checks_are_built_once_and_cost_three_calls_an_argument(monkeypatch):
    parsed, calls = [], []
    meaning = arguments._meaning
    monkeypatch.setattr(arguments, "_meaning", lambda *a: parsed.append(a) or meaning(*a))

    @checked
    def function(task: str | Sequence[str], *, rows: Sequence[int] = (), names: list[str]) -> int:
        return len(rows)

    assert parsed == []  # not at import
    function("age", names=["a"])
    assert len(parsed) == 3
    sys.setprofile(lambda frame, event, _: calls.append(frame) if event == "call" else None)
    try:
        function(["age"] * 1000, rows=range(1000), names=["a"] * 1000)
    finally:
        sys.setprofile(None)
    assert len(parsed) == 3
    assert len(calls) <= 2 + 3 * 3
