"""The report as an object: one page of HTML that needs nothing else."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from html import escape
from pathlib import Path

from sclcs.core.arguments import checked_methods
from sclcs.core.errors import InputError
from sclcs.core.files import explain_write_errors, write_text

__all__ = ["HTMLReport", "page_path"]


def page_path(file_name: str | os.PathLike[str]) -> Path:
    """Return the path of a page, or raise if the name does not end in ``.html``."""
    path = Path(file_name)
    if path.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"A report is saved as .html, got {path.name!r}.")
    return path


@checked_methods
class HTMLReport:
    """One offline page of HTML: in a notebook, a browser or a file, as nilearn's reports.

    Parameters
    ----------
    html : str
        The whole page.
    title : str
        Of the page.

    Examples
    --------
    >>> report = HTMLReport("<!doctype html><title>t</title><p>text", "t")
    >>> report.get_standalone().startswith("<!doctype html>")
    True
    """

    width, height = "100%", 800

    def __init__(self, html: str, title: str) -> None:
        self._html = html
        self.title = title

    def __repr__(self) -> str:
        return f"HTMLReport({self.title!r}, {len(self._html) / 1000:.0f} kB)"

    def get_standalone(self) -> str:
        """Return the whole page as text."""
        return self._html

    def get_iframe(self, width: int | str | None = None, height: int | str | None = None) -> str:
        """Return the page inside a frame, for a notebook or another page.

        Parameters
        ----------
        width, height : int or str, optional
            Of the frame; by default 100 % and 800 pixels.

        Returns
        -------
        str
        """
        wide = escape(str(self.width if width is None else width))
        high = escape(str(self.height if height is None else height))
        return (
            f'<iframe srcdoc="{escape(self._html)}" title="{escape(self.title)}" '
            f'width="{wide}" height="{high}" style="border: 0"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.get_iframe()

    def save_as_html(self, file_name: str | os.PathLike[str]) -> Path:
        """Write the page; a page of that name is replaced.

        Parameters
        ----------
        file_name : path-like
            Ending in ``.html`` or ``.htm``.

        Returns
        -------
        Path
            The file.
        """
        path = page_path(file_name)
        with explain_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        return write_text(path, self._html)

    def open_in_browser(self, file_name: str | os.PathLike[str] | None = None) -> Path:
        """Show the page in the browser.

        Parameters
        ----------
        file_name : path-like, optional
            Where to save it; by default a new file in the system's temporary folder.

        Returns
        -------
        Path
            The file that was opened.
        """
        if file_name is None:
            file_name = Path(tempfile.mkdtemp(prefix="sclcs-report-")) / "report.html"
        path = self.save_as_html(file_name)
        webbrowser.open(path.resolve().as_uri())
        return path
