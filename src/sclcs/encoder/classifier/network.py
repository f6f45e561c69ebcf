"""The compact residual network: stem, three blocks, mean over time, one linear layer."""

# mypy: disable-error-code="misc,no-untyped-call"
from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from sclcs.core.seeds import child_seed

__all__ = ["BLOCKS", "FEATURES", "ResidualClassifier"]

#: Output channels and stride of the three blocks.
BLOCKS = ((32, 1), (64, 2), (128, 2))
FEATURES = BLOCKS[-1][0]
_STEM_CHANNELS = 32
_STEM_KERNEL = {1: 7, 2: 3}
_CONVOLUTION: dict[int, type[nn.Conv1d] | type[nn.Conv2d]] = {1: nn.Conv1d, 2: nn.Conv2d}
_NORM: dict[int, type[nn.BatchNorm1d] | type[nn.BatchNorm2d]] = {
    1: nn.BatchNorm1d,
    2: nn.BatchNorm2d,
}


def _convolution(
    dimensions: int, channels: tuple[int, int], kernel: int, stride: int = 1
) -> nn.Module:
    return nn.Sequential(
        _CONVOLUTION[dimensions](*channels, kernel, stride=stride, padding=kernel // 2, bias=False),
        _NORM[dimensions](channels[1]),
    )


class _Block(nn.Module):
    """Two convolutions around which the input is carried."""

    def __init__(self, dimensions: int, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.first = _convolution(dimensions, (n_in, n_out), 3, stride)
        self.second = _convolution(dimensions, (n_out, n_out), 3)
        same_shape = n_in == n_out and stride == 1
        self.shortcut = (
            nn.Identity() if same_shape else _convolution(dimensions, (n_in, n_out), 1, stride)
        )

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = functional.relu(self.first(inputs), inplace=True)
        return functional.relu(self.second(hidden) + self.shortcut(inputs), inplace=True)


class ResidualClassifier(nn.Module):
    """Classify windows (region, time).

    Parameters
    ----------
    n_regions : int
        Channels of the input, with one dimension.
    n_classes : int
        Number of outputs.
    dimensions : {1, 2}
        See :class:`~sclcs.encoder.classifier.settings.ClassifierSettings`.
    seed : int
        Of the initial weights. Each weight has its own generator; the global one is left
        alone.
    """

    def __init__(
        self, n_regions: int, n_classes: int, dimensions: Literal[1, 2] = 1, seed: int = 0
    ) -> None:
        super().__init__()
        self._dimensions = dimensions
        channels = n_regions if dimensions == 1 else 1
        # Layers draw initial weights as they are made; those are replaced below.
        with torch.random.fork_rng(devices=[]):
            self.stem = _convolution(
                dimensions, (channels, _STEM_CHANNELS), _STEM_KERNEL[dimensions]
            )
            before = (_STEM_CHANNELS, *(n_out for n_out, _ in BLOCKS[:-1]))
            self.blocks = nn.Sequential(
                *(
                    _Block(dimensions, n_in, n_out, stride)
                    for n_in, (n_out, stride) in zip(before, BLOCKS, strict=True)
                )
            )
            self.output = nn.Linear(FEATURES, n_classes)
        self._initialise(seed)

    def _initialise(self, seed: int) -> None:
        for name, weight in self.named_parameters():
            rng = torch.Generator().manual_seed(child_seed(seed, "classifier", name))
            if name.startswith("output"):  # the range that torch.nn.Linear uses
                nn.init.uniform_(weight, -(FEATURES**-0.5), FEATURES**-0.5, generator=rng)
            elif weight.ndim > 1:
                nn.init.kaiming_normal_(weight, mode="fan_out", nonlinearity="relu", generator=rng)

    def forward(self, windows: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits (sample, class) and penultimate features (sample, 128)."""
        inputs = windows if self._dimensions == 1 else windows[:, None]
        hidden = self.blocks(functional.relu(self.stem(inputs), inplace=True))
        features = hidden.flatten(2).mean(2)
        return self.output(features), features
