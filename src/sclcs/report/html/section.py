"""The sections of a report: what each says, and which template says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sclcs.core.errors import SclcsError

__all__ = ["Content", "ReportSection", "Section", "build_sections"]

Source = TypeVar("Source")


@dataclass(frozen=True)
class Content:
    """What a section shows.

    Parameters
    ----------
    template : str
        File among the templates.
    facts : mapping
        What the template is given.
    """

    template: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportSection(Generic[Source]):
    """A section that a report may have.

    Parameters
    ----------
    anchor : str
        Name of the link to it.
    label : str
        A word or two for the list of sections.
    title : str
        Its heading.
    build : callable
        From the source (a run, or several) to the content; None if there is nothing to say.
    """

    anchor: str
    label: str
    title: str
    build: Callable[[Source], Content | None]


@dataclass(frozen=True)
class Section:
    """One part of the page.

    Parameters
    ----------
    anchor, label, title : str
        As wanted.
    content : Content
    """

    anchor: str
    label: str
    title: str
    content: Content


def build_sections(wanted: Sequence[ReportSection[Source]], source: Source) -> list[Section]:
    """Make every section that has something to say.

    Parameters
    ----------
    wanted : sequence of ReportSection
    source
        What the sections are made from.

    Returns
    -------
    list of Section
        A part that is damaged becomes a section that says so; the others are not lost.
    """
    sections = []
    for section in wanted:
        try:
            content = section.build(source)
        except (SclcsError, OSError) as error:  # damaged, or gone while it was read
            content = Content("unreadable.jinja", {"why": str(error)})
        if content is not None:
            sections.append(Section(section.anchor, section.label, section.title, content))
    return sections
