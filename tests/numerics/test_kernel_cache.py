"""A kernel on disk is used only while all that it was compiled from is as it was."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

import sclcs
from sclcs.numerics.kernel_cache import sources_of

CALLER = """
from sclcs.numerics.jit import kernel
from {package}.callee import inner

@kernel
def outer(x):
    return inner(x) + 1.0
"""
CALLEE = """
from sclcs.numerics.jit import kernel

@kernel
def inner(x):
    return {number} * x
"""


def kernels():
    """Return every compiled function of the package, by name."""
    found = {}
    for module in pkgutil.walk_packages(sclcs.__path__, "sclcs."):
        if module.name.startswith(("sclcs.cli", "sclcs.encoder")) or "__main__" in module.name:
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
        if Path(other.py_func.__code__.co_filename) not in sources_of(compiled)
    }
    assert not strangers


def answer(folder):
    """Return what a new process computes, and whether it took the kernel from disk."""
    code = "import small.caller as c; print(c.outer(10.0), sum(c.outer.stats.cache_hits.values()))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    number, hits = done.stdout.split()
    return float(number), int(hits)


def test_a_changed_callee_in_another_file_is_compiled_again(tmp_path):
    package = tmp_path / "small"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER.format(package="small"))
    (package / "callee.py").write_text(CALLEE.format(number="2.0"))
    assert answer(tmp_path) == (21.0, 0)
    assert answer(tmp_path) == (21.0, 1)
    (package / "callee.py").write_text(CALLEE.format(number="3.0"))
    assert answer(tmp_path) == (31.0, 0)
