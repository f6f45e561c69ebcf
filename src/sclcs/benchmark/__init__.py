"""Ranking operators: kernels, targets, criteria, inference, agreement of rankings, balance."""

from __future__ import annotations

from sclcs.benchmark.balance import balance
from sclcs.benchmark.card import Aim, Card, find_aims, make_card
from sclcs.benchmark.consistency import consistency, ndcg
from sclcs.benchmark.covariates import Covariates
from sclcs.benchmark.criteria import CRITERIA, Criterion, find_criterion, register_criterion
from sclcs.benchmark.evaluate import Evaluation, Inquiry, Measure, evaluate
from sclcs.benchmark.halves import score_reliability, split_half_ceiling
from sclcs.benchmark.kernel import Kernel, make_kernel
from sclcs.benchmark.pairs.pair_design import PairDesign, PairRules
from sclcs.benchmark.question import Question, make_question
from sclcs.benchmark.rank import rank
from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.ranks import descending_ranks, equivalence_groups, share_scores
from sclcs.benchmark.sources import ArraySource, CohortSource, FCSource, as_source
from sclcs.benchmark.targets import Target, find_target
from sclcs.benchmark.verdict import entry_name
from sclcs.benchmark.view import KernelView

__all__ = [
    "CRITERIA",
    "Aim",
    "ArraySource",
    "Card",
    "CohortSource",
    "Covariates",
    "Criterion",
    "Evaluation",
    "FCSource",
    "Inquiry",
    "Kernel",
    "KernelView",
    "Measure",
    "PairDesign",
    "PairRules",
    "Question",
    "Ranking",
    "Target",
    "as_source",
    "balance",
    "consistency",
    "descending_ranks",
    "entry_name",
    "equivalence_groups",
    "evaluate",
    "find_aims",
    "find_criterion",
    "find_target",
    "make_card",
    "make_kernel",
    "make_question",
    "ndcg",
    "rank",
    "register_criterion",
    "score_reliability",
    "share_scores",
    "split_half_ceiling",
]
