"""Several runs side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sclcs.core.arguments import checked
from sclcs.core.errors import InputError
from sclcs.report.html.formats import plural
from sclcs.report.html.html_report import HTMLReport
from sclcs.report.html.parts import RunParts
from sclcs.report.html.render import render_page
from sclcs.report.html.section import ReportSection, build_sections
from sclcs.report.html.sections.compared import (
    NamedRun,
    answers_section,
    cores_section,
    facts_section,
    rankings_section,
)
from sclcs.run_folder import RunFolder

__all__ = ["compare_report"]

_SECTIONS = (
    ReportSection("answers", "Answers", "The answers", answers_section),
    ReportSection("rankings", "Rankings", "Do the rankings agree?", rankings_section),
    ReportSection("core-sets", "Core-sets", "Which samples they share", cores_section),
    ReportSection("facts", "Settings", "What differs", facts_section),
)


@checked
def compare_report(folders: Sequence[str | os.PathLike[str] | RunFolder]) -> HTMLReport:
    """Make a report that puts runs side by side.

    Parameters
    ----------
    folders : sequence of path-like or RunFolder
        Two or more folders that ``sclcs run`` filled; the others are compared with the first.

    Returns
    -------
    HTMLReport

    Examples
    --------
    ``compare_report(["RUN1", "RUN2"]).save_as_html("compare.html")``
    """
    if isinstance(folders, str | os.PathLike | RunFolder) or len(folders) < 2:
        raise InputError("Expected two or more runs to compare, for example RUN1 and RUN2.")
    homes = [item if isinstance(item, RunFolder) else RunFolder.open(item) for item in folders]
    runs = [
        NamedRun(chr(ord("A") + number) if number < 26 else str(number + 1), RunParts(home))
        for number, home in enumerate(homes)
    ]
    title = " and ".join(run.parts.name for run in runs) if len(runs) < 4 else f"{len(runs)} runs"
    subtitle = f"{plural(len(runs), 'run')} side by side"
    return render_page(title, subtitle, _notices(runs), build_sections(_SECTIONS, runs))


def _notices(runs: Sequence[NamedRun]) -> list[str]:
    notices = []
    if len({run.parts.check.get("fingerprint") for run in runs}) > 1:
        notices.append(
            "These runs are about different samples: what differs below may come from the cohort "
            "rather than from the settings."
        )
    scores = {run.parts.config.score or "the default" for run in runs}
    if len(scores) > 1:
        notices.append(
            f"These runs score operators differently ({', '.join(sorted(scores))}): compare ranks, "
            "not scores."
        )
    notices += [
        f"Run {run.letter} is not finished: it has no confirmed ranking for {task}."
        for run in runs
        for task in run.parts.tasks
        if run.parts.confirmed(task) is None
    ]
    return notices
