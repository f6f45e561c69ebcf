"""Damage to what sclcs wrote: whoever reads it says so, or the result is the right one."""

from __future__ import annotations

import math
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sclcs
from faults.mutate import mutate
from faults.tally import Tally, in_children, judge
from sclcs import Cohort, CoreSet, Ranking, simulate_cohort
from sclcs._core import sidecar_path
from sclcs.runs import RunResult
from sclcs.stats import rank
from sclcs.store import FCStore, compute_store

OPERATORS = ["cov_EmpiricalCovariance", "pec", "pdist_cityblock"]


def _cohort(path: Path) -> dict[str, Any]:
    cohort = Cohort.open(path)
    facts = {"table": cohort.samples.to_csv(), "regions": cohort.regions, "tr": cohort.tr}
    return {**facts, "signals": np.asarray(cohort.signals).tobytes()}


def _store(path: Path) -> dict[str, Any]:
    store = FCStore.open(path)
    matrices = {name: store.matrices(name).tobytes() for name in store.operators}
    facts = {"table": store.samples.to_csv(), "regions": store.regions, "tr": store.tr}
    return {**facts, **matrices, "fingerprint": store.fingerprint}


def _coreset(path: Path) -> dict[str, Any]:
    core = CoreSet.open(path / "core.csv")
    return {"ids": list(core.sample_ids), "facts": [core.method, core.parameters, core.seed]}


def _ranking(path: Path) -> dict[str, Any]:
    ranking = Ranking.open(path / "r.csv")
    return {"table": ranking.table.to_csv(), "facts": [ranking.task, ranking.score]}


def _run(path: Path) -> dict[str, Any]:
    """Read a run as its report does; the report itself is made from these."""
    result = RunResult.open(path / "RUN")
    folder, tables = result.folder, result.rankings
    facts = {"answer": result.answer, "check": folder.check(), "accounts": folder.confirmation()}
    return {**facts, **{f"ranking/{task}": t.table.to_csv() for task, t in tables.items()}}


def _training(path: Path) -> dict[str, Any]:
    from sclcs.coresets import TrainedEncoder

    trained = TrainedEncoder.open(path)
    weights = {
        f"{epoch}/{name}": array.tobytes()
        for epoch, kept in trained.snapshots.items()
        for name, array in kept.items()
    }
    facts = {"ids": list(trained.sample_ids), "history": trained.history.to_csv()}
    return {**weights, **facts, "scores": trained.scores.tobytes(), "seed": trained.seed}


def _checkpoint(path: Path) -> dict[str, Any]:
    from sclcs.coresets.training import read_checkpoint

    found = read_checkpoint(path / "a.checkpoint", "i", 9)
    if found is None:
        return {"weights": "none: the training starts again"}
    return {"weights": found["weights"].numpy().tobytes()}


Reading = Callable[[Path], dict[str, Any]]


def make_examples(home: Path) -> dict[str, Reading]:
    """Write one example of everything; return how each is read."""
    readings: dict[str, Reading] = {"cohort": _cohort, "store": _store}
    cohort = simulate_cohort(8, 2, 5, length=40, stride=40, seed=3)
    cohort.save(home / "cohort")
    store = compute_store(home / "cohort", home / "store", OPERATORS, block_size=7)
    (home / "core-set").mkdir()
    CoreSet(cohort.sample_ids[:5], "random", {"x": 1}, 3).save(home / "core-set" / "core.csv")
    (home / "ranking").mkdir()
    rank(store, "diagnosis", bootstrap=5, permutations=5).save(home / "ranking" / "r.csv")
    quick = {"bootstrap": 5, "permutations": 5, "criteria": "none"}
    sclcs.run(cohort, out=home / "run" / "RUN", task=["diagnosis"], spis=OPERATORS, **quick)
    readings |= {"core-set": _coreset, "ranking": _ranking, "run": _run}
    try:
        import torch

        from sclcs.coresets import train_encoder
        from sclcs.coresets.training import write_checkpoint
    except ImportError:
        return readings
    train_encoder(cohort, "paper", epochs=2, seed=1).save(home / "training")
    (home / "checkpoint").mkdir()
    content = {"identity": "i", "epoch": 2, "weights": torch.arange(300.0)}
    write_checkpoint(home / "checkpoint" / "a.checkpoint", content)
    return readings | {"training": _training, "checkpoint": _checkpoint}


def try_corruptions(seed: int, count: int, home: Path, seconds: float = math.inf) -> list[Tally]:
    """Damage single files of the examples in turn.

    Parameters
    ----------
    seed, count : int
        Count is of all examples together.
    home : Path
        An empty folder.
    seconds : float
        After that no more are begun; every example has its share of the time.

    Returns
    -------
    list of Tally
    """
    readings = make_examples(home)
    tallies = []
    for name, read in readings.items():
        tally = Tally(f"damage: {name}")
        right = read(home / name)

        def trial(
            key: str, name: str = name, read: Reading = read, right: dict[str, Any] = right
        ) -> tuple[str, str]:
            return _one(key, home / name, read, right)

        share = -(-count // len(readings))
        keys = [f"{name}/{seed}/{number}" for number in range(share)]
        in_children(tally, keys, trial, 25, seconds / len(readings))
        tallies.append(tally)
    return tallies


def _one(key: str, example: Path, read: Reading, right: dict[str, Any]) -> tuple[str, str]:
    draw = random.Random(key)  # noqa: S311 (no secret)
    place = example.with_name(f"{example.name}-damaged")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(example, place)
    files = sorted(path for path in place.rglob("*") if path.is_file() and ".lock" not in str(path))
    victim = draw.choice(files)
    what = _damage(victim, files, draw)

    def same() -> bool:
        found = read(place)
        # A sidecar that is gone makes a table of one's own: the samples are the same.
        alone = victim == sidecar_path(victim) and not victim.exists()
        shared = ("ids",) if alone else tuple(right)
        return all(found[part] == right[part] for part in shared if part in right)

    outcome, words = judge(same)
    if outcome == "silent" and not victim.exists() and example.name == "checkpoint":
        return "fine", ""  # without a checkpoint the training starts again
    return outcome, f"{what} of {victim.relative_to(place)}: {words}"


def _damage(victim: Path, files: list[Path], draw: random.Random) -> str:
    """Damage a file in one of several ways; its times stay as they were."""
    times = victim.stat()
    content = victim.read_bytes()
    way = draw.choice(["flip", "flip", "edit", "mutate", "empty", "remove", "swap"])
    others = [path for path in files if path != victim and path.read_bytes() != content]
    if way == "remove":
        victim.unlink()
        return way
    if way == "flip" and content:
        damaged = bytearray(content)
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        victim.write_bytes(bytes(damaged))
    elif way == "edit" and any(48 <= byte < 58 for byte in content):
        places = [place for place, byte in enumerate(content) if 48 <= byte < 58]
        place = draw.choice(places)
        digit = bytes([48 + (content[place] - 47) % 10])
        victim.write_bytes(content[:place] + digit + content[place + 1 :])
    elif way == "swap" and others:
        victim.write_bytes(draw.choice(others).read_bytes())
    elif way == "empty":
        victim.write_bytes(b"")
    else:
        victim.write_bytes(mutate(content or b"x", draw))
    os.utime(victim, ns=(times.st_atime_ns, times.st_mtime_ns))
    return way
