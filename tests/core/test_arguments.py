"""Types of arguments: what fits, what does not, and the sentence."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike

from sclcs.core import InputError
from sclcs.core.arguments import checked


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
        (ArrayLike | None, object()), ("NoSuchName | None", 3),
    ],
)  # fmt: skip
def test_what_fits_comes_through(kind, value):
    assert ask(kind, value) is value


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (int, 2.5, "a whole number, got 2.5"),
        (int, True, "a whole number, got True"),
        (float, "a", "a number, got 'a'"),
        (bool, 1, "true or false"),
        (str, 3, "a text"),
        (Literal["a", "b"], "c", "one of a, b, got 'c'"),
        (Sequence[str], "abc", "a list of texts"),
        (Sequence[str], [1], "a list of texts"),
        (Sequence[int], np.zeros((2, 2)), "a list of whole numbers"),
        (Mapping[str, float], {"a": "b"}, "names with values"),
        (str | os.PathLike[str], 3, "a path, got 3"),
        (pd.DataFrame | None, [1], "a DataFrame"),
        (Callable[[int], int], 3, "a function"),
    ],
)
def test_what_does_not_is_a_sentence(kind, value, words):
    with pytest.raises(InputError, match=f"Expected given of function to be {words}"):
        ask(kind, value)


def test_long_values_are_not_printed():
    with pytest.raises(InputError, match="got a list"):
        ask(int, list(range(100)))


def test_others_are_checked_by_their_annotation():
    @checked
    def function(**strengths: float) -> int:
        return len(strengths)

    assert function(a=1.0, b=2) == 2
    with pytest.raises(InputError, match="Expected a of function to be a number, got 'much'"):
        function(a="much")


def test_names_and_words_stay_pythons():
    @checked
    def function(a: int, *, b: int = 0) -> int:
        """Words."""
        return a + b

    assert function.__doc__ == "Words."
    with pytest.raises(InputError, match=r"cannot be called so.*unexpected keyword argument 'c'"):
        function(1, c=2)
    with pytest.raises(InputError, match=r"too many positional arguments; it takes a, b=\."):
        function(1, 2)
