"""What every experiment is given: a cohort, its matrices, and options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError
from sclcs.experiments.options import TOY_SEARCH, Options
from sclcs.experiments.scorer import Scorer
from sclcs.experiments.variants import parameters_of, selector_of
from sclcs.spi.fc_store import FCStore

if TYPE_CHECKING:
    from sclcs.selection.registry import Selector

__all__ = ["Cell", "Row", "Setup", "asks_task"]

Cell = dict[str, Any]
Row = dict[str, Any]


def asks_task(method: str) -> bool:
    """Return whether a method's choice depends on the task: it learns it, or is guided by it."""
    return selector_of(method).asks_task


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything an experiment may use.

    Parameters
    ----------
    cohort : Cohort
    fc : Path
        The FC store of the cohort; operators that are missing are computed into it.
    options : Options
    """

    cohort: Cohort
    fc: Path
    options: Options

    def store(self, spis: str | Sequence[str] | None = None) -> FCStore:
        """Return the FC store with at least these operators (by default those of the options)."""
        from sclcs.compute import choose_executor, fill_store, is_done, open_computation

        wanted = self.options.spis if spis is None else spis
        computation = open_computation(
            self.cohort, self.fc, wanted if isinstance(wanted, str) else list(wanted)
        )
        # Several experiments may read one store at the same time; only a writer is alone.
        if is_done(computation):
            return computation.store
        return fill_store(computation, choose_executor(jobs=self.options.jobs)).store

    @cached_property
    def scorer(self) -> Scorer:
        """The scores of the options' operators on any core-set."""
        return self.scorer_of(self.options.spis)

    @cached_property
    def sound_scorer(self) -> Scorer:
        """The same by the sound score of each task."""
        return self.scorer_of(self.options.spis, sound=True)

    def scorer_of(self, spis: str | Sequence[str], *, sound: bool = False) -> Scorer:
        """Return the scores of some operators on any core-set; what is known is kept."""
        from sclcs.spi import resolve

        operators = resolve(spis if isinstance(spis, str) else list(spis))
        return Scorer(
            self.store(operators),
            operators,
            self.fc.with_name(f"{self.fc.name}-scores"),
            jobs=self.options.jobs,
            sound=sound,
        )

    def require_tasks(self) -> None:
        """Say before any long work that a label column is missing."""
        columns = self.cohort.samples.columns
        missing = [task for task in self.options.tasks if task not in columns]
        if missing:
            raise InputError(
                f"The experiment ranks for {', '.join(self.options.tasks)}, but the cohort has no "
                f"column {', '.join(missing)}; give tasks= (--tasks) that it has."
            )

    def select(self, method: str, ratio: float, seed: int, **parameters: Any) -> CoreSet:  # noqa: ANN401
        """Choose a core-set; trainings take their length from the options.

        Parameters
        ----------
        method, ratio, seed
            As for :func:`sclcs.selection.select`; a method may also be a variant.
        **parameters : object
            The method's own; a ``task`` is dropped where the method has none.

        Returns
        -------
        CoreSet
        """
        from sclcs.selection import select

        selector, parameters = selector_of(method), parameters_of(method) | parameters
        if not selector.takes_task:
            parameters.pop("task", None)
        if selector.needs_training:
            parameters.setdefault("epochs", self._epochs(selector, parameters))
        if selector.guided:
            parameters |= self._guiding(selector.parameters.defaults()["panel"])
        return select(self.cohort, selector.name, ratio, seed, **parameters)

    def _epochs(self, selector: Selector, parameters: dict[str, Any]) -> int:
        """Return the length of a training; a preset keeps its proportion to the paper's."""
        if selector.network != "encoder":
            return self.options.baseline_epochs
        from sclcs.encoder.settings import PRESETS

        preset = parameters.get("preset", selector.parameters.defaults()["preset"])
        return self.options.epochs * PRESETS[preset].epochs // PRESETS["paper"].epochs

    def _guiding(self, spis: str | Sequence[str]) -> dict[str, Any]:
        """Return the matrices of the guiding panel; a toy's own operators guide it."""
        from sclcs.spi import resolve

        panel = resolve(self.options.spis if self.options.toy else spis)
        self.store(panel)
        quick = TOY_SEARCH if self.options.toy else {}
        return {"fc": str(self.fc), "panel": panel, **quick}
