"""The matrices of a run by array jobs: the work of one array is written down and dealt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.compute import (
    Computation,
    ExecutorChoice,
    FillReport,
    Share,
    fill_store,
    find_executor,
    missing_parts,
    missing_work,
    open_computation,
)
from sclcs.compute.cutting import Part, longest_within
from sclcs.compute.pieces import PieceReport
from sclcs.compute.shares import Work
from sclcs.core.files import explain_write_errors, write_json
from sclcs.core.gate import read_json
from sclcs.run_folder import RunFolder
from sclcs.runs.batch.chain import Chain
from sclcs.runs.stages import WaitingForJobs
from sclcs.spi.fc_records import Piece
from sclcs.spi.fc_store import FCStore
from sclcs.spi.warmup import warm_up

__all__ = ["do_share", "fill_by_jobs"]

WORK = "work.json"
FINER = 4  # what comes to nothing is tried again in parts that are so much shorter


def fill_by_jobs(
    folder: RunFolder, computation: Computation, known: Sequence[FCStore]
) -> FillReport:
    """Compute what a store of a run lacks: little of it here, much of it in an array of jobs.

    Parameters
    ----------
    folder : RunFolder
        The run.
    computation : Computation
    known : sequence of FCStore
        Other stores of the run.

    Returns
    -------
    FillReport
        If there was little or nothing to do.

    Raises
    ------
    WaitingForJobs
        If an array of jobs was sent; a driver that follows it goes on.
    """
    chain = Chain(folder)
    place = computation.store.path.relative_to(folder.path).as_posix()
    what = f"{place} {computation.identity.digest(8)}"
    batch = chain.batch
    rest = _rest(chain, computation, what)
    work, parts = rest.work, rest.parts
    if not parts or rest.seconds <= batch.alone_below:
        here, cut = _here(folder.config().executor.processes), work.scissors
        done = fill_store(computation, here, known=known, longest=cut.longest, fair=cut.fair)
        spent = sum(kernel_seconds(home) for home in chain.rounds_of(what))
        return replace(done, kernel_seconds=done.kernel_seconds + spent)
    operators = sorted({name for part in parts for name in part.operators})
    warm_up(operators, computation.cohort.n_timepoints)  # else every job would compile
    count = min(batch.shares, len(parts))
    content = {
        "store": place,
        "known": [store.path.relative_to(folder.path).as_posix() for store in known],
        "operators": computation.operators,
        "samples": list(computation.cohort.sample_ids),
        "seed": computation.seed,
        "cpus": batch.cpus,
        "longest": work.scissors.longest,
        "fair": work.scissors.fair,
        "seconds": rest.seconds,
        "shares": [[asdict(part) for part in share] for share in work.deal(count, parts)],
    }
    home = chain.next_round
    with explain_write_errors(home):
        home.mkdir(parents=True, exist_ok=True)
    write_json(home / WORK, content)
    sent = chain.send_array(what, count, left=rest.seconds, scissors=work.scissors, idle=rest.idle)
    raise WaitingForJobs(sent)


@dataclass(frozen=True)
class _Rest:
    """What is left of some work, and how often an array brought it no further."""

    work: Work
    parts: list[Part]
    idle: int = 0

    @property
    def seconds(self) -> float:
        return sum(map(self.work.seconds, self.parts))


def _rest(chain: Chain, computation: Computation, what: str) -> _Rest:
    """Return what is left, cut as before; finer, if the last array came to nothing."""
    pieces, facts = missing_work(computation), chain.facts
    if facts.rounds[-1:] != [what]:
        limit, shares = chain.batch.limit_seconds, chain.batch.shares
        work = pieces.cut(longest_within(limit)).even(shares)
        return _Rest(work, missing_parts(computation, work))
    work = pieces.cut(facts.longest, facts.fair)
    before = _Rest(work, missing_parts(computation, work))
    if before.seconds < facts.left:
        return before
    finer = pieces.cut(facts.longest / FINER, facts.fair / FINER)
    return _Rest(finer, missing_parts(computation, finer), facts.idle + 1)


def _here(processes: int) -> ExecutorChoice:
    return find_executor(f"local:{processes}")


def do_share(folder: RunFolder, number: int, share: int) -> FillReport:
    """Do one share of the work of an array.

    Parameters
    ----------
    folder : RunFolder
        The run.
    number : int
        Of the array.
    share : int
        From 1.

    Returns
    -------
    FillReport
    """
    home = Chain(folder).round_folder(number)
    work = read_json(home / WORK, "the work of an array of jobs")
    mine = Share(share, len(work["shares"]))
    parts = [_part(facts) for facts in work["shares"][share - 1]]
    computation = _computation(folder, work)
    known = [folder.open_store(folder.path / place) for place in work["known"]]
    done = home / f"done-{share}.jsonl"

    def report(piece: PieceReport) -> None:
        line = {"family": piece.piece.family, "block": piece.piece.block}
        line |= {"seconds": round(piece.seconds, 3), "kernel": round(piece.kernel_seconds, 3)}
        with done.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")

    who = _here(work["cpus"])
    return fill_store(
        computation,
        who,
        share=mine,
        known=known,
        only=parts,
        longest=work["longest"],
        fair=work["fair"],
        report=report,
    )


def _computation(folder: RunFolder, work: dict[str, Any]) -> Computation:
    cohort: Cohort = folder.cohort()
    samples = None if work["samples"] == list(cohort.sample_ids) else work["samples"]
    store = folder.open_store(folder.path / work["store"])
    return open_computation(cohort, store, work["operators"], coreset=samples, seed=work["seed"])


def _part(facts: dict[str, Any]) -> Part:
    piece = facts["piece"]
    regions = facts["regions"]
    return Part(
        Piece(str(piece["family"]), int(piece["block"]), tuple(piece["operators"])),
        tuple(facts["operators"]),
        (int(facts["rows"][0]), int(facts["rows"][1])),
        None if regions is None else (int(regions[0]), int(regions[1])),
    )


def kernel_seconds(folder: Path) -> float:
    """Return the CPU seconds inside operators that the jobs of an array have reported."""
    lines = [line for file in folder.glob("done-*.jsonl") for line in file.read_text().splitlines()]
    return sum(float(json.loads(line)["kernel"]) for line in lines if line.endswith("}"))
