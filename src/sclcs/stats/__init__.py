"""Ranking operators: kernels, targets, criteria, inference, agreement of rankings, balance."""

from __future__ import annotations

from sclcs.stats.card import Aim, Card, find_aims, make_card
from sclcs.stats.concordance import balance, compare, consistency, ndcg
from sclcs.stats.criteria import CRITERIA, Criterion, find_criterion, register_criterion
from sclcs.stats.evaluation import Evaluation, Inquiry, KernelView, Measure, evaluate
from sclcs.stats.inference import score_reliability, split_half_ceiling
from sclcs.stats.kernel import Kernel, make_kernel
from sclcs.stats.pairs import PairDesign, PairRules
from sclcs.stats.question import Question, make_question
from sclcs.stats.ranking import rank
from sclcs.stats.ranking_table import Ranking, descending_ranks, equivalence_groups, share_scores
from sclcs.stats.sources import ArraySource, CohortSource, FCSource, as_source
from sclcs.stats.targets import Covariates, Target, find_target
from sclcs.stats.verdict import entry_name

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
    "compare",
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
