"""Reports as one offline page: of a run, and of several runs side by side."""

from sclcs.report.html.compare_page import compare_report
from sclcs.report.html.html_report import HTMLReport
from sclcs.report.html.run_page import run_report
from sclcs.report.html.sections.answer import run_answers

__all__ = ["HTMLReport", "compare_report", "run_answers", "run_report"]
