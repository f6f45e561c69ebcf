"""Every switch of the classifier, its training and what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from sclcs.core.errors import InputError, UnknownNameError

__all__ = ["ClassifierSettings"]

#: Epoch (the first is 0) whose features are kept, if there are that many.
USUAL_FEATURE_EPOCH = 10

_CHOICES: dict[str, tuple[object, ...]] = {
    "dimensions": (1, 2),
    "scheduler": ("constant", "cosine"),
    "record": ("train", "eval"),
    "input_norm": ("zscore", "none"),
}


@dataclass(frozen=True)
class ClassifierSettings:
    """How the classifier is built, trained and watched; the defaults are the paper's.

    Epochs are counted from 0.

    Parameters
    ----------
    task : str
        The column to learn: ``subject`` or any column of classes.
    dimensions : {1, 2}
        Convolve over time, with regions as channels, or over a one-channel image
        (region, time).
    epochs : int
        Length of training.
    learning_rate, weight_decay : float
        Of Adam; the decay is part of the gradient (L2).
    batch_size : int
        Samples per batch; the last batch of an epoch may be smaller and is kept.
    scheduler : {"constant", "cosine"}
        Learning rate: as it is, or falling along a half cosine to 1e-4 over all batches.
    record : {"train", "eval"}
        Predictions that are recorded: of the pass that trains, before the batch's update, or
        of an extra pass in evaluation mode after each epoch.
    input_norm : {"zscore", "none"}
        Standardise each region inside its window, or take signals as they are.
    feature_epoch : int, optional
        Epoch whose penultimate features are kept; 10 by default, or the last one if there
        are fewer.
    variance_windows : sequence of (first, last)
        Ranges of epochs, both ends included, over which the variance of the whole
        prediction vector is accumulated.
    """

    task: str = "subject"
    dimensions: Literal[1, 2] = 1
    epochs: int = 200
    learning_rate: float = 0.01
    weight_decay: float = 1e-4
    batch_size: int = 256
    scheduler: Literal["constant", "cosine"] = "constant"
    record: Literal["train", "eval"] = "train"
    input_norm: Literal["zscore", "none"] = "zscore"
    feature_epoch: int | None = None
    variance_windows: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or value not in known:
                choices = ", ".join(map(str, known))
                raise InputError(f"Expected {name} to be one of {choices}, got {value!r}.")
        _require("epochs", self.epochs, "a whole number of at least 1", lambda v: v >= 1)
        _require("batch_size", self.batch_size, "a whole number of at least 2", lambda v: v >= 2)
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if isinstance(value, bool | str) or not value >= 0:
                raise InputError(f"Expected {name} to be at least 0, got {value!r}.")
        if self.feature_epoch is not None:
            expected = f"an epoch from 0 to {self.epochs - 1} (of {self.epochs})"
            _require("feature_epoch", self.feature_epoch, expected, self._is_epoch)
        windows = tuple((int(first), int(last)) for first, last in self.variance_windows)
        object.__setattr__(self, "variance_windows", windows)
        for first, last in windows:
            if not 0 <= first < last < self.epochs:
                raise InputError(
                    f"A window of epochs needs at least 2 of the epochs 0 to {self.epochs - 1}, "
                    f"got {first} to {last}; train longer or choose another window."
                )

    def _is_epoch(self, value: int) -> bool:
        return 0 <= value < self.epochs

    @property
    def kept_feature_epoch(self) -> int:
        """The epoch whose features are kept."""
        if self.feature_epoch is not None:
            return self.feature_epoch
        return min(USUAL_FEATURE_EPOCH, self.epochs - 1)

    def change(self, changes: Mapping[str, Any]) -> ClassifierSettings:
        """Return settings with some values changed; an unknown name is an error."""
        known = [field.name for field in fields(self)]
        unknown = [name for name in changes if name not in known]
        if unknown:
            raise UnknownNameError(
                f"Unknown classifier setting {', '.join(unknown)}; the known ones are "
                f"{', '.join(known)}."
            )
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, from which the settings can be made again."""
        values = asdict(self)
        values["variance_windows"] = [list(window) for window in self.variance_windows]
        return values


def _require(name: str, value: object, expected: str, holds: Callable[[int], bool]) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole and holds(value)):  # type: ignore[arg-type]
        raise InputError(f"Expected {name} to be {expected}, got {value!r}.")
