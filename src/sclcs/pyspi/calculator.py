"""Calculator: one dataset, many operators, one table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sclcs._core import InputError, checked
from sclcs.pyspi.config_files import read_identifiers, subset_identifiers
from sclcs.pyspi.data import Data
from sclcs.pyspi.utils import MemberElsewhereError, elsewhere
from sclcs.spi import catalogue_rows, compute_batch

__getattr__ = elsewhere(__name__)


@dataclass(frozen=True)
class SPI:
    """What is known of one operator."""

    identifier: str  # pyspi's identifier, and what it computes in one line
    name: str  # pyspi's identifier, and what it computes in one line
    labels: tuple[str, ...]  # words such as ``linear`` or ``directed``


class Calculator:
    """Compute many operators on one dataset, with pyspi's interface and numbers.

    Parameters
    ----------
    dataset : array_like (process, time) or Data, optional
        The multivariate time series; rows are processes (regions), as in pyspi. It can be given
        later, with :meth:`load_dataset`.
    name : str, optional
        Of the calculator.
    labels : sequence of str, optional
        Whatever you want to remember about the dataset.
    subset : {"all", "fast", "sonnet", "fabfour"}
        Which operators: pyspi 2.0.2's lists.
    configfile : path-like, optional
        A YAML file of pyspi: modules, classes and their configurations. It beats `subset`.
    detrend : bool
        Remove a straight line from every process before z-scoring; off by default, as in
        pyspi 2.0.2.
    normalise : bool
        Z-score every process; it cannot be switched off here.
    n_jobs : int
        Threads; -1 for one per processor. pyspi has no such option.

    Examples
    --------
    >>> dataset = np.random.default_rng(0).normal(size=(3, 60))
    >>> calc = Calculator(dataset=dataset, subset="fabfour")
    >>> calc.compute()
    >>> calc.table["spearmanr"].shape
    (3, 3)
    """

    @checked
    def __init__(  # noqa: PLR0917 - pyspi's order
        self,
        dataset: ArrayLike | Data | None = None,
        name: str | None = None,
        labels: Sequence[str] | None = None,
        subset: str = "all",
        configfile: str | os.PathLike[str] | None = None,
        detrend: bool = False,
        normalise: bool = True,
        *,
        n_jobs: int = 1,
    ) -> None:
        identifiers = (
            subset_identifiers(subset) if configfile is None else read_identifiers(configfile)
        )
        rows = catalogue_rows()
        self.spis = {
            identifier: SPI(
                identifier,
                str(rows[identifier]["description"]),
                tuple(str(rows[identifier]["labels"]).split()),
            )
            for identifier in identifiers
        }
        self.name = name
        self.labels = labels
        self._detrend, self._normalise = detrend, normalise
        self._n_jobs = n_jobs
        self._dataset: Data | None = None
        self._table: pd.DataFrame | None = None
        self.failures: dict[str, str] = {}
        if dataset is not None:
            self.load_dataset(dataset)

    def __repr__(self) -> str:
        return f"Calculator({self.n_spis} operators, {self._dataset or 'no dataset'})"

    def __getattr__(self, name: str) -> NoReturn:
        raise MemberElsewhereError.of("Calculator", name)

    @property
    def n_spis(self) -> int:
        """Number of operators."""
        return len(self.spis)

    @property
    def dataset(self) -> Data:
        """The dataset."""
        if self._dataset is None:
            raise InputError("The calculator has no dataset; give one with load_dataset(dataset).")
        return self._dataset

    @property
    def table(self) -> pd.DataFrame:
        """The results; NaN before :meth:`compute`.

        Columns are (spi, process): ``table["pec"]`` is the matrix of one operator, its rows the
        sources and its columns the targets, with a NaN diagonal.
        """
        if self._table is None:
            raise InputError("There is no table without a dataset; use load_dataset(dataset).")
        return self._table

    def load_dataset(self, dataset: ArrayLike | Data) -> None:
        """Take another dataset; the table is empty then.

        Parameters
        ----------
        dataset : array_like (process, time) or Data
            The multivariate time series.
        """
        if not isinstance(dataset, Data):
            dataset = Data(dataset, detrend=self._detrend, normalise=self._normalise)
        self._dataset, self.failures = dataset, {}
        size = self._dataset.n_processes
        self._table = self._as_table(np.full((self.n_spis, size, size), np.nan))

    def compute(self) -> None:
        """Compute all operators; those that cannot be computed stay NaN, as in pyspi."""
        found = compute_batch(self.dataset.to_numpy(), list(self.spis), self._n_jobs)
        self._table = self._as_table(found.to_numpy()[:, 0])
        status, reason = found["status"].to_numpy()[:, 0], found["reason"].to_numpy()[:, 0]
        self.failures = {
            str(spi): str(why)
            for spi, state, why in zip(self.spis, status, reason, strict=True)
            if state != "ok"
        }

    def _as_table(self, matrices: np.ndarray) -> pd.DataFrame:
        names = self.dataset.procnames
        columns = pd.MultiIndex.from_product([list(self.spis), names], names=["spi", "process"])
        values = matrices.swapaxes(0, 1).reshape(len(names), len(columns))
        return pd.DataFrame(values, index=names, columns=columns)

    def merge(self, other: Calculator) -> None:
        """Take over the operators, and results, of another calculator of the same dataset.

        Parameters
        ----------
        other : Calculator
            Where both have an operator, this one's matrix stays.
        """
        mine, others = self.dataset, other.dataset
        if mine.procnames != others.procnames or not np.array_equal(
            mine.to_numpy(), others.to_numpy()
        ):
            raise InputError(f"Expected two calculators of the same dataset, got {mine}, {others}.")
        new = [spi for spi in other.spis if spi not in self.spis]
        self._table = pd.concat([self.table, other.table[new]], axis=1)
        self.spis |= {spi: other.spis[spi] for spi in new}
        self.failures |= {spi: why for spi, why in other.failures.items() if spi in new}

    def copy(self) -> Self:
        """Return a calculator of the same operators and dataset."""
        from copy import deepcopy

        return deepcopy(self)
