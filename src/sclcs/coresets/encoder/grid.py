"""Grid search over width, heads and epochs, judged without any operator's ranking.

The paper chose its settings by how well the core-set kept the ranking of all operators on
the full cohort, which is the very thing a core-set is meant to save. Here a setting is
judged by whether its scores are a property of the samples: two trainings that differ only in
the seed should order the samples alike.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import InputError, checked, track, write_json, write_text
from sclcs.cohort import Cohort
from sclcs.coresets.encoder.settings import EncoderSettings, encoder_settings
from sclcs.coresets.encoder.train import ENCODER_VERSION, train_encoder
from sclcs.coresets.encoder.trained import TrainedEncoder

__all__ = [
    "PAPER_DIMS",
    "PAPER_EPOCHS",
    "PAPER_HEADS",
    "grid_search",
    "grid_training",
    "scores_after",
]

PAPER_DIMS = (4, 8, 16, 32, 64, 128, 256)
PAPER_HEADS = (2, 4, 8, 16, 32, 64)
PAPER_EPOCHS = (50, 100, 150, 200)


def scores_after(trained: TrainedEncoder, epochs: int) -> NDArray[np.float64]:
    """Return the scores that a shorter training would have given.

    Parameters
    ----------
    trained : TrainedEncoder
        With its curves.
    epochs : int
        At most the epochs of the training. The first epochs of a long training are those of a
        short one.

    Returns
    -------
    array of float
    """
    if trained.curves is None or epochs > trained.settings.epochs:
        raise InputError(
            f"Scores after {epochs} epochs need a training of so many or more with its curves kept."
        )
    counted = trained.curves[:, trained.settings.burn_in : epochs].astype(np.float64)
    known = np.isfinite(counted)
    total = np.where(known, counted, 0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(known.any(axis=1), total / known.sum(axis=1), np.inf)


@checked
def grid_search(
    cohort: Cohort,
    out: str | os.PathLike[str],
    *,
    dims: Sequence[int] = PAPER_DIMS,
    heads: Sequence[int] = PAPER_HEADS,
    epochs: Sequence[int] = PAPER_EPOCHS,
    seeds: Sequence[int] = (0, 1),
    settings: str | EncoderSettings = "paper",
    device: str = "auto",
    **changes: Any,  # noqa: ANN401
) -> pd.DataFrame:
    """Train every combination, keep every run, and rank the combinations.

    One training per width, number of heads and seed serves all numbers of epochs. Runs that
    are already in the folder are not trained again.

    Parameters
    ----------
    cohort : Cohort
        What to train on.
    out : path-like
        Folder for ``grid.csv``, ``grid.json`` and ``runs/``.
    dims, heads, epochs : sequence of int
        The grid; the paper's by default.
    seeds : sequence of int
        At least two, to see how far scores depend on the seed.
    settings : str or EncoderSettings
        Preset for everything else.
    device : str
        See :func:`~sclcs.coresets.encoder.train.train_encoder`.
    **changes : object
        Single settings that differ.

    Returns
    -------
    DataFrame
        Best first: dim, heads, epochs, stability (mean Spearman correlation of the scores of
        two seeds, by which rows are ranked), loss, alignment, uniformity (at that epoch, mean
        over seeds), settled (mean perturbation of the last tenth of the epochs as a share of
        the largest).
    """
    if min(len(dims), len(heads), len(epochs)) < 1 or len(set(seeds)) < 2:
        raise InputError(
            f"Expected at least one dim, heads and epochs and two different seeds, got "
            f"{list(dims)}, {list(heads)}, {list(epochs)} and {list(seeds)}."
        )
    base = encoder_settings(settings, **changes | {"epochs": max(epochs)})
    folder = Path(out)
    rows: list[dict[str, float]] = []
    cells = list(itertools.product(dims, heads))
    for dim, n_heads in track(cells, "Searching the grid"):
        cell = base.change({"dim": dim, "heads": n_heads})
        trained = [grid_training(cohort, cell, seed, folder, device) for seed in seeds]
        rows.extend(_judge(trained, sorted(epochs)))
    table = pd.DataFrame(rows).sort_values(
        ["stability", "epochs", "dim", "heads"], ascending=[False, True, True, True]
    )
    table = table.reset_index(drop=True)
    write_text(folder / "grid.csv", str(table.to_csv(index=False, lineterminator="\r\n")))
    facts = {"settings": base.to_dict(), "seeds": list(seeds), "ranked_by": "stability"}
    write_json(folder / "grid.json", facts | {"cohort_fingerprint": cohort.fingerprint})
    return table


def grid_training(
    cohort: Cohort, settings: EncoderSettings, seed: int, folder: Path, device: str = "auto"
) -> TrainedEncoder:
    """Return one training of a grid with its curves: the one in the folder, or a new one.

    Parameters
    ----------
    cohort : Cohort
    settings : EncoderSettings
    seed : int
    folder : Path
        Of the grid.
    device : str

    Returns
    -------
    TrainedEncoder
    """
    name = f"dim{settings.dim}-heads{settings.heads}-epochs{settings.epochs}-seed{seed}"
    place = folder / "runs" / name
    if place.exists():
        known = TrainedEncoder.open(place)
        if (known.settings, known.fingerprint) != (settings, cohort.fingerprint):
            raise InputError(
                f"The training {place} was made with other settings or another cohort; "
                "choose another folder."
            )
        if known.facts.get("algorithm", 1) == ENCODER_VERSION:
            return known
        shutil.rmtree(place)  # its scores are not those that this version gives
    trained = train_encoder(cohort, settings, seed=seed, device=device, keep_curves=True)
    trained.save(place)
    return trained


def _judge(trained: Sequence[TrainedEncoder], epochs: Sequence[int]) -> Iterator[dict[str, float]]:
    settings = trained[0].settings
    for length in epochs:
        scores = [scores_after(one, length) for one in trained]
        at_end = pd.concat([one.history.iloc[[length - 1]] for one in trained]).mean()
        moved = np.mean(
            [one.history["perturbation"].to_numpy()[:length] for one in trained], axis=0
        )
        tail = moved[-max(1, length // 10) :]
        yield {
            "dim": settings.dim,
            "heads": settings.heads,
            "epochs": length,
            "stability": agreement(scores),
            "loss": float(at_end["loss"]),
            "alignment": float(at_end["alignment"]),
            "uniformity": float(at_end["uniformity"]),
            "settled": float(np.nanmean(tail) / np.nanmax(moved)),
        }


def agreement(scores: Sequence[NDArray[np.float64]]) -> float:
    """Return the mean Spearman correlation of all pairs of score vectors."""
    from scipy.stats import spearmanr

    values = []
    for one, other in itertools.combinations(scores, 2):
        both = np.isfinite(one) & np.isfinite(other)
        values.append(float(spearmanr(one[both], other[both]).statistic))
    return float(np.mean(values))
