import io
import sys

import pytest

from sclcs._core import console as progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_library_call_prints_nothing(capsys):
    assert list(progress.track([3, 1, 2], "Working")) == [3, 1, 2]
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_plain_lines_when_not_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with progress.show_progress():
        assert list(progress.track(iter("ab"), "Working", total=2)) == ["a", "b"]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Working: 1/2 (")
    assert "s left)" in lines[0]
    assert lines[-1].startswith("Working: 2 done in")


def test_unknown_total_counts_without_promising(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with progress.show_progress(), progress.progress("Reading") as ticker:
        ticker.advance(5)
    assert capsys.readouterr().err.startswith("Reading: 5 (")


def test_a_bar_on_a_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.show_progress():
        assert list(progress.track(range(3), "Working")) == [0, 1, 2]
    assert "Working" in screen.getvalue()
    assert "3/3" in screen.getvalue()


def test_an_exception_passes_through(capsys):
    with (
        pytest.raises(ZeroDivisionError),
        progress.show_progress(),
        progress.progress("Working", 2),
    ):
        raise ZeroDivisionError
    assert "done" not in capsys.readouterr().err


def test_the_display_is_off_again_after_the_block(capsys):
    with progress.show_progress():
        pass
    list(progress.track([1], "Working"))
    assert capsys.readouterr().err == ""
