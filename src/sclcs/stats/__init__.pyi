from .card import Aim, Card, card_inquiries, find_aims, make_card
from .concordance import balance, case_and_control, compare, consistency, ndcg, regret, score_scale
from .covariates import CovariateColumns, CovariateForm
from .criteria import CRITERIA, Criterion, find_criterion, register_criterion
from .design import EffectDesign, apart, make_design
from .effects import OperatorEffects, operator_effects
from .evaluation import Evaluation, Inquiry, KernelView, Measure, evaluate
from .family import EffectFinding, StrongEdge, effect_finding
from .inference import effect_test, score_reliability, split_half_ceiling
from .kernel import Kernel, make_kernel
from .memory import bytes_of, ranking_bytes, within
from .pairs import PairDesign, PairRules
from .permutations import half_draws
from .prediction import PENALTIES, FoldRules, Predictor, make_folds
from .question import Question, make_question
from .ranking import Effort, folds_of, make_inquiry, make_ranking, measure_of, rank, rules_of
from .ranking_table import (
    COLUMNS,
    RANKING_VERSION,
    Ranking,
    descending_ranks,
    equivalence_groups,
    share_scores,
)
from .share import Scatter, independent_columns
from .sources import ArraySource, CohortSource, FCSource, as_source
from .targets import Covariates, Target, covariate_kinds, find_target
from .verdict import (
    Verdict,
    answered,
    between_sentence,
    effect_sentence,
    entry_name,
    find_verdict,
    sentences,
    without_effect,
)
from .views import VIEWS, OperatorFeatures, ValueScores, View, make_features

__all__ = [
    "COLUMNS",
    "CRITERIA",
    "PENALTIES",
    "RANKING_VERSION",
    "VIEWS",
    "Aim",
    "ArraySource",
    "Card",
    "CohortSource",
    "CovariateColumns",
    "CovariateForm",
    "Covariates",
    "Criterion",
    "EffectDesign",
    "EffectFinding",
    "Effort",
    "Evaluation",
    "FCSource",
    "FoldRules",
    "Inquiry",
    "Kernel",
    "KernelView",
    "Measure",
    "OperatorEffects",
    "OperatorFeatures",
    "PairDesign",
    "PairRules",
    "Predictor",
    "Question",
    "Ranking",
    "Scatter",
    "StrongEdge",
    "Target",
    "ValueScores",
    "Verdict",
    "View",
    "answered",
    "apart",
    "as_source",
    "balance",
    "between_sentence",
    "bytes_of",
    "card_inquiries",
    "case_and_control",
    "compare",
    "consistency",
    "covariate_kinds",
    "descending_ranks",
    "effect_finding",
    "effect_sentence",
    "effect_test",
    "entry_name",
    "equivalence_groups",
    "evaluate",
    "find_aims",
    "find_criterion",
    "find_target",
    "find_verdict",
    "folds_of",
    "half_draws",
    "independent_columns",
    "make_card",
    "make_design",
    "make_features",
    "make_folds",
    "make_inquiry",
    "make_kernel",
    "make_question",
    "make_ranking",
    "measure_of",
    "ndcg",
    "operator_effects",
    "rank",
    "ranking_bytes",
    "register_criterion",
    "regret",
    "rules_of",
    "score_reliability",
    "score_scale",
    "sentences",
    "share_scores",
    "split_half_ceiling",
    "within",
    "without_effect",
]
