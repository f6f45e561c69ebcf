"""Arrays of real numbers, from whatever holds them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.core.errors import InputError, name_first

__all__ = ["real_numbers"]

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
    sclcs.core.errors.InputError: Expected an array, got lists of numbers of unequal lengths.
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
