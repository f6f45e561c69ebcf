"""Every switch of the encoder, its training and the score, and the named presets."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import model_validator

from sclcs._core import Settings, UnknownNameError, checked, setting

__all__ = ["PRESETS", "EncoderSettings", "encoder_settings"]

Attention = Literal["softmax", "logits"]
Scale = Literal["sqrt_dim", "sqrt_in"]
Fusion = Literal["learned", "uniform"]
Values = Literal["shared", "per-head"]
InputNorm = Literal["layernorm", "zscore", "none"]
Pooling = Literal["mean", "max"]
Denominator = Literal["negatives", "negatives+self", "infonce"]
Tracking = Literal["every-epoch", "logged"]


class EncoderSettings(Settings):
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

    heads: int = setting("number of attention heads", 16, ge=1)
    dim: int = setting("width of a head and of the embedding", 32, ge=1)
    attention: Attention = setting("softmax, or logits as in the published scripts", "softmax")
    scale: Scale = setting(
        "divide products by the root of the width (sqrt_dim) or of the length (sqrt_in)",
        "sqrt_dim",
    )
    qk_bias: bool = setting("whether queries and keys have a bias", False)
    fusion: Fusion = setting("learned weights of the heads, or uniform", "learned")
    values: Values = setting("one value projection (shared) or one per head (per-head)", "shared")
    input_norm: InputNorm = setting("layernorm, zscore or none", "layernorm")
    mlp: bool = setting("whether a two-layer block follows the output projection", False)
    mlp_ratio: int = setting("hidden width of that block, as a multiple of dim", 4, ge=1)
    dropout: float = setting("share of units dropped inside that block", 0.1, ge=0, lt=1)
    pooling: Pooling = setting("mean or max over regions", "mean")
    denominator: Denominator = setting(
        "of the loss: negatives, negatives+self or infonce", "negatives"
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
    tracking: Tracking = setting(
        "compare maps after every epoch (every-epoch) or when drawn (logged)", "every-epoch"
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
