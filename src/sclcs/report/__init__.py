"""What a run found, for people: one offline page, and single pictures."""

from sclcs.report.html import HTMLReport, compare_report, run_answers, run_report

__all__ = ["HTMLReport", "compare_report", "run_answers", "run_report"]
