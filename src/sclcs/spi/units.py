"""In what units operators measure."""

from __future__ import annotations

__all__ = ["operator_units"]

_INFORMATION = ("je_", "ce_", "cce_", "xme_", "di_", "si_", "mi_", "tlmi_", "te_", "gc_")
_BITS = ("_kernel", "_symbolic")


def operator_units(identifier: str) -> str:
    """Return the unit of an operator's values; ``1`` for plain numbers.

    Signals are z-scored, so distances are in standard deviations of a region. Own operators are
    plain numbers.

    Examples
    --------
    >>> operator_units("mi_gaussian"), operator_units("te_kernel_W-0.25_k-1")
    ('nats', 'bits')
    """
    if identifier.startswith(_INFORMATION):
        return "bits" if any(word in identifier for word in _BITS) else "nats"
    if identifier.startswith("phase_"):
        return "radians"
    if identifier.startswith("gd_"):
        return "time points"
    if identifier in {"pdist_euclidean", "pdist_cityblock", "pdist_chebyshev"}:
        return "standard deviations"
    return "1"
