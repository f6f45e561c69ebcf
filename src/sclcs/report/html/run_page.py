"""The report of a two-stage run."""

from __future__ import annotations

import os

from sclcs.core.arguments import checked
from sclcs.core.errors import name_first
from sclcs.report.html.formats import plural
from sclcs.report.html.html_report import HTMLReport
from sclcs.report.html.parts import RunParts
from sclcs.report.html.render import render_page
from sclcs.report.html.section import ReportSection, build_sections
from sclcs.report.html.sections.agreement import agreement_section
from sclcs.report.html.sections.answer import answer_section
from sclcs.report.html.sections.card import card_section
from sclcs.report.html.sections.composition import composition_section
from sclcs.report.html.sections.connectivity import connectivity_section
from sclcs.report.html.sections.costs import costs_section
from sclcs.report.html.sections.estimates import estimates_section
from sclcs.report.html.sections.losses import losses_section
from sclcs.report.html.sections.operators import operators_section
from sclcs.report.html.sections.provenance import provenance_section
from sclcs.report.html.sections.training import training_section
from sclcs.run_folder import RunFolder

__all__ = ["run_report"]

_SECTIONS = (
    ReportSection("answer", "Answer", "The answer", answer_section),
    ReportSection("ranking", "Ranking", "Ranking of all operators", operators_section),
    ReportSection("estimates", "Estimates", "Exact and estimated", estimates_section),
    ReportSection("card", "Card", "What else they see", card_section),
    ReportSection("agreement", "Agreement", "Core-set against whole cohort", agreement_section),
    ReportSection("core-set", "Core-set", "Who is in the core-set", composition_section),
    ReportSection("training", "Training", "The training behind the core-set", training_section),
    ReportSection(
        "connectivity",
        "Connectivity",
        "Mean connectivity of the first operators",
        connectivity_section,
    ),
    ReportSection("costs", "Costs", "What it cost", costs_section),
    ReportSection("losses", "Failures", "Failures and exclusions", losses_section),
    ReportSection("methods", "Methods", "Methods and provenance", provenance_section),
)


@checked
def run_report(folder: str | os.PathLike[str] | RunFolder) -> HTMLReport:
    """Make the report of a run, finished or not.

    Parameters
    ----------
    folder : path-like or RunFolder
        The folder that ``sclcs run`` filled.

    Returns
    -------
    HTMLReport
        One page without any reference to other files. The same folder gives the same page.

    Examples
    --------
    ``run_report("RUN").save_as_html("report.html")``
    """
    home = folder if isinstance(folder, RunFolder) else RunFolder.open(folder)
    run = RunParts(home)
    sections = build_sections(_SECTIONS, run)
    return render_page(run.name, _subtitle(run), _notices(run), sections)


def _subtitle(run: RunParts) -> str:
    parts = []
    facts = run.check.get("cohort")
    if facts:
        parts.append(
            f"{plural(facts['samples'], 'sample')} of {plural(facts['subjects'], 'subject')}"
        )
        parts.append(f"{facts['regions']} regions")
    parts.append(f"{'tasks' if len(run.tasks) > 1 else 'task'} {', '.join(run.tasks)}")
    return " · ".join(parts)


def _budgeted_parts(run: RunParts) -> list[tuple[str, bool]]:
    """Return the parts of a budgeted run, and whether each is there."""
    home = run.folder
    computed = run.is_done("compute-panel") or run.is_done("compute-all")
    return [
        ("the check of the cohort", home.check_file.exists()),
        ("the plan", home.plan_file.exists()),
        ("the operators on everybody", computed),
        *((f"the ranking for {task}", home.ranking_file(task).exists()) for task in run.tasks),
        ("the answer", home.answer_file.exists()),
        ("the summary of costs", home.confirmation_file.exists()),
    ]


def _notices(run: RunParts) -> list[str]:
    """Say which stages are missing, and which stopped with a problem."""
    home = run.folder
    made = (
        _budgeted_parts(run)
        if run.budgeted
        else [
            ("the check of the cohort", home.check_file.exists()),
            ("the plan", home.plan_file.exists()),
            ("the core-set", home.core_file.exists()),
            ("the operators on the core-set", run.is_done("compute-core")),
            *((f"the ranking for {task}", home.ranking_file(task).exists()) for task in run.tasks),
            ("the winners on the whole cohort", run.is_done("compute-top")),
            *(
                (f"the confirmation for {task}", home.confirmed_file(task).exists())
                for task in run.tasks
            ),
            ("the summary of agreement and costs", home.confirmation_file.exists()),
        ]
    )
    missing = [words for words, there in made if not there]
    notices = []
    if missing:
        notices.append(
            f"This run is not finished. Still missing: {', '.join(missing)}. "
            "The same `sclcs run` command continues it."
        )
    notices += [
        f"Stage {name} stopped: {record['problem']}"
        for name, record in run.work.items()
        if record.get("problem")
    ]
    changed = [place for place in home.changed_outputs() if place != home.report_file.name]
    if changed:
        notices.append(
            "These files are not as the run wrote them (edited or damaged): "
            f"{name_first(changed)}. `sclcs run --config {home.config_file}` makes them again."
        )
    return notices
