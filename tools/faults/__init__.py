"""Trying to break sclcs: kills, corruptions, mutated inputs, hostile surroundings, extremes.

Every trial ends in one of four ways. *fine*: the result is the right one. *named*: one sentence
says what is wrong. *silent*: a result that is not the right one, without a word. *crashed*: a
traceback, a signal, or no answer. The last two must never happen. ``make faults``, or
``python tools/faults/run.py --help``.
"""

import sys
from pathlib import Path

# The trees of files and the comparisons of the tests serve here, too.
for _folder in ("cohort", "store", "runs"):
    sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / _folder))
