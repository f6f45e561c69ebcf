"""Pages for users and the help of every command do without our private words."""

import re

import pytest
import typer
from test_code_blocks import PAGES, REPOSITORY

from sclcs.cli.main import app

#: What they mean: computed again, continues, equivalent, sub-packages.
PRIVATE = re.compile(
    r"made again|\bgoes on\b|bound to tie|rooms? of the house|made anew", re.IGNORECASE
)


@pytest.mark.parametrize("page", PAGES)
def test_pages_use_plain_words(page):
    text = " ".join((REPOSITORY / page).read_text(encoding="utf-8").split())
    assert PRIVATE.findall(text) == []


def help_texts(command, name):
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    for word, inner in getattr(command, "commands", {}).items():
        yield from help_texts(inner, f"{name} {word}")


def test_help_uses_plain_words():
    texts = dict(help_texts(typer.main.get_command(app), "sclcs"))
    assert len(texts) > 100
    assert {name: text for name, text in texts.items() if PRIVATE.search(text)} == {}
