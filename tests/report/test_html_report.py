import re
from html import unescape
from pathlib import Path

import pytest

from sclcs._core.errors import InputError, WriteError
from sclcs.report.pages import HTMLReport

PAGE = "<!doctype html>\n<title>a & b</title><p>\"quoted\" 'text' <b>bold</b> ä"


@pytest.fixture
def report():
    return HTMLReport(PAGE, 'a & "b"')


def test_the_page_is_saved_as_it_is_and_replaced(report, tmp_path):
    path = report.save_as_html(tmp_path / "new" / "page.html")
    assert path.read_text(encoding="utf-8") == PAGE == report.get_standalone()
    HTMLReport("<p>other", "t").save_as_html(path)
    assert path.read_text(encoding="utf-8") == "<p>other"
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_other_file_names_are_refused(report, tmp_path):
    with pytest.raises(InputError, match=r"saved as \.html, got 'page\.pdf'"):
        report.save_as_html(tmp_path / "page.pdf")


def test_a_folder_that_cannot_be_written(report, tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(13, "no")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(WriteError, match="choose another folder"):
        report.save_as_html(tmp_path / "no" / "page.html")


def test_in_a_notebook_it_is_a_frame_with_the_whole_page(report):
    frame = report._repr_html_()
    (srcdoc,) = re.findall(r'srcdoc="([^"]*)"', frame)
    assert unescape(srcdoc) == PAGE
    assert 'title="a &amp; &quot;b&quot;"' in frame
    assert 'width="100%" height="800"' in frame
    assert 'width="50%" height="300"' in report.get_iframe("50%", 300)
    assert "<b>" not in frame


def test_the_browser_is_given_the_saved_file(report, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = report.open_in_browser(tmp_path / "a b.html")
    assert opened == [path.resolve().as_uri()]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other = report.open_in_browser()
    assert other.read_text(encoding="utf-8") == PAGE
    assert other.parent.parent == tmp_path


def test_printing_it_does_not_flood_the_terminal(report):
    assert str(report) == "HTMLReport('a & \"b\"', 0 kB)"
