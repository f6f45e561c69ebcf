from .conformance import check_operator, failures
from .costs import CostLaw, OperatorCost, cost_law, operator_cost, seconds_per_sample
from .engine import DEFAULT_MEMORY, compute_batch, compute_block, family_members, warm_up, warm_ups
from .frequencies import band_in_hz, bands
from .matrices import compute
from .numerics.compiling import Array, kernel, raising_kernel, reducing_kernel
from .numerics.tangent import Tangent, covariances
from .operators import (
    ALIASES,
    KNOWN_BEST,
    best_known,
    catalogue,
    catalogue_rows,
    operator_facts,
    operator_name,
    our_operators,
)
from .own import known_elsewhere, own_operators, require_known_elsewhere
from .registration import register, unregister
from .signals import check_signals, sample_seeds
from .status import OperatorOutcome, Status, main_reason, status_table
from .transformer import FCTransformer
from .versions import Stamp, find_identifier, operator_stamps, operator_version, resolve

__all__ = [
    "ALIASES",
    "DEFAULT_MEMORY",
    "KNOWN_BEST",
    "Array",
    "CostLaw",
    "FCTransformer",
    "OperatorCost",
    "OperatorOutcome",
    "Stamp",
    "Status",
    "Tangent",
    "band_in_hz",
    "bands",
    "best_known",
    "catalogue",
    "catalogue_rows",
    "check_operator",
    "check_signals",
    "compute",
    "compute_batch",
    "compute_block",
    "cost_law",
    "covariances",
    "failures",
    "family_members",
    "find_identifier",
    "kernel",
    "known_elsewhere",
    "main_reason",
    "operator_cost",
    "operator_facts",
    "operator_name",
    "operator_stamps",
    "operator_version",
    "our_operators",
    "own_operators",
    "raising_kernel",
    "reducing_kernel",
    "register",
    "require_known_elsewhere",
    "resolve",
    "sample_seeds",
    "seconds_per_sample",
    "status_table",
    "unregister",
    "warm_up",
    "warm_ups",
]
