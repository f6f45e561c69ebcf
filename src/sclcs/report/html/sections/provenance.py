"""How to make the run again: command, configuration, versions, fingerprints."""

from __future__ import annotations

from typing import Any

from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Content
from sclcs.report.html.sections.methods import methods_text

__all__ = ["provenance_section"]


def provenance_section(run: RunParts) -> Content:
    """Make the section."""
    text, references = methods_text(run)
    return Content(
        "provenance.jinja",
        {
            "methods": text,
            "references": references,
            "command": f"sclcs run --config {run.folder.config_file.name} --out NEW_RUN",
            "config": run.folder.config_file.read_text(encoding="utf-8"),
            "facts": _facts(run),
        },
    )


def _facts(run: RunParts) -> list[tuple[str, str]]:
    cohort = run.check.get("cohort") or {}
    facts: list[tuple[str, Any]] = [
        ("run folder", run.folder.path.resolve().name),
        ("cohort", cohort.get("source") or run.config.cohort),
        ("cohort fingerprint", cohort.get("fingerprint") or run.check.get("fingerprint")),
        ("seed", run.config.seed),
        *((f"{name} version", version) for name, version in _versions(run).items()),
        ("started", _first(run, "started", min)),
        ("finished", _first(run, "finished", max)),
    ]
    return [(name, str(value)) for name, value in facts if value not in (None, "")]


def _versions(run: RunParts) -> dict[str, str]:
    """Return the versions that made the rankings, not those that write the report."""
    for task in run.tasks:
        ranking = run.ranking(task)
        if ranking is not None:
            return dict(ranking.provenance.get("versions", {}))
    return {}


def _first(run: RunParts, name: str, choose: Any) -> str | None:  # noqa: ANN401
    times = [str(record[name]) for record in run.work.values() if record.get(name)]
    return choose(times) if times else None
