"""Options are declared once: command, signature, docstring, file and docs say the same."""

import inspect
import re
import sys
from pathlib import Path

import pytest
import typer
import yaml

import sclcs
from sclcs import coresets, settings, stats, store
from sclcs._core.settings import as_sentence, default_of, described as described_as, extra, flag_of
from sclcs.cli.main import SHOWN, app
from sclcs.run_folder import RunConfig, config_text, read_config

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "_ext"))

MODELS = {
    "run": settings.RunSettings,
    "rank": settings.RankSettings,
    "compute": settings.ComputeSettings,
    "select": settings.SelectSettings,
    "import": settings.ImportSettings,
}
CALLS = {
    "run": sclcs.run,
    "rank": stats.rank,
    "compute": store.compute_store,
    "select": coresets.select,
    "import": sclcs.load,
}


def fields(name):
    """Return the settings of a command; what `select` has for the method is `**parameters`."""
    found = MODELS[name].model_fields
    return {key: field for key, field in found.items() if key != "cohort"}


def options(name):
    command = typer.main.get_command(app)
    command = command.commands[name].completed
    return {one.opts[0]: one for one in command.params if one.param_type_name == "option"}


@pytest.mark.parametrize("name", MODELS)
def test_the_command_has_every_option_with_its_help(name):
    shown = options(name)
    for key, field in fields(name).items():
        option = shown[flag_of(key, field)]
        assert option.help.startswith(as_sentence(field.description))
        assert option.hidden is not extra(field, "front")
        assert option.default is None  # so that it can be seen what was given


@pytest.mark.parametrize("name", CALLS)
def test_the_function_has_every_option_with_its_default_and_help(name):
    parameters = inspect.signature(CALLS[name]).parameters
    described = " ".join(inspect.getdoc(CALLS[name]).split())
    for key, field in fields(name).items():
        if (name, key) == ("select", "parameters"):
            assert parameters[key].kind is inspect.Parameter.VAR_KEYWORD
            continue
        assert parameters[key].default == default_of(field)
        words = re.sub(r"\*|_(?!\w)", r"\\\g<0>", described_as(field))
        assert re.search(rf"\b{key} : .{{1,60}} {re.escape(words)}", described), key


@pytest.mark.parametrize("name", CALLS)
def test_the_docstring_describes_nothing_else(name):
    described = inspect.getdoc(CALLS[name]).split("Parameters\n")[1].split("Returns\n")[0]
    named = re.findall(r"^\*{0,2}(\w+) :", described, re.MULTILINE)
    assert sorted(named) == sorted({*inspect.signature(CALLS[name]).parameters} - {"self"})


def test_the_file_of_a_run_has_every_key_with_its_help(tmp_path):
    text = config_text(RunConfig())
    keys = yaml.safe_load(text.replace("\non:", "\n'on':"))
    assert list(keys) == RunConfig.names()
    for key, field in RunConfig.model_fields.items():
        assert f"# {field.description}\n{key}:" in text
    (tmp_path / "run.yaml").write_text(text)
    assert read_config(tmp_path / "run.yaml").keys() == keys.keys()


@pytest.mark.parametrize("name", MODELS)
def test_the_page_has_every_option_with_its_help(name):
    from generated_pages import PAGES

    page = PAGES[f"{name}_options_table.md"]()
    for key, field in fields(name).items():
        row = next(row for row in page.splitlines() if row.startswith(f"| `{key}` |"))
        assert f"`{flag_of(key, field)}`" in row
        assert as_sentence(field.description).replace("|", "\\|") in row


def test_what_a_ranking_can_be_asked_a_run_can_be_asked():
    ranked = settings.RankSettings.model_fields.keys() - {"n_jobs"}  # a run has `on`
    assert ranked <= settings.RunSettings.model_fields.keys()


@pytest.mark.parametrize("name", MODELS)
def test_the_short_help_fits_a_screen_and_the_long_one_has_the_rest(sclcs_help, name):
    short = sclcs_help(name, "--help")
    assert len(short.splitlines()) <= 40
    shown = options(name)
    long = sclcs_help(name, "--help-all") if "--help-all" in shown else short
    assert all(flag in long for flag in shown)


@pytest.fixture
def sclcs_help(monkeypatch):
    from typer.testing import CliRunner

    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERMINAL_WIDTH", "100")

    def show(*words):
        return CliRunner().invoke(app, list(words)).output

    return show


def test_the_list_of_commands_fits_a_screen_and_the_long_one_has_the_rest(sclcs_help):
    short, long = sclcs_help("--help"), sclcs_help("--help-all")
    assert len(short.splitlines()) <= 40
    named = [name for name in typer.main.get_command(app).commands if f"\n│ {name} " in short]
    assert sorted(named) == sorted(SHOWN)
    assert all(f"\n│ {name} " in long for name in typer.main.get_command(app).commands)


def test_the_list_of_commands_reads_no_settings():
    import subprocess

    code = "import sclcs.cli.main, sys; print('pydantic' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_a_typing_error_names_the_option():
    with pytest.raises(sclcs._core.InputError) as refused:
        sclcs.run(taks="diagnosis")
    words = "run() got an unexpected keyword argument 'taks'. Did you mean 'task'?"
    assert str(refused.value) == words
