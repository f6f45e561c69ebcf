from .baseline import WITHOUT, baseline_kernel
from .blend import Blend, blend_similarity
from .evidence import Evidence, Prediction, measure_candidates
from .geometry import (
    Geometry,
    blend_geometries,
    complete_geometry,
    gather_geometry,
    map_operators,
    measure_geometry,
    shipped_geometry,
)
from .kriging import (
    ESTIMATION_VERSION,
    Estimate,
    Outlook,
    krige,
    look_ahead,
    next_operator,
    next_purchase,
)
from .population import BestSet, HalfScores, Population, best_set, learn_population, score_halves
from .recommendation import BLEND, TANGENT, GainPrior, Recommendation, Worth, recommend

__all__ = [
    "BLEND",
    "ESTIMATION_VERSION",
    "TANGENT",
    "WITHOUT",
    "BestSet",
    "Blend",
    "Estimate",
    "Evidence",
    "GainPrior",
    "Geometry",
    "HalfScores",
    "Outlook",
    "Population",
    "Prediction",
    "Recommendation",
    "Worth",
    "baseline_kernel",
    "best_set",
    "blend_geometries",
    "blend_similarity",
    "complete_geometry",
    "gather_geometry",
    "krige",
    "learn_population",
    "look_ahead",
    "map_operators",
    "measure_candidates",
    "measure_geometry",
    "next_operator",
    "next_purchase",
    "recommend",
    "score_halves",
    "shipped_geometry",
]
