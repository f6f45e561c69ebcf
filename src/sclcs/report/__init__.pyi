from . import plot
from .cite import Citation, how_to_cite
from .encoder_figure import save_encoder_figures
from .figures import (
    check_format,
    draw_balance,
    draw_rank_rank,
    draw_ranking,
    save_cohort_figure,
    save_figure,
)
from .page import page_path
from .pages import HTMLReport, compare_report, run_answers, run_report

__all__ = [
    "Citation",
    "HTMLReport",
    "check_format",
    "compare_report",
    "draw_balance",
    "draw_rank_rank",
    "draw_ranking",
    "how_to_cite",
    "page_path",
    "plot",
    "run_answers",
    "run_report",
    "save_cohort_figure",
    "save_encoder_figures",
    "save_figure",
]
