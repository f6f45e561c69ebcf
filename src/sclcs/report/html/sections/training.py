"""The training behind the core-set: scores, curves, attention maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import SclcsError
from sclcs.encoder.trained import TrainedEncoder
from sclcs.report.html.formats import short
from sclcs.report.html.matrix import matrix_data
from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Content
from sclcs.report.html.svg import Axis, Drawing, axis_over, draw_ruler, tick_label

__all__ = ["training_section"]

BINS = 40
HEIGHT = 150
SHOWN_EPOCHS = 4
CUT = 0.995  # a few samples move very much; the picture ends before them

Floats = NDArray[np.float64]


def training_section(run: RunParts) -> Content | None:
    """Make the section; None if no encoder was trained."""
    training = run.encoder
    if training is None:
        return None
    chosen = set() if run.core is None else set(run.core.sample_ids)
    kept = np.array([name in chosen for name in training.sample_ids])
    maps, no_maps = _maps(run, training)
    return Content(
        "training.jinja",
        {
            "epochs": training.settings.epochs,
            "seed": training.seed,
            "scores": _histogram(training.scores, kept),
            "curves": _curves(training),
            "maps": maps,
            "no_maps": no_maps,
            "seconds": training.facts.get("seconds"),
        },
    )


def _histogram(scores: Floats, kept: NDArray[np.bool_]) -> dict[str, Any]:
    known = np.isfinite(scores)
    last = float(np.quantile(scores[known], CUT))
    first = float(scores[known].min())
    edges = np.linspace(first, max(last, first + 1e-12), BINS + 1)
    drawing = Drawing(HEIGHT, "Histogram of structural perturbation scores: cohort and core-set")
    shares = []
    for mask, kind in ((known, "bar cohort"), (known & kept, "bar core see-through")):
        counts = np.histogram(np.clip(scores[mask], first, edges[-1]), edges)[0]
        shares.append((counts / max(counts.sum(), 1), counts, kind))
    highest = max(float(share.max()) for share, _, _ in shares) or 1.0
    for share, counts, kind in shares:
        for place in np.flatnonzero(counts):
            height = HEIGHT * float(share[place]) / highest
            ends = f"{short(edges[place])} to {short(edges[place + 1])}"
            tip = f"{counts[place]} samples with a score of {ends}"
            drawing.bar((place / BINS, HEIGHT - height), (0.94 / BINS, height), kind, tip)
    beyond = int((scores[known] > edges[-1]).sum())
    axis = Axis(first, float(edges[-1]))
    return {"picture": drawing.markup(), "ruler": draw_ruler(axis), "beyond": beyond}


def _curves(training: TrainedEncoder) -> list[dict[str, Any]]:
    epochs = training.history["epoch"].to_numpy(dtype=float)
    found = []
    for name, title in (("loss", "Contrastive loss"), ("perturbation", "Mean perturbation")):
        values = training.history[name].to_numpy(dtype=float)
        known = np.isfinite(values)
        if known.sum() < 2:
            continue
        across = Axis(float(epochs[known].min()), float(epochs[known].max()))
        down = axis_over(values[known].tolist())
        drawing = Drawing(HEIGHT, f"{title} by epoch")
        for place, value in down.ticks(4):
            drawing.line(0, HEIGHT * (1 - place), 1, HEIGHT * (1 - place), "grid")
            drawing.text(0.995, HEIGHT * (1 - place) - 3, tick_label(value), "tick halo", "end")
        drawing.curve(
            [across.place(value) for value in epochs[known]],
            [1 - down.place(value) for value in values[known]],
            "curve",
        )
        last = float(values[known][-1])
        found.append(
            {"title": title, "picture": drawing.markup(), "ruler": draw_ruler(across), "last": last}
        )
    return found


def _maps(run: RunParts, training: TrainedEncoder) -> tuple[list[dict[str, Any]], str]:
    """Return the maps of the steadiest and the least steady sample, or why there are none."""
    if not training.snapshots:
        return [], "The run kept no weights, so attention maps cannot be drawn."
    if run.cohort is None or run.cohort.fingerprint != training.fingerprint:
        return (
            [],
            "The cohort is no longer where the run found it, so attention maps cannot be drawn.",
        )
    finite = np.flatnonzero(np.isfinite(training.scores))
    order = finite[np.argsort(training.scores[finite], kind="stable")]
    epochs = sorted(training.snapshots)
    places = np.unique(np.linspace(0, len(epochs) - 1, min(SHOWN_EPOCHS, len(epochs))).round())
    rows = []
    for words, row in (("steadiest", int(order[0])), ("least steady", int(order[-1]))):
        sample = training.sample_ids[row]
        try:
            stack = [training.maps(run.cohort, [sample], epochs[int(place)])[0] for place in places]
        except SclcsError as error:  # torch is not installed here
            return [], f"Attention maps need torch: {error}"
        low, high = np.quantile(np.stack(stack), [1 - CUT, CUT]).tolist()
        rows.append(
            {
                "words": words,
                "sample": sample,
                "score": float(training.scores[row]),
                "maps": [
                    {
                        "epoch": epochs[int(place)],
                        "data": matrix_data(values, list(run.cohort.regions), ends=(low, high)),
                    }
                    for place, values in zip(places, stack, strict=True)
                ],
            }
        )
    return rows, ""
