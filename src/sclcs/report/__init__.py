"""What a run found, for people: one offline page, and single pictures."""

from sclcs.report.cite import Citation, how_to_cite, write_run_crate
from sclcs.report.html import HTMLReport, compare_report, run_answers, run_report

__all__ = [
    "Citation",
    "HTMLReport",
    "compare_report",
    "how_to_cite",
    "run_answers",
    "run_report",
    "write_run_crate",
]
