"""Progress and log: quiet in a library, plain lines in a file, a bar on a terminal."""

import io
import logging
import sys

import pytest

from sclcs._core import console


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_library_call_prints_nothing(capsys):
    assert list(console.track([3, 1, 2], "Working")) == [3, 1, 2]
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_plain_lines_when_not_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    with console.show_progress():
        assert list(console.track(iter("ab"), "Working", total=2)) == ["a", "b"]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Working: 1/2 (")
    assert "s left)" in lines[0]
    assert lines[-1].startswith("Working: 2 done in")


def test_unknown_total_counts_without_promising(capsys, monkeypatch):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    with console.show_progress(), console.progress("Reading") as ticker:
        ticker.advance(5)
    assert capsys.readouterr().err.startswith("Reading: 5 (")


def test_a_bar_on_a_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with console.show_progress():
        assert list(console.track(range(3), "Working")) == [0, 1, 2]
    assert "Working" in screen.getvalue()
    assert "3/3" in screen.getvalue()


def test_an_exception_passes_through(capsys):
    with (
        pytest.raises(ZeroDivisionError),
        console.show_progress(),
        console.progress("Working", 2),
    ):
        raise ZeroDivisionError
    assert "done" not in capsys.readouterr().err


def test_the_display_is_off_again_after_the_block(capsys):
    with console.show_progress():
        pass
    list(console.track([1], "Working"))
    assert capsys.readouterr().err == ""


def test_levels_follow_the_verbosity(capsys):
    logger = console.get_logger("sclcs.somewhere")
    console.show_log(0)
    logger.info("quiet")
    logger.warning("loud")
    console.show_log(1)
    logger.info("told")
    shown = capsys.readouterr().err
    assert "quiet" not in shown
    assert "loud" in shown
    assert "told" in shown


def test_showing_twice_does_not_print_twice(capsys):
    console.show_log(0)
    console.show_log(0)
    console.get_logger("sclcs.somewhere").warning("once")
    assert capsys.readouterr().err.count("once") == 1
    assert (
        sum(not isinstance(h, logging.NullHandler) for h in logging.getLogger("sclcs").handlers)
        == 1
    )
