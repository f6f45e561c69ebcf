"""The decision: is there an effect, what to use, and what that is worth on new people.

The scores of operators that were not computed on the full cohort are estimated here as well.
"""

from __future__ import annotations

from sclcs.decision.baseline import WITHOUT, baseline_kernel
from sclcs.decision.blend import Blend, blend_similarity
from sclcs.decision.evidence import Evidence, Prediction, measure_candidates
from sclcs.decision.geometry import (
    Geometry,
    blend_geometries,
    complete_geometry,
    gather_geometry,
    map_operators,
    measure_geometry,
    shipped_geometry,
)
from sclcs.decision.kriging import (
    Estimate,
    Outlook,
    krige,
    look_ahead,
    next_operator,
    next_purchase,
)
from sclcs.decision.population import (
    BestSet,
    HalfScores,
    Population,
    best_set,
    learn_population,
    score_halves,
)
from sclcs.decision.recommend import (
    BLEND,
    TANGENT,
    GainPrior,
    Recommendation,
    Worth,
    recommend,
)
from sclcs.stats.design import EffectDesign, apart, make_design
from sclcs.stats.effects import OperatorEffects, operator_effects
from sclcs.stats.family import EffectFinding, StrongEdge, effect_finding
from sclcs.stats.views import VIEWS, OperatorFeatures, ValueScores, View, make_features

#: Raised when the same scores and geometry would be estimated differently.
ESTIMATION_VERSION = 3

__all__ = [
    "BLEND",
    "ESTIMATION_VERSION",
    "TANGENT",
    "VIEWS",
    "WITHOUT",
    "BestSet",
    "Blend",
    "EffectDesign",
    "EffectFinding",
    "Estimate",
    "Evidence",
    "GainPrior",
    "Geometry",
    "HalfScores",
    "OperatorEffects",
    "OperatorFeatures",
    "Outlook",
    "Population",
    "Prediction",
    "Recommendation",
    "StrongEdge",
    "ValueScores",
    "View",
    "Worth",
    "apart",
    "baseline_kernel",
    "best_set",
    "blend_geometries",
    "blend_similarity",
    "complete_geometry",
    "effect_finding",
    "gather_geometry",
    "krige",
    "learn_population",
    "look_ahead",
    "make_design",
    "make_features",
    "map_operators",
    "measure_candidates",
    "measure_geometry",
    "next_operator",
    "next_purchase",
    "operator_effects",
    "recommend",
    "score_halves",
    "shipped_geometry",
]
