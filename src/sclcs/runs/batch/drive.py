"""What the driver of a run does: go on, and say how it ended."""

from __future__ import annotations

from collections.abc import Callable

from sclcs.core.errors import SclcsError
from sclcs.run_folder import RunFolder
from sclcs.runs.batch.chain import Chain
from sclcs.runs.stages import WaitingForJobs
from sclcs.runs.two_stage import carry_out

__all__ = ["drive"]


def drive(folder: RunFolder, tell: Callable[[str], None]) -> None:
    """Go on with a run inside a job, until it is finished or has to wait for others.

    Parameters
    ----------
    folder : RunFolder
        Of a run whose configuration names a batch system.
    tell : callable
        Is given a line for a person now and then.
    """
    chain = Chain(folder)
    if chain.facts.ended:
        tell(f"Nothing to do: the run has {chain.facts.ended}.")
        return
    chain.stand_by()
    busy = chain.workers()
    if busy:  # sent by a driver that was killed before it could send its follow-up
        tell(f"The jobs {', '.join(busy)} are at work; a driver follows them.")
        chain.follow(busy)
        return
    try:
        chain.start()
        carry_out(folder.config(), tell=tell, until=chain.facts.until, driving=True)
    except WaitingForJobs as pause:
        tell(f"The run {pause}.")
    except (SclcsError, AssertionError, ValueError, TypeError, LookupError) as error:
        # What would happen again, were it tried again; a lack of memory or a kill may not.
        chain.note(ended="failed", problem=str(error))
        raise
    else:
        chain.note(ended="finished", starts=0)
