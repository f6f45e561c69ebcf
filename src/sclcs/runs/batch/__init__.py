"""Runs on a batch system: a chain of jobs that needs nobody to wait for it.

A *driver* is a job that goes on with the run. What it can do by itself it does: choose, rank,
report. For matrices it sends an array of *shares* and a follow-up of itself that starts when
they have ended, and ends. Beside every driver waits a *standby* that takes over if it is killed
or runs out of time. Everything is in the folder of the run and in the queue; each job finds out
anew what is to be done.
"""

from sclcs.runs.batch.chain import Chain
from sclcs.runs.batch.rounds import do_share, fill_by_jobs
from sclcs.runs.batch.watch import chain_status, watch_chain

__all__ = ["Chain", "chain_status", "do_share", "fill_by_jobs", "watch_chain"]
