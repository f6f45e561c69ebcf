"""One message for files that a parser chokes on; see :mod:`sclcs.core.gate`."""

from __future__ import annotations

from sclcs.core.gate import explain_damage

__all__ = ["explain_damage"]
