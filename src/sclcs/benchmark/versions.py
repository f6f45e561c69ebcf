"""The version of rankings.

Raised by whoever makes :func:`sclcs.benchmark.rank` give other numbers from the same matrices
(pairs, draws, intervals, ties). A score whose formula changes raises its own version.
"""

from __future__ import annotations

__all__ = ["RANKING_VERSION"]

RANKING_VERSION = 9
