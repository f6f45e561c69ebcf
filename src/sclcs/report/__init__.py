"""What a run found, for people: one offline page, and single pictures."""

from sclcs.report import plot
from sclcs.report.cite import Citation, how_to_cite
from sclcs.report.pages import HTMLReport, compare_report, run_answers, run_report

__all__ = [
    "Citation",
    "HTMLReport",
    "compare_report",
    "how_to_cite",
    "plot",
    "run_answers",
    "run_report",
]
