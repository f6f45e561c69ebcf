"""Who does the work: one string, a list of kinds that keeps itself."""

from pathlib import Path

import pytest

from sclcs.compute import choose_executor, executor_kinds, find_executor
from sclcs.compute import executors as room
from sclcs.core.errors import InputError, UnknownNameError

KINDS = executor_kinds()


def test_a_file_of_the_folder_is_an_executor():
    files = {path.stem for path in Path(room.__file__).parent.glob("*.py")} - {"__init__"}
    assert set(KINDS) == files == {"dask", "local", "slurm"}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_says_how_it_is_written(name):
    kind = KINDS[name]
    assert kind.example.startswith(f"{kind.name}:")
    assert kind.argument
    assert (kind.start is None) != (kind.hand_over is None)
    with pytest.raises(InputError, match=rf"Expected .* after {name}:, for example {name}:"):
        find_executor(name)
    with pytest.raises(InputError, match=rf"after {name}:"):
        find_executor(f"{name}:")


@pytest.mark.parametrize(
    ("given", "text", "processes"),
    [
        ({}, "local:1", 1),
        ({"on": "local:3"}, "local:3", 3),
        ({"jobs": 4}, "local:4", 4),
        ({"on": None, "jobs": None, "scheduler": "tcp://x:1"}, "dask:tcp://x:1", 1),
        ({"on": "dask:tcp://10.0.0.1:8786"}, "dask:tcp://10.0.0.1:8786", 1),
    ],
)
def test_the_new_way_and_the_older_ones_mean_the_same(given, text, processes):
    choice = choose_executor(**given)
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


def test_only_one_may_be_asked_for():
    with pytest.raises(InputError, match="Choose one of --jobs and --scheduler"):
        choose_executor(jobs=2, scheduler="tcp://x:1")
    with pytest.raises(InputError, match="Choose one of --jobs and --on"):
        choose_executor("local:2", jobs=2)


def test_what_is_handed_over_cannot_be_waited_for(tmp_path):
    (tmp_path / "slurm.yaml").write_text("shares: 2\n")
    with pytest.raises(InputError, match=r"cannot be waited for here; choose --on dask.*local:4"):
        find_executor(f"slurm:{tmp_path}/slurm.yaml").start()
