"""Every switch of the encoder, its training and the score, and the named presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from sclcs.core.errors import InputError, UnknownNameError

__all__ = ["PRESETS", "EncoderSettings", "encoder_settings"]

Attention = Literal["softmax", "logits"]
Scale = Literal["sqrt_dim", "sqrt_in"]
Fusion = Literal["learned", "uniform"]
Values = Literal["shared", "per-head"]
InputNorm = Literal["layernorm", "zscore", "none"]
Pooling = Literal["mean", "max"]
Denominator = Literal["negatives", "negatives+self", "infonce"]
Tracking = Literal["every-epoch", "logged"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "attention": get_args(Attention),
    "scale": get_args(Scale),
    "fusion": get_args(Fusion),
    "values": get_args(Values),
    "input_norm": get_args(InputNorm),
    "pooling": get_args(Pooling),
    "denominator": get_args(Denominator),
    "tracking": get_args(Tracking),
}


@dataclass(frozen=True)
class EncoderSettings:
    """How the encoder is built, trained and scored; the defaults are the preset ``paper``.

    Parameters
    ----------
    heads, dim : int
        Number of attention heads and width of a head (and of the embedding).
    attention : {"softmax", "logits"}
        Rows of each head's map are a softmax, so that the fused map is row-stochastic, or
        the bare products of queries and keys, as in the published scripts.
    scale : {"sqrt_dim", "sqrt_in"}
        Products are divided by the root of `dim` or of the number of time points.
    qk_bias : bool
        Whether queries and keys have a bias.
    fusion : {"learned", "uniform"}
        Heads are mixed with learnable weights (a softmax, uniform at the start) or averaged.
    values : {"shared", "per-head"}
        One value projection applied to the fused map, or one per head, concatenated and
        projected back (the published ablation; needs uniform fusion and softmax).
    input_norm : {"layernorm", "zscore", "none"}
        Each region's window is standardised and then scaled by learnable numbers per time
        point, only standardised, or taken as it is.
    mlp : bool
        A two-layer block with a residual connection after the output projection.
    mlp_ratio : int
        Hidden width of that block as a multiple of `dim`.
    dropout : float
        Share of units dropped inside that block during training.
    pooling : {"mean", "max"}
        How the embeddings of regions become the embedding of the sample.
    denominator : {"negatives", "negatives+self", "infonce"}
        What the loss compares a positive pair with: other subjects' samples; those and the
        anchor itself (published scripts); those and the positive.
    temperature : float
        Divides the cosine similarities in the loss.
    attention_l1 : float
        Weight of the mean absolute entry of the map in the loss. Constant under softmax.
    learning_rate, weight_decay : float
        Of Adam.
    batch_subjects : int
        Subjects per batch; each contributes two windows.
    allow_overlap : bool
        Whether the two windows of a pair may share time points.
    epochs : int
        Length of training; each epoch draws two windows of every subject.
    tracking : {"every-epoch", "logged"}
        Maps of all samples are compared after every epoch, starting from the untrained
        model; or, as published, each sample's map is compared with the one of the last time
        the sample was drawn, taken before the update of its batch.
    power : {2, 1}
        Squared or plain Frobenius norm of the difference of two maps.
    burn_in : int
        Differences up to and including this epoch do not count.
    last_scored_epoch : int, optional
        Differences after this epoch do not count. All count by default.

    Examples
    --------
    >>> encoder_settings("official", epochs=50).attention
    'logits'
    """

    heads: int = 16
    dim: int = 32
    attention: Attention = "softmax"
    scale: Scale = "sqrt_dim"
    qk_bias: bool = False
    fusion: Fusion = "learned"
    values: Values = "shared"
    input_norm: InputNorm = "layernorm"
    mlp: bool = False
    mlp_ratio: int = 4
    dropout: float = 0.1
    pooling: Pooling = "mean"
    denominator: Denominator = "negatives"
    temperature: float = 0.1
    attention_l1: float = 0.0
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    batch_subjects: int = 64
    allow_overlap: bool = True
    epochs: int = 200
    tracking: Tracking = "every-epoch"
    power: Literal[1, 2] = 2
    burn_in: int = 0
    last_scored_epoch: int | None = None

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise InputError(
                    f"Expected {name} to be one of {', '.join(known)}, got {getattr(self, name)!r}."
                )
        for name in ("heads", "dim", "mlp_ratio", "epochs"):
            _require(name, getattr(self, name), "a whole number of at least 1", _positive_whole)
        _require("batch_subjects", self.batch_subjects, "at least 2", lambda v: v >= 2)
        _require("temperature", self.temperature, "above 0", lambda v: v > 0)
        _require("dropout", self.dropout, "at least 0 and below 1", lambda v: 0 <= v < 1)
        _require("power", self.power, "1 or 2", lambda v: v in (1, 2))
        for name in ("learning_rate", "weight_decay", "attention_l1"):
            _require(name, getattr(self, name), "at least 0", lambda v: v >= 0)
        self._check_scored_epochs()
        if self.values == "per-head" and (self.fusion, self.attention) != ("uniform", "softmax"):
            raise InputError(
                "values='per-head' is the published ablation and needs fusion='uniform' and "
                f"attention='softmax', got {self.fusion!r} and {self.attention!r}."
            )

    def _check_scored_epochs(self) -> None:
        last = self.epochs if self.last_scored_epoch is None else self.last_scored_epoch
        if not 0 <= self.burn_in < last <= self.epochs:
            raise InputError(
                f"Expected 0 <= burn_in < last_scored_epoch <= epochs, got {self.burn_in}, "
                f"{last}, {self.epochs}; at least one epoch must count."
            )

    def counts(self, epoch: int) -> bool:
        """Return whether the difference that ends at this epoch enters the score."""
        last = self.epochs if self.last_scored_epoch is None else self.last_scored_epoch
        return self.burn_in < epoch <= last

    def change(self, changes: Mapping[str, Any]) -> EncoderSettings:
        """Return settings with some values changed; an unknown name is an error."""
        known = [field.name for field in fields(self)]
        unknown = [name for name in changes if name not in known]
        if unknown:
            raise UnknownNameError(
                f"Unknown encoder setting {', '.join(unknown)}; the known ones are "
                f"{', '.join(known)}."
            )
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, from which the settings can be made again."""
        return asdict(self)


def _positive_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _require(name: str, value: Any, expected: str, holds: Any) -> None:  # noqa: ANN401
    if isinstance(value, str) or not holds(value):
        raise InputError(f"Expected {name} to be {expected}, got {value!r}.")


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
    "mha-published": replace(
        _OFFICIAL, attention="softmax", scale="sqrt_dim", fusion="uniform", values="per-head"
    ),
}


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
