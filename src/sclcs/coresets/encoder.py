"""The paper's encoder: its settings, its training, and what a finished training keeps.

torch is imported when training starts, never by importing this module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import model_validator

from sclcs._core import (
    InputError,
    Settings,
    UnknownNameError,
    checked,
    guard_cell,
    import_extra,
    name_first,
    setting,
    unguard_cell,
)
from sclcs.cohort import Cohort
from sclcs.coresets.training import (
    Trained,
    choose_device,
    kept_training,
    prepare_inputs,
    read_table,
    training_identity,
    write_table,
)

Denominator = Literal["negatives", "negatives+self", "infonce"]


class EncoderSettings(Settings):
    """How the encoder is built, trained and scored; the defaults are the preset ``paper``.

    What the fields mean: ``EncoderSettings.helps()``, or `sclcs select --list --method sclcs`.

    Examples
    --------
    >>> encoder_settings("official", epochs=50).attention
    'logits'
    """

    heads: int = setting("number of attention heads", 16, ge=1)
    dim: int = setting("width of a head and of the embedding", 32, ge=1)
    attention: Literal["softmax", "logits"] = setting(
        "rows of a head's map are a softmax, or the bare products of the scripts (logits)",
        "softmax",
    )
    scale: Literal["sqrt_dim", "sqrt_in"] = setting(
        "divide products by the root of the width (sqrt_dim) or of the length (sqrt_in)",
        "sqrt_dim",
    )
    qk_bias: bool = setting("whether queries and keys have a bias", False)
    fusion: Literal["learned", "uniform"] = setting(
        "heads mixed with learned weights, equal at first (learned), or averaged (uniform)",
        "learned",
    )
    values: Literal["shared", "per-head"] = setting(
        "one value projection for the fused map (shared), or one per head, concatenated and "
        "projected back: the published ablation (per-head)",
        "shared",
    )
    input_norm: Literal["layernorm", "zscore", "none"] = setting(
        "a region's window standardised and scaled by learned numbers per time point (layernorm), "
        "only standardised (zscore), or as it is (none)",
        "layernorm",
    )
    mlp: bool = setting("whether a two-layer block follows the output projection", False)
    mlp_ratio: int = setting("hidden width of that block, as a multiple of dim", 4, ge=1)
    dropout: float = setting("share of units dropped inside that block", 0.1, ge=0, lt=1)
    pooling: Literal["mean", "max"] = setting("mean or max over regions", "mean")
    denominator: Denominator = setting(
        "a pair is compared with other subjects' samples (negatives), those and the anchor as "
        "in the scripts (negatives+self), or those and the positive (infonce)",
        "negatives",
    )
    temperature: float = setting("divides the similarities in the loss", 0.1, gt=0)
    attention_l1: float = setting(
        "weight of the mean absolute entry of the map in the loss", 0.0, ge=0
    )
    learning_rate: float = setting("of Adam", 1e-3, ge=0)
    weight_decay: float = setting("of Adam", 0.0, ge=0)
    batch_subjects: int = setting("subjects per batch, two windows of each", 64, ge=2)
    allow_overlap: bool = setting("whether the two windows of a pair may share time points", True)
    epochs: int = setting("length of training", 200, ge=1)
    tracking: Literal["every-epoch", "logged"] = setting(
        "compare all maps after every epoch, from the untrained model on (every-epoch), or as "
        "published each with that of the last time its sample was drawn (logged)",
        "every-epoch",
    )
    power: Literal[1, 2] = setting("squared (2) or plain (1) norm of the difference of two maps", 2)
    burn_in: int = setting("differences up to this epoch do not count", 0)
    last_scored_epoch: int | None = setting("differences after this epoch do not count", None)

    @classmethod
    def noun(cls) -> str:
        """Return what a field is called."""
        return "encoder setting"

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        last = self.epochs if self.last_scored_epoch is None else self.last_scored_epoch
        if not 0 <= self.burn_in < last <= self.epochs:
            raise ValueError(
                f"Expected 0 <= burn_in < last_scored_epoch <= epochs, got {self.burn_in}, "
                f"{last}, {self.epochs}; at least one epoch must count."
            )
        if self.values == "per-head" and (self.fusion, self.attention) != ("uniform", "softmax"):
            raise ValueError(
                "values='per-head' is the published ablation and needs fusion='uniform' and "
                f"attention='softmax', got {self.fusion!r} and {self.attention!r}."
            )
        return self

    def counts(self, epoch: int) -> bool:
        """Return whether the difference that ends at this epoch enters the score."""
        last = self.epochs if self.last_scored_epoch is None else self.last_scored_epoch
        return self.burn_in < epoch <= last


_OFFICIAL = EncoderSettings(
    attention="logits",
    scale="sqrt_in",
    qk_bias=True,
    mlp=True,
    denominator="negatives+self",
    attention_l1=1e-4,
    epochs=1000,
    tracking="logged",
    power=1,
)

#: Named settings: the paper's text, the published scripts, the ablation of the fusion
#: alone, and the layer the published ablation really used.
PRESETS: dict[str, EncoderSettings] = {
    "paper": EncoderSettings(),
    "official": _OFFICIAL,
    "mha": EncoderSettings(fusion="uniform"),
    "mha-published": _OFFICIAL.change(
        {
            "attention": "softmax",
            "scale": "sqrt_dim",
            "fusion": "uniform",
            "values": "per-head",
        }
    ),
}


@checked
def encoder_settings(
    preset: str | EncoderSettings = "paper",
    **changes: Any,  # noqa: ANN401
) -> EncoderSettings:
    """Return a preset with some settings changed.

    Parameters
    ----------
    preset : str or EncoderSettings
        ``paper``, ``official``, ``mha`` or ``mha-published``, or settings to start from.
    **changes : object
        Fields of :class:`EncoderSettings`.

    Returns
    -------
    EncoderSettings
    """
    if isinstance(preset, EncoderSettings):
        return preset.change(changes)
    if preset not in PRESETS:
        raise UnknownNameError(
            f"Unknown preset {preset!r}; the known ones are {', '.join(PRESETS)}."
        )
    return PRESETS[preset].change(changes)


SCORES, WEIGHTS, CURVES = "scores.csv", "weights.npz", "curves.npz"
Weights = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TrainedEncoder(Trained):
    """A trained encoder's scores and how they came about.

    Parameters
    ----------
    sample_ids : sequence of str
        All samples of the cohort, in its order.
    scores : array of float
        Structural perturbation score of each sample; infinite for a sample that was drawn
        fewer than twice with ``tracking="logged"``.
    history : DataFrame
        One row per epoch: loss, perturbation (mean over samples), head_0, head_1, ...
    settings : EncoderSettings
        Of the training.
    seed : int
        Of the training.
    fingerprint : str
        Of the cohort.
    snapshots : mapping from epoch to weights
        Weights at some epochs, from which maps can be drawn again.
    curves : array, shape (sample, epoch), optional
        Perturbation of each sample at each epoch, if asked for.
    info : mapping
        Device, threads, seconds, versions.
    """

    scores: NDArray[np.float64]
    snapshots: Mapping[int, Weights] = field(default_factory=dict)
    curves: NDArray[np.float32] | None = None

    kind: ClassVar[str] = "encoder"

    def maps(self, cohort: Cohort, sample_ids: Sequence[str], epoch: int) -> NDArray[np.float32]:
        """Compute attention maps with the weights of an epoch.

        Parameters
        ----------
        cohort : Cohort
            Where the signals are.
        sample_ids : sequence of str
            Which samples.
        epoch : int
            One of the epochs of `snapshots`; 0 is the untrained model.

        Returns
        -------
        array, shape (sample, region, region)
        """
        if epoch not in self.snapshots:
            raise InputError(
                f"Weights were kept at the epochs {name_first(sorted(self.snapshots), 30)}, "
                f"not at {epoch}."
            )
        # Saved trainings are read where torch is not installed; only their maps need it.
        torch = import_extra("torch", "torch")
        from sclcs.coresets.attention import AttentionEncoder

        model = AttentionEncoder(self.settings, cohort.n_timepoints, seed=0)
        model.restore(self.snapshots[epoch])
        chosen = cohort.take(list(sample_ids))
        inputs = prepare_inputs(chosen, np.arange(len(chosen)), self.settings.input_norm)
        with torch.no_grad():
            return np.asarray(model(inputs)[1].numpy())

    def _write(self, folder: Path) -> None:
        names = [guard_cell(name) for name in self.sample_ids]
        write_table(folder / SCORES, pd.DataFrame({"sample_id": names, "sps": self.scores}))
        arrays = {
            f"{epoch}/{name}": array
            for epoch, weights in self.snapshots.items()
            for name, array in weights.items()
        }
        np.savez(folder / WEIGHTS, **arrays)  # type: ignore[arg-type]
        if self.curves is not None:
            np.savez_compressed(folder / CURVES, curves=self.curves)

    @classmethod
    def _read(cls, folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
        scores = read_table(folder / SCORES)
        snapshots: dict[int, Weights] = {}
        with np.load(folder / WEIGHTS, allow_pickle=False) as stored:
            for key in stored.files:
                epoch, _, name = key.partition("/")
                snapshots.setdefault(int(epoch), {})[name] = stored[key]
        curves = None
        if (folder / CURVES).exists():
            with np.load(folder / CURVES, allow_pickle=False) as stored:
                curves = stored["curves"]
        return {
            "sample_ids": [unguard_cell(name) for name in scores["sample_id"]],
            "scores": scores["sps"].map(float).to_numpy(dtype=np.float64),
            "settings": EncoderSettings().change(settings),
            "snapshots": snapshots,
            "curves": curves,
        }


@checked
def train_encoder(
    cohort: Cohort,
    settings: str | EncoderSettings = "paper",
    *,
    seed: int = 0,
    device: str = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 10,
    keep_curves: bool = False,
    memory_gb: float | None = None,
    **changes: Any,  # noqa: ANN401
) -> TrainedEncoder:
    """Train the encoder and score every sample by how much its attention map moves.

    On a CPU the result is the same, bit by bit, for the same cohort, settings and seed (and
    number of threads), whatever the order of the samples in the cohort.

    Parameters
    ----------
    cohort : Cohort
        At least two subjects, one of them with two windows.
    settings : str or EncoderSettings
        A preset (``paper``, ``official``, ``mha``, ``mha-published``) or settings.
    seed : int
        Of the initial weights, the batches and dropout.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
    checkpoint : path-like, optional
        A file from which an interrupted training continues; written as it goes.
    checkpoint_every : int
        Epochs between two checkpoints.
    keep_curves : bool
        Keep the perturbation of every sample at every epoch.
    memory_gb : float, optional
        Signals or maps that take more memory go to a temporary file. An eighth of the available
        memory by default.
    **changes : object
        Single settings that differ, for example ``epochs=50``.

    Returns
    -------
    TrainedEncoder
    """
    chosen = encoder_settings(settings, **changes)
    hardware = choose_device(device)
    if checkpoint_every < 1:
        raise InputError(f"Expected checkpoint_every of at least 1, got {checkpoint_every}.")
    from sclcs.coresets.encoder_training import prepare_encoder

    # A longer training begins like a shorter one, so it may continue its checkpoint.
    rest = {name: value for name, value in chosen.to_dict().items() if name != "epochs"}
    identity = training_identity(
        "encoder", cohort.fingerprint, rest, seed, keep_curves=keep_curves
    ).text
    training = prepare_encoder(
        cohort, chosen, seed, hardware, keep_curves=keep_curves, memory_gb=memory_gb
    )
    info = training.run(chosen.epochs, checkpoint, identity, checkpoint_every)
    return training.result(cohort, info)


def _label(settings: EncoderSettings) -> str:
    for name, preset in PRESETS.items():
        if preset.to_dict() | {"epochs": settings.epochs} == settings.to_dict():
            return name
    return "custom"


@checked
def trained_encoder(
    cohort: Cohort,
    settings: str | EncoderSettings = "paper",
    *,
    seed: int = 0,
    device: str = "auto",
    cache: str | os.PathLike[str] | bool | None = None,
    memory_gb: float | None = None,
    **changes: Any,  # noqa: ANN401
) -> TrainedEncoder:
    """Return a training from the cache, or train as :func:`train_encoder` does and keep it.

    An interrupted training leaves a checkpoint in the cache and continues from there.

    Parameters
    ----------
    cohort, settings, seed, device, memory_gb, **changes
        As for :func:`train_encoder`; the cohort is recognised by its fingerprint.
    cache : path-like or bool, optional
        Folder of the cache; the default is ``$SCLCS_CACHE`` or the user's cache folder.
        False neither reads nor writes any.

    Returns
    -------
    TrainedEncoder
    """
    chosen = encoder_settings(settings, **changes)
    return kept_training(
        TrainedEncoder,
        train_encoder,
        cohort,
        chosen,
        seed=seed,
        cache=cache,
        label=f"{_label(chosen)}-",
        device=device,
        memory_gb=memory_gb,
    )
