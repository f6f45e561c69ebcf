"""Packages load their public names when they are first used, and all of them exist."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import sclcs

PACKAGES = ["sclcs", *(f"sclcs.{m.name}" for m in pkgutil.iter_modules(sclcs.__path__) if m.ispkg)]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_there(name):
    package = importlib.import_module(name)
    assert package.__doc__
    names = getattr(package, "__all__", [])
    assert len(set(names)) == len(names)
    for public in names:
        assert getattr(package, public) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        sclcs.nothing  # noqa: B018


def test_the_import_is_quick():
    code = "import sys, sclcs; print([m for m in ('numba', 'pandas', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_function_and_the_package_of_runs_do_not_clash():
    import sclcs.runs

    assert sclcs.run is sclcs.runs.run
