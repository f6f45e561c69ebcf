"""Ranking operators: tasks, scores, intervals, consistency of rankings, balance of core-sets."""

from __future__ import annotations

from sclcs.benchmark.balance import balance
from sclcs.benchmark.consistency import consistency, ndcg
from sclcs.benchmark.fc_source import ArraySource, FCSource
from sclcs.benchmark.halves import score_reliability, split_half_ceiling
from sclcs.benchmark.rank import rank
from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.scores import SCORES
from sclcs.benchmark.tasks import LabelTask, SubjectTask

__all__ = [
    "SCORES",
    "ArraySource",
    "FCSource",
    "LabelTask",
    "Ranking",
    "SubjectTask",
    "balance",
    "consistency",
    "ndcg",
    "rank",
    "score_reliability",
    "split_half_ceiling",
]
