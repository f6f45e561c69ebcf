"""The page of benchmarks: what `make bench` printed last, script by script."""

from __future__ import annotations

import ast
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
INTRODUCTION = """# Benchmarks

Speed and memory, measured by the scripts in `benchmarks/`; `make bench` runs them all and writes
what they print, which this page shows. Seconds depend on the machine and on what else it does;
ratios inside one run can be compared from release to release.
"""


def benchmarks_page() -> str:
    """Return one section per benchmark that was run, with what it measures and what it printed."""
    parts = [INTRODUCTION]
    for figures in sorted((BENCHMARKS / "figures").glob("*.txt")):
        script = BENCHMARKS / f"bench_{figures.stem}.py"
        what = (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").split("\n")[
            0
        ]
        printed = figures.read_text(encoding="utf-8").rstrip()
        parts.append(f"\n## {figures.stem}\n\n{what}\n\n```text\n{printed}\n```\n")
    return "".join(parts)
