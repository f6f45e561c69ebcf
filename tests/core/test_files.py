import errno
import json
import os
import signal
import subprocess
import sys

import pytest

from sclcs._core.errors import NotFoundError, OutputExistsError, WriteError
from sclcs._core.files import (
    ReadOnce,
    atomic_directory,
    refuse_existing,
    require_existing,
    write_json,
    write_text,
)


def test_a_folder_appears_only_when_it_is_complete(tmp_path):
    target = tmp_path / "new" / "result"
    with atomic_directory(target) as folder:
        (folder / "a.txt").write_text("half")
        assert not target.exists()
    assert (target / "a.txt").read_text() == "half"
    assert os.listdir(target.parent) == ["result"]


def test_nothing_is_left_when_the_block_fails(tmp_path):
    def fail():
        with atomic_directory(tmp_path / "result") as folder:
            (folder / "a.txt").write_text("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert os.listdir(tmp_path) == []


def test_an_existing_output_is_refused_and_kept(tmp_path):
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "mine.txt").write_text("precious")
    with (
        pytest.raises(OutputExistsError, match="already exists"),
        atomic_directory(tmp_path / "result"),
    ):
        pytest.fail("the block must not run")
    assert (tmp_path / "result" / "mine.txt").read_text() == "precious"
    with pytest.raises(OutputExistsError):
        refuse_existing(tmp_path / "result")


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "no space is left"), (errno.EROFS, "not allowed")]
)
def test_write_errors_say_what_to_do_and_leave_nothing(tmp_path, number, words):
    def fail():
        with atomic_directory(tmp_path / "result") as folder:
            (folder / "a.txt").write_text("half")
            raise OSError(number, os.strerror(number))

    with pytest.raises(WriteError, match=words):
        fail()
    assert os.listdir(tmp_path) == []


FULL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # the system refuses larger files
from sclcs._core.files import write_text
try:
    write_text(sys.argv[1], "x" * 100_000)
except OSError as error:
    print(type(error).__name__, error)
"""


def test_a_write_that_the_system_refuses_leaves_the_old_file(tmp_path):
    target = tmp_path / "facts.txt"
    target.write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(target)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("WriteError")
    assert "no space is left" in done.stdout
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["facts.txt"]


KILLED = """
import sys, time
from sclcs._core.files import atomic_directory
with atomic_directory(sys.argv[1]) as folder:
    (folder / "a.txt").write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_killed_process_never_leaves_a_result_that_looks_complete(tmp_path):
    target = tmp_path / "result"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not target.exists()


def test_json_keeps_unicode_and_is_readable(tmp_path):
    path = write_json(tmp_path / "facts.json", {"région": [1, None]})
    assert json.loads(path.read_text(encoding="utf-8")) == {"région": [1, None]}
    assert "région" in path.read_text(encoding="utf-8")


def test_text_is_replaced_in_one_step(tmp_path):
    write_text(tmp_path / "a.txt", "one")
    write_text(tmp_path / "a.txt", "two")
    assert (tmp_path / "a.txt").read_text() == "two"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_missing_input_is_named(tmp_path):
    with pytest.raises(NotFoundError, match=r"cohort folder.*nowhere"):
        require_existing(tmp_path / "nowhere", "cohort folder")


def test_a_file_is_read_once_until_it_changes(tmp_path):
    seen = []
    read = ReadOnce(lambda path: (seen.append(path), path.read_text())[1])
    file = write_text(tmp_path / "a", "one")
    assert [read(file), read(file)] == ["one", "one"]
    assert len(seen) == 1
    write_text(file, "two")
    assert read(file) == "two"
    assert len(seen) == 2
    file.unlink()
    with pytest.raises(FileNotFoundError):
        read(file)
    write_text(file, "three")
    assert read(file) == "three"
    read.forget(file)
    assert read(file) == "three"
    assert len(seen) == 5


def test_only_so_many_files_are_remembered(tmp_path):
    seen = []
    read = ReadOnce(lambda path: (seen.append(path.name), path.read_text())[1], most=2)
    files = [write_text(tmp_path / name, name) for name in "abc"]
    for file in (*files, files[2], files[0]):
        read(file)
    assert seen == ["a", "b", "c", "a"]
