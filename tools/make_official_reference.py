"""Make the small file of scores that the golden test of the preset ``official`` reads.

The authors' scripts (https://github.com/lzhan94swu/SCLCS, commit 7f7cd2b, no licence: nothing of
them is kept here) train a tiny encoder, log its maps, score and weigh the samples::

    git clone https://github.com/lzhan94swu/SCLCS /tmp/SCLCS
    git -C /tmp/SCLCS checkout 7f7cd2b337f55e3e71463e329affbceca9be340e
    python tools/make_official_reference.py /tmp/SCLCS --out tests/coresets/official.npz

Two things are done to them from outside: the rate of dropout is 0, because no two programs draw
the same units, and the random choice of the density draw is replaced by a note of its
probabilities. Weights start at random numbers everywhere, so that no part of the layer is idle.

``signals`` (sample, region, time), ``subjects`` (sample,), ``batches`` (epoch, batch, place) and
``start/NAME`` (their names) are what went in; ``loss`` (epoch,), ``maps`` (sample, region, region;
of the untrained model), ``scores`` (sample,), ``kept`` and ``weights`` (of the density draw), and
``end/alpha`` are what came out.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

SUBJECTS, WINDOWS, REGIONS, LENGTH = 8, 3, 5, 23
HEADS, WIDTH, EPOCHS, BATCH_SUBJECTS = 3, 7, 8, 4
BETA = 0.2


class Recorded:
    """Gives the batches of one epoch after the other, and keeps them."""

    def __init__(self, sampler: Any, signals: torch.Tensor, subjects: torch.Tensor) -> None:  # noqa: ANN401
        self._sampler, self._signals, self._subjects = sampler, signals, subjects
        self.epochs: list[list[list[int]]] = []

    def __len__(self) -> int:
        return SUBJECTS // BATCH_SUBJECTS

    def __iter__(self) -> Iterator[tuple[list[int], tuple[torch.Tensor, torch.Tensor]]]:
        self.epochs.append(list(self._sampler))
        for rows in self.epochs[-1]:
            yield rows, (self._signals[rows], self._subjects[rows])


def make(scripts: Path) -> dict[str, np.ndarray]:
    """Run the scripts and return what went in and what came out."""
    sys.path.insert(0, str(scripts))
    import analyze_and_select as selection  # type: ignore[import-not-found]
    import main  # type: ignore[import-not-found]
    import model as networks  # type: ignore[import-not-found]

    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    subjects = torch.arange(SUBJECTS).repeat_interleave(WINDOWS)
    own = torch.randn(SUBJECTS, REGIONS, REGIONS)
    signals = own[subjects] @ torch.randn(len(subjects), REGIONS, LENGTH) + 2
    network = networks.StructureModel(in_dim=LENGTH, out_dim=WIDTH, num_heads=HEADS)
    for part in network.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(torch.randn(weight.shape), alpha=0.3)
    start = {f"start/{name}": value.numpy().copy() for name, value in network.state_dict().items()}
    maps = network(signals)[1].detach().numpy()
    batches = Recorded(
        main.SubjectPairBatchSampler(subjects.tolist(), BATCH_SUBJECTS), signals, subjects
    )
    names = {f"w{row:02d}": row for row in range(len(subjects))}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # loss.txt is written where one stands
        main.train(
            network, batches, names, epochs=EPOCHS, lambda_reg=1e-4, device="cpu", log_path="log.pt"
        )
        logged, loss = torch.load("log.pt"), np.loadtxt("loss.txt")
    # In the order of the rows, and a sample that was never drawn has no map at all.
    scores = {name: selection.compute_epochwise_delta(logged.get(name, [])) for name in names}
    finite = {name: score for name, score in scores.items() if np.isfinite(score)}
    noted: dict[str, Any] = {}

    def note(kept: Any, **given: Any) -> np.ndarray:  # noqa: ANN401
        noted.update(given, kept=[names[name] for name in kept])
        return np.array([])

    numpy_choice, np.random.choice = np.random.choice, note
    selection.select_density_balanced_subset(finite, beta=BETA, sample_size=5)
    np.random.choice = numpy_choice
    return start | {
        "signals": signals.numpy(),
        "subjects": subjects.numpy(),
        "batches": np.array(batches.epochs),
        "loss": loss,
        "maps": maps,
        "scores": np.array(list(scores.values())),
        "kept": np.array(noted["kept"]),
        "weights": np.asarray(noted["p"]),
        "end/alpha": network.block.attn.alpha.detach().numpy(),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scripts", type=Path, help="checkout of the authors' repository")
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    out = chosen.out.resolve()
    np.savez_compressed(out, **make(chosen.scripts.resolve()))
    print(f"{out}: {out.stat().st_size} bytes")
