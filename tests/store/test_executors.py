"""Who does the work: one string, a list of kinds that keeps itself."""

from pathlib import Path

import pytest

from sclcs._core import InputError, UnknownNameError
from sclcs.store import executor_kinds, executors as room, find_executor

KINDS = executor_kinds()


def test_a_file_of_the_folder_is_an_executor():
    files = {path.stem for path in Path(room.__file__).parent.glob("*.py")} - {"__init__"}
    assert set(KINDS) == files == {"dask", "local", "slurm"}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_says_how_it_is_written(name):
    kind = KINDS[name]
    assert kind.example.startswith(f"{kind.name}:")
    assert kind.argument
    with pytest.raises(InputError, match=rf"Expected .* after {name}:, for example {name}:"):
        find_executor(name)
    with pytest.raises(InputError, match=rf"after {name}:"):
        find_executor(f"{name}:")


@pytest.mark.parametrize(
    ("given", "text", "processes"),
    [
        (None, "local:1", 1),
        ("local:3", "local:3", 3),
        ("dask:tcp://10.0.0.1:8786", "dask:tcp://10.0.0.1:8786", 1),
    ],
)
def test_one_process_unless_another_is_asked_for(given, text, processes):
    choice = find_executor(given)
    assert str(choice) == text
    assert choice.processes == processes


def test_all_processors():
    import joblib

    assert find_executor("local:-1").processes == joblib.cpu_count()


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("cloud:1", UnknownNameError, "dask:tcp://10.0.0.1:8786, local:4, slurm:slurm.yaml"),
        ("local:0", InputError, "must be positive"),
        ("local:many", InputError, "must be positive, or -1 for one per processor, got many"),
        ("slurm:nothing.yaml", FileNotFoundError, "SLURM configuration at nothing.yaml"),
    ],
)
def test_what_cannot_be_is_named(text, error, says):
    with pytest.raises(error, match=says):
        find_executor(text)
