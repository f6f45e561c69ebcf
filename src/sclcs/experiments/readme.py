"""The page that lies beside the files of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["readme"]


def readme(facts: Mapping[str, Any]) -> str:
    """Return what was run, how, and what the files are.

    Parameters
    ----------
    facts : mapping
        The content of ``config.json``.

    Returns
    -------
    str
        Markdown.
    """
    cohort, options = facts["cohort"], facts["options"]
    people = f"{cohort['samples']} samples of {cohort['subjects']} subjects"
    effort = f"{facts['cells']} cells, {facts['cpu_seconds']:.0f} CPU seconds"
    epochs = f"Encoder {options['epochs']} epochs, classifier {options['classifier_epochs']}"
    toy = "\nA toy run: sizes were cut down to try the machinery.\n" if options["toy"] else ""
    return f"""# {facts["name"]}: {facts["title"]}

In the paper: {facts["paper"]}.

```text
{facts["command"]}
```
{toy}
- {people}, fingerprint `{cohort["fingerprint"][:8]}`.
- {effort} besides trainings and matrices that were kept.
- {epochs}, {options["repeats"]} repeats.

| file | what |
|---|---|
| `cells.csv` | one row per measurement |
| `summary.csv` | mean, std (ddof 1), worst, and the paper's numbers |
| `table.md`, `table.tex` | the same for people |
| `figure.png` | the picture |
| `config.json` | options, versions, times |
"""
