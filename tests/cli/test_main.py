import subprocess
import sys

import pytest
import typer

import sclcs as package
from sclcs.cli import main as cli_main
from sclcs.cli.main import app

HEAVY = [
    "torch",
    "nilearn",
    "dask",
    "plotly",
    "pandas",
    "scipy",
    "sklearn",
    "zarr",
    "numba",
    "matplotlib",
    "xarray",
    "h5py",
]


def imported_by(code):
    show = f"import sys; {code}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_import_and_help_load_nothing_heavy():
    # Wall time is noise on a shared machine; what costs the second is these imports.
    assert imported_by("import sclcs") == []
    assert imported_by("import sclcs.cli.main") == []


def commands(group, path=()):
    for name, command in typer.main.get_command(group).commands.items():
        yield from walk(command, (*path, name))


def walk(command, path):
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, (*path, name))


@pytest.mark.parametrize("path", list(commands(app)), ids=" ".join)
def test_every_command_has_help_and_leaves_carry_an_example(sclcs, path):
    shown = sclcs(*path, "--help")
    assert shown.code == 0
    assert "Usage: sclcs" in shown.out
    is_group = "Commands" in shown.out
    assert is_group or "Example: sclcs" in shown.out


def test_version(sclcs):
    assert sclcs("--version").out == f"sclcs {package.__version__}\n"


def test_a_users_mistake_is_one_line_without_traceback(sclcs, tmp_path):
    shown = sclcs("cohort", "describe", tmp_path / "nowhere.zarr")
    assert shown.code == 2
    assert shown.out == ""
    assert shown.err.startswith("Error: Expected a file or folder at")
    assert len(shown.err.splitlines()) == 1


def test_an_unknown_option_exits_with_two(sclcs):
    assert sclcs("cohort", "describe", "--nonsense").code == 2


def test_interruption_is_said_plainly(sclcs, monkeypatch):
    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_main, "app", interrupt)
    shown = sclcs()
    assert shown.code == 130
    assert "Interrupted" in shown.err


def test_lazy_names_are_the_real_objects():
    from sclcs.cohort import Cohort

    assert package.Cohort is Cohort
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="nothing"):
        package.nothing  # noqa: B018
