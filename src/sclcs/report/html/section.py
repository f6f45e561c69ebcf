"""A section of a report: what it says, and which template says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sclcs.core.errors import SclcsError

__all__ = ["Section", "build_sections"]

Source = TypeVar("Source")


@dataclass(frozen=True)
class Section:
    """One part of the page.

    Parameters
    ----------
    anchor : str
        Name of the link to it.
    title : str
    template : str
        File among the templates, without its ending.
    facts : mapping
        What the template shows.
    """

    anchor: str
    title: str
    template: str
    facts: Mapping[str, Any] = field(default_factory=dict)


Builder = Callable[[Source], Section | None]


def build_sections(
    builders: Sequence[tuple[str, str, Builder[Source]]], source: Source
) -> list[Section]:
    """Make every section that has something to say.

    Parameters
    ----------
    builders : sequence of (anchor, title, function)
        A function returns its section, or None if the run has nothing for it.
    source
        What the functions are given.

    Returns
    -------
    list of Section
        A part that is damaged becomes a section that says so; the others are not lost.
    """
    sections = []
    for anchor, title, builder in builders:
        try:
            section = builder(source)
        except SclcsError as error:
            section = Section(anchor, title, "unreadable.jinja", {"why": str(error)})
        if section is not None:
            sections.append(section)
    return sections
