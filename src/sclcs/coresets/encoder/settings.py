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

    What the fields mean: ``EncoderSettings.helps()``, or `sclcs select --list --method sclcs`.

    Examples
    --------
    >>> encoder_settings("official", epochs=50).attention
    'logits'
    """

    heads: int = setting("number of attention heads", 16, ge=1)
    dim: int = setting("width of a head and of the embedding", 32, ge=1)
    attention: Attention = setting(
        "rows of a head's map are a softmax, or the bare products of the scripts (logits)",
        "softmax",
    )
    scale: Scale = setting(
        "divide products by the root of the width (sqrt_dim) or of the length (sqrt_in)",
        "sqrt_dim",
    )
    qk_bias: bool = setting("whether queries and keys have a bias", False)
    fusion: Fusion = setting(
        "heads mixed with learned weights, equal at first (learned), or averaged (uniform)",
        "learned",
    )
    values: Values = setting(
        "one value projection for the fused map (shared), or one per head, concatenated and "
        "projected back: the published ablation (per-head)",
        "shared",
    )
    input_norm: InputNorm = setting(
        "a region's window standardised and scaled by learned numbers per time point (layernorm), "
        "only standardised (zscore), or as it is (none)",
        "layernorm",
    )
    mlp: bool = setting("whether a two-layer block follows the output projection", False)
    mlp_ratio: int = setting("hidden width of that block, as a multiple of dim", 4, ge=1)
    dropout: float = setting("share of units dropped inside that block", 0.1, ge=0, lt=1)
    pooling: Pooling = setting("mean or max over regions", "mean")
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
    tracking: Tracking = setting(
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
