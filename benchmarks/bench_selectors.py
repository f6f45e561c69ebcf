"""Seconds per epoch and seconds of scoring of every selection method, as in the paper's cost table.

    python benchmarks/bench_selectors.py [SUBJECTS] [EPOCHS]

The default is the paper's size, 904 x 5 windows of 33 x 70, and 2 timed epochs. Scoring is timed on
the dynamics of 200 epochs (those measured, repeated with noise), for core-sets of 10 % and 50 %.
Targets: BOSS under a minute, the recorder under 10 % of training.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from statistics import median
from unittest import mock

import numpy as np

EPOCHS_SCORED = 200


def main() -> None:
    subjects = int(sys.argv[1]) if len(sys.argv) > 1 else 904
    epochs = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    from sclcs.cohort import simulate_cohort

    cohort = simulate_cohort(subjects, 5)
    print(cohort)
    per_epoch = {task: recorder_cost(cohort, task, epochs) for task in ("subject", "diagnosis")}
    encoder = encoder_epoch(cohort, epochs)
    for task, seconds in per_epoch.items():
        print(f"\ntask {task}: {seconds:.2f} s per epoch of the classifier, {encoder:.2f} s SCLCS")
        print(f"{'method':<14}{'s/epoch':>9}{'scoring, 10 %':>16}{'scoring, 50 %':>16}")
        for row in scoring_table(cohort, task, seconds, encoder):
            print(row)


def recorder_cost(cohort, task, epochs):
    """Time epochs with and without the recorder, one after the other; return seconds with it."""
    import torch

    from sclcs.coresets.classifier import ClassifierSettings
    from sclcs.coresets.classifier_training import prepare_classifier

    settings = ClassifierSettings(task=task, epochs=2 * epochs + 2)
    seconds = {True: [], False: []}
    training = prepare_classifier(cohort, settings, 0, torch.device("cpu"))
    recorder = training.recorder
    training.epoch = 1
    training.train_epoch()  # warm up
    for epoch in range(2 * epochs):
        training.epoch += 1
        watched = epoch % 2 == 0
        training.recorder = recorder if watched else None
        start = time.process_time()
        training.train_epoch()
        seconds[watched].append(time.process_time() - start)
    with_it, without = median(seconds[True]), median(seconds[False])
    cost = time_recording(recorder, training)
    print(
        f"classifier, task {task}: {with_it:.2f} CPU s per epoch with the recorder, {without:.2f} "
        f"without; recording alone {cost:.3f} s = {100 * cost / without:.1f} % of an epoch"
    )
    return with_it


def time_recording(recorder, training):
    """Time the recorder's own work for one epoch; differences of whole epochs drown in noise."""
    import torch

    n_classes = training.model.output.out_features
    logits = torch.randn(256, n_classes)
    features = torch.randn(256, 128)
    start = time.process_time()
    for rows in torch.arange(len(training.inputs)).split(256):
        part = logits[: len(rows)]
        log_probabilities = part.log_softmax(1)  # part of the loss; counted here as well
        recorder.add(rows, 0, part, log_probabilities, features[: len(rows)])
    return time.process_time() - start


def encoder_epoch(cohort, epochs):
    from sclcs.coresets import train_encoder

    runs = []
    for n_epochs in (1, 1 + epochs):
        start = time.process_time()
        train_encoder(cohort, epochs=n_epochs)
        runs.append(time.process_time() - start)
    return (runs[1] - runs[0]) / epochs


def long_run(cohort, task):
    """Return dynamics of 200 epochs: three trained ones, repeated with noise."""
    from sclcs.coresets.classifier import train_classifier

    run = train_classifier(cohort, epochs=3, task=task)
    rng = np.random.default_rng(0)
    names = ("true_probability", "other_probability", "error_norm", "margin")

    def longer(trace):
        repeated = np.tile(trace, EPOCHS_SCORED // 3 + 1)[:, :EPOCHS_SCORED]
        return (repeated + 0.1 * rng.normal(size=repeated.shape)).astype(np.float32)

    traces = {name: longer(getattr(run, name)) for name in names}
    return replace(run, **traces, settings=run.settings.change({"epochs": EPOCHS_SCORED}))


def scoring_table(cohort, task, classifier_seconds, encoder_seconds):
    from sclcs.coresets import SELECTORS, select

    run = long_run(cohort, task)
    trained_encoder = mock.Mock(
        scores=np.random.default_rng(1).random(len(cohort)), info={}, seed=0
    )
    trained_encoder.settings.to_dict.return_value = {}
    with (
        mock.patch("sclcs.coresets.classifier.train_classifier", return_value=run),
        mock.patch("sclcs.coresets.perturbation.trained_encoder", return_value=trained_encoder),
    ):
        for name, selector in SELECTORS.items():
            parameters = {"task": task} if selector.takes_task else {}
            trained = selector.needs_training
            by_encoder = selector.network == "encoder"
            per_epoch = encoder_seconds if by_encoder else classifier_seconds
            timed = []
            for ratio in (0.1, 0.5):
                start = time.perf_counter()
                select(cohort, name, ratio, **parameters)
                timed.append(time.perf_counter() - start)
            shown = f"{per_epoch:.2f}" if trained else "-"
            yield f"{name:<14}{shown:>9}{timed[0]:>16.2f}{timed[1]:>16.2f}"


if __name__ == "__main__":
    main()
