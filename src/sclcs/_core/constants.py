"""Thresholds and levels that decide what sclcs says and does, each with its reason.

Only what a scientist may want to argue with stands here: levels of tests, sizes below which
nothing is said, priors. Sizes of blocks and pictures stay beside the code that they serve, and so
do tolerances of numerical methods. A name has one value.
"""

from __future__ import annotations

# Tests and sets

#: Family-wise error of "there is an effect", and of going on to estimate operators: by custom.
ALPHA = 0.05
#: Confidence of the set that holds the best operator: the customary level of model confidence sets.
BEST_CONFIDENCE = 0.9
#: The answer is settled if stopping is expected to lose less, as a share of the range from median
#: to best; the report calls the same loss small. Half a percent is far below what another sample
#: changes.
SMALL_REGRET = 0.005

# Halves of the subjects

#: Kendall's tau of halves below which the order of operators is not called repeatable.
HALVES_REPEATABLE = 0.2
#: ... and below which it is called rough.
HALVES_ROUGHLY = 0.4
#: Splits from which on the mean agreement of halves is shown with two digits (its error is 0.01).
ENOUGH_SPLITS = 100

# Sizes below which nothing is said

#: Subjects of a class from which on a difference of scatter is tested: with fewer, twice the noise
#: is often missed.
ENOUGH_TO_SCATTER = 20
#: Subjects of a class below which a cohort's check warns.
FEWEST_OF_A_CLASS = 10
#: Subjects per value, on average, below which values of a column are not classes.
FEWEST_PER_CLASS = 5
#: Subjects of a stratum that is redrawn by itself: redrawing fewer hardly varies.
FEWEST_PER_STRATUM = 5
#: Different values of a column of numbers up to which they may be codes of classes.
CLASS_NUMBERS = 10
#: Subjects of a site, on average, below which a column is no column of sites.
FEWEST_OF_A_SITE = 5
#: Time points of a scan below which its signals may look like anything: they are not judged.
FEWEST_POINTS_TO_JUDGE = 20
#: Time points of a sample that is halved: two of each half, for a correlation.
FEWEST_POINTS_TO_HALVE = 4
#: Subjects of a core-set that shows any geometry of operators.
FEWEST_SUBJECTS = 3

# Covariates

#: Degrees of freedom of a number that is taken out as a natural spline: enough for the saturating
#: curves of motion and age (five knots; Harrell 2015).
SPLINE_DEGREES = 4
#: Subjects for each of them; with fewer subjects a spline has fewer (Harrell 2015: 10 to 20).
SUBJECTS_PER_DEGREE = 10

# Designs

#: Largest class over smallest from which on classes are called unequal.
UNEQUAL_CLASSES = 3.0
#: What counts as two labels going together: clear (p) and not tiny (share of variance).
DESIGN_ALPHA, DESIGN_STRENGTH = 0.01, 0.1
#: Share of the target's variance between sites from which on the reader is warned.
SITE_VARIANCE = 0.05

# Scores

#: Decimals of scores that count: rounding error is no difference.
SCORE_DECIMALS = 9
#: Scores of equivalent operators differ by less if matrices are kept in single precision.
SINGLE_PRECISION = 1e-4

# Estimates and budgets

#: What an operator has of its own, relative to what geometry explains; left-out families choose.
NUGGETS = (0.03, 0.1, 0.3, 1.0)
#: The same of the errors of the core-set, which are mostly each operator's own.
ERROR_NUGGETS = (0.3, 1.0, 3.0)
#: Scores that an estimate needs at least: a line and a spread.
FEWEST_KNOWN = 4
#: Own scores whose noise is more than four times what geometry leaves open say nothing: how noisy
#: they are is known from a handful of families only.
LEAST_WEIGHT = 0.2
#: As many subjects of a cohort say as much about its geometry as the shipped table does.
SUBJECTS_WORTH_THE_TABLE = 20.0
#: The part of a budget that is not planned: scoring takes some of it, and costs are known only
#: roughly. On ABIDE all operators took 0.63 of what the table of costs says, the cheap ones 1.3.
BUDGET_RESERVE = 0.45


#: How a core-set is chosen unless another method is asked for: the paper's recommendation.
DEFAULT_METHOD = "sclcs-dense"
#: What is recommended where torch is not installed: it needs no labels either.
METHOD_WITHOUT_TRAINING = "pairs"
