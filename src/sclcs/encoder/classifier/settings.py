"""Every switch of the classifier, its training and what is recorded."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from sclcs.core.arguments import checked_methods
from sclcs.core.settings import Settings, setting

__all__ = ["ClassifierSettings", "LearningSettings"]

#: Epoch (the first is 0) whose features are kept, if there are that many.
USUAL_FEATURE_EPOCH = 10


class LearningSettings(Settings):
    """How the classifier learns: what its settings share with the methods that train it."""

    task: str = setting(
        "the column the classifier learns: subject, diagnosis, site, ...", "subject"
    )
    dimensions: Literal[1, 2] = setting(
        "1: convolve over time, regions are channels; 2: over an image (region, time)", 1
    )
    epochs: int = setting("length of training", 200, ge=1)
    learning_rate: float = setting("of Adam", 0.01, ge=0)
    weight_decay: float = setting("of Adam, as part of the gradient", 1e-4, ge=0)
    batch_size: int = setting("samples per batch; the last batch is kept", 256, ge=2)
    scheduler: Literal["constant", "cosine"] = setting(
        "constant, or cosine: down to 1e-4 along a half cosine", "constant"
    )
    record: Literal["train", "eval"] = setting(
        "predictions of the pass that trains (train), or of an extra pass (eval)", "train"
    )
    input_norm: Literal["zscore", "none"] = setting(
        "zscore: standardise each region in its window; none", "zscore"
    )


@checked_methods
class ClassifierSettings(LearningSettings):
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

    feature_epoch: int | None = setting(
        "epoch of the features that are kept; 10, or the last", None
    )
    variance_windows: tuple[tuple[int, int], ...] = setting(
        "ranges of epochs over which the variance of the prediction is accumulated", ()
    )

    @classmethod
    def noun(cls) -> str:
        """Return what a field is called."""
        return "classifier setting"

    @field_validator("variance_windows", mode="before")
    @classmethod
    def _as_windows(cls, value: object) -> object:
        if not isinstance(value, list | tuple):
            return value
        return tuple(tuple(item) if isinstance(item, list) else item for item in value)

    @model_validator(mode="after")
    def _check_epochs(self) -> Self:
        known = range(self.epochs)
        if self.feature_epoch is not None and self.feature_epoch not in known:
            raise ValueError(
                f"Expected feature_epoch to be an epoch from 0 to {self.epochs - 1} (of "
                f"{self.epochs}), got {self.feature_epoch!r}."
            )
        for first, last in self.variance_windows:
            if not 0 <= first < last < self.epochs:
                raise ValueError(
                    f"A window of epochs needs at least 2 of the epochs 0 to {self.epochs - 1}, "
                    f"got {first} to {last}; train longer or choose another window."
                )
        return self

    @property
    def kept_feature_epoch(self) -> int:
        """The epoch whose features are kept."""
        if self.feature_epoch is not None:
            return self.feature_epoch
        return min(USUAL_FEATURE_EPOCH, self.epochs - 1)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, from which the settings can be made again."""
        windows = [list(window) for window in self.variance_windows]
        return super().to_dict() | {"variance_windows": windows}
