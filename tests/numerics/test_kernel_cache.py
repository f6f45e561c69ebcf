"""A kernel on disk is used only while all that it was compiled from is as it was."""

import importlib
import os
import pkgutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
from numba.core.dispatcher import Dispatcher

import sclcs
from sclcs.spi.numerics import compiling as kernel_cache
from sclcs.spi.numerics.compiling import sources_of

CALLER = """
from sclcs.spi import kernel
from {package}.callee import inner

@kernel
def outer(x):
    return inner(x) + 1.0
"""
CALLEE = """
from sclcs.spi import kernel

@kernel
def inner(x):
    return {number} * x
"""


def kernels():
    """Return every compiled function of the package, by name."""
    found = {}
    for module in pkgutil.walk_packages(sclcs.__path__, "sclcs."):
        if module.name.startswith(("sclcs.cli", "sclcs.coresets")) or "__main__" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Dispatcher):
                found[f"{module.name}.{name}"] = value
    return found


def called_by(compiled):
    """Return the compiled functions of the package that a compiled function names."""
    function = compiled.py_func
    named = [function.__globals__.get(name) for name in function.__code__.co_names]
    return [value for value in named if isinstance(value, Dispatcher)]


@pytest.mark.slow
def test_what_a_kernel_calls_is_among_its_sources():
    found = kernels()
    assert len(found) > 100
    strangers = {
        f"{name} calls {other.py_func.__qualname__}"
        for name, compiled in found.items()
        for other in called_by(compiled)
        if Path(other.py_func.__code__.co_filename)
        not in sources_of(Path(compiled.py_func.__code__.co_filename))
    }
    assert not strangers


def answer(folder, **changes):
    """Return what a new process computes, and whether it took the kernel from disk."""
    code = "import small.caller as c; print(c.outer(10.0), sum(c.outer.stats.cache_hits.values()))"
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "user")} | changes
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    number, hits = done.stdout.split()
    return float(number), int(hits)


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "caller.py").write_text(CALLER.format(package="small"))
    (folder / "callee.py").write_text(CALLEE.format(number="2.0"))
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME names the user's cache folder")
def test_a_changed_callee_in_another_file_is_compiled_again(package, tmp_path):
    assert answer(tmp_path) == (21.0, 0)
    assert answer(tmp_path) == (21.0, 1)
    (package / "callee.py").write_text(CALLEE.format(number="3.0"))
    assert answer(tmp_path) == (31.0, 0)
    kept = tmp_path / "user" / "sclcs" / "kernels" / "sclcs-small"
    assert len(list(kept.iterdir())) == 2
    assert not list(package.glob("__pycache__/*.nb?"))
    own = tmp_path / "own"
    assert answer(tmp_path, NUMBA_CACHE_DIR=str(own)) == (31.0, 0)
    assert answer(tmp_path, NUMBA_CACHE_DIR=str(own)) == (31.0, 1)


def test_without_a_folder_that_can_be_written_kernels_are_compiled_all_the_same(package, tmp_path):
    for nowhere in ("/proc/nothing", "/dev/null/x"):
        assert answer(tmp_path, NUMBA_CACHE_DIR=nowhere) == (21.0, 0)


def test_only_folders_that_nobody_used_for_long_are_removed(tmp_path):
    for number in range(6):
        folder = tmp_path / f"digest-{number}"
        folder.mkdir()
        age = 0 if number == 0 else kernel_cache.KEPT_SECONDS * (number - 2.5)
        os.utime(folder, (time.time() - age,) * 2)
    kernel_cache._remove_unused(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"digest-{number}" for number in range(4)}


def test_the_setting_of_the_user_is_left_alone():
    assert os.environ.get("NUMBA_CACHE_DIR", "") == numba.config.CACHE_DIR
    with kernel_cache.kernels_kept_for(Path(kernel_cache.__file__)):
        assert os.environ.get("NUMBA_CACHE_DIR", "") != numba.config.CACHE_DIR
    assert os.environ.get("NUMBA_CACHE_DIR", "") == numba.config.CACHE_DIR
