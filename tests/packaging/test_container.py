"""The steps of packaging/Containerfile, done here in a folder: no builder is needed for that."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
#: So that one kernel is compiled here, not a hundred.
ONE = ("'paper-fast'", "'kendalltau'")


def steps():
    """Return instructions and their arguments, lines that go on joined."""
    text = (REPOSITORY / "packaging" / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(" ", 1)) for line in "\n".join(lines).replace("\\\n", " ").split("\n")]


def of(kind):
    return [argument for name, argument in steps() if name == kind]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """Copy what is copied there, and install it as there but for what is installed here."""
    root = tmp_path_factory.mktemp("image")
    for line in of("COPY"):
        *sources, target = line.split()
        place = root / target.strip("/")
        for source in sources:
            if (REPOSITORY / source).is_dir():
                shutil.copytree(
                    REPOSITORY / source, place, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(REPOSITORY / source, place)
    (install,) = [step for step in of("RUN") if "pip install" in step]
    command = shlex.split(install.split("&&")[0])
    assert command[:4] == ["python", "-m", "pip", "install"]
    arguments = [str(root / a.strip("/")) if a.startswith("/src") else a for a in command[4:]]
    assert arguments[-1] == str(root / "src")
    here = ["--no-deps", "--ignore-installed", "--quiet", "--prefix", str(root / "usr")]
    subprocess.run([sys.executable, "-m", "pip", "install", *here, *arguments], check=True)
    return root


def call(image, *command):
    (packages,) = (image / "usr").glob("lib/python*/site-packages")
    surroundings = os.environ | {
        "PYTHONPATH": str(packages),
        "NUMBA_CACHE_DIR": str(image / "kernels"),
    }
    return subprocess.run(
        command, env=surroundings, cwd=image, capture_output=True, text=True, check=False
    )


def test_the_package_is_built_from_what_is_copied(image):
    told = call(image, sys.executable, "-c", "import sclcs; print(sclcs.__file__)")
    assert told.stdout.startswith(str(image)), told.stderr


def test_kernels_are_compiled_by_the_command_of_the_image(image):
    (step,) = [step for step in of("RUN") if "warm_up" in step]
    program, flag, code = shlex.split(step)
    assert (program, flag) == ("python", "-c")
    assert ONE[0] in code
    done = call(image, sys.executable, "-c", code.replace(*ONE))
    assert done.returncode == 0, done.stderr
    assert list((image / "kernels").rglob("*.nbc"))


def test_what_it_starts_is_the_bids_app(image):
    (entry,) = of("ENTRYPOINT")
    (name,) = re.findall(r'"([^"]+)"', entry)
    script = image / "usr" / "bin" / name
    done = call(image, sys.executable, str(script), "--help")
    assert done.returncode == 0, done.stderr
    assert "Rank operators on a BIDS derivative" in done.stdout
