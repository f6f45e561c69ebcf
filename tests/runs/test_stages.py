"""Stages that are done once, whatever they do."""

import errno
import json

import pytest

from sclcs._core.errors import InputError, UnknownNameError, WriteError
from sclcs._core.identity import Identity
from sclcs._core.provenance import signed
from sclcs.run_folder import RunFolder, RunState
from sclcs.runs.stages import Stage, StoppedInStageError, run_stages


def of(**inputs):
    return Identity("test", inputs=inputs)


class Chain:
    """Three stages: `a` writes its setting, `b` half of it, `c` joins both."""

    def __init__(self, home):
        self.home = home
        self.a, self.c = 4, "x"
        self.trouble = {}

    def read(self, name):
        return (self.home / name).read_text()

    def stages(self):
        def make(name, identity, text):
            def work():
                if name in self.trouble:
                    raise self.trouble.pop(name)
                (self.home / name).write_text(text())
                return {"length": len(text())}

            return Stage(name, f"Make {name}", identity, work, lambda: [self.home / name])

        return [
            make("a", lambda: of(a=self.a), lambda: str(self.a)),
            make("b", lambda: of(a=self.read("a")), lambda: str(int(self.read("a")) // 2)),
            make("c", lambda: of(b=self.read("b"), c=self.c), lambda: self.read("b") + self.c),
        ]

    def run(self, **options):
        self.lines = []
        return run_stages(RunFolder(self.home), self.stages(), self.lines.append, **options)

    def record(self, name):
        return json.loads(self.read("state.json"))["stages"][name]


@pytest.fixture
def chain(tmp_path):
    return Chain(tmp_path)


def test_all_stages_once_then_none(chain):
    assert chain.run() == ["a", "b", "c"]
    assert chain.read("c") == "2x"
    assert chain.run() == []
    assert chain.lines == [
        "[1/3] Make a: done before",
        "[2/3] Make b: done before",
        "[3/3] Make c: done before",
    ]


def test_a_change_redoes_what_depends_on_it(chain):
    chain.run()
    chain.c = "y"
    assert chain.run() == ["c"]
    chain.a = 8
    assert chain.run() == ["a", "b", "c"]
    assert chain.read("c") == "4y"


def test_if_a_stage_comes_to_the_same_result_later_ones_have_nothing_to_do(chain):
    chain.run()
    chain.a = 5  # half of it is still 2
    assert chain.run() == ["a", "b"]
    assert chain.record("c")["status"] == "done"


def test_outputs_that_are_gone_or_edited_are_made_again(chain):
    chain.run()
    (chain.home / "b").unlink()
    assert chain.run() == ["b"]
    (chain.home / "c").write_text("2X")
    assert chain.run() == ["c"]
    assert chain.read("c") == "2x"


def test_a_folder_is_an_output_too(tmp_path):
    inside = tmp_path / "made" / "deep"

    def work():
        inside.mkdir(parents=True, exist_ok=True)
        (inside / "file").write_text("1")

    stage = Stage("s", "Make", of, work, lambda: [tmp_path / "made"])

    def run():
        return run_stages(RunFolder(tmp_path), [stage], lambda _: None)

    assert run() == ["s"]
    assert run() == []
    (inside / "file").unlink()
    assert run() == ["s"]
    (inside / ".lock").mkdir()
    (inside / ".lock" / "whole").write_text("")
    assert run() == []  # locks are no content


def test_the_record_of_a_stage(chain):
    chain.run()
    record = chain.record("b")
    assert record["status"] == "done"
    assert record["wall_seconds"] >= 0
    assert record["cpu_seconds"] >= 0
    assert record["started"] <= record["finished"]
    assert list(record["outputs"]) == ["b"]
    assert set(record["versions"]) >= {"sclcs", "numpy"}
    assert record["facts"] == {"length": 1}


def test_until_a_stage(chain):
    assert chain.run(until="b") == ["a", "b"]
    assert not (chain.home / "c").exists()
    with pytest.raises(UnknownNameError, match="'d'; choose from a, b, c"):
        chain.run(until="d")
    assert chain.run() == ["c"]


def test_ctrl_c_names_the_stage_and_the_next_run_goes_on(chain):
    chain.trouble["b"] = KeyboardInterrupt()
    with pytest.raises(StoppedInStageError) as stop:
        chain.run()
    assert stop.value.stage == "stage 2 (Make b)"
    assert chain.record("b")["status"] == "stopped"
    assert chain.run() == ["b", "c"]


def test_an_error_is_recorded_and_raised(chain):
    chain.trouble["b"] = InputError("Something is wrong.")
    with pytest.raises(InputError, match="Something is wrong"):
        chain.run()
    assert chain.record("b")["status"] == "failed"
    assert chain.record("b")["problem"] == "Something is wrong."
    assert chain.run() == ["b", "c"]


@pytest.mark.parametrize(
    ("number", "says"), [(errno.ENOSPC, "no space is left"), (errno.EROFS, "not allowed")]
)
def test_a_full_disk_or_a_read_only_folder_is_one_sentence_and_nothing_is_lost(chain, number, says):
    chain.trouble["c"] = OSError(number, "cannot write")
    with pytest.raises(WriteError, match=says) as caught:
        chain.run()
    assert "stopped in stage 3 (Make c)" in str(caught.value)
    assert "the same command resumes it" in str(caught.value)
    assert chain.run() == ["c"]


def test_even_if_the_state_cannot_be_written_the_error_is_the_first_one(chain, monkeypatch):
    chain.trouble["b"] = OSError(errno.ENOSPC, "cannot write")
    write = RunState.write

    def full(self, name, record):
        if record["status"] == "failed":
            raise OSError(errno.ENOSPC, "cannot write")
        write(self, name, record)

    monkeypatch.setattr(RunState, "write", full)
    with pytest.raises(WriteError, match="no space is left"):
        chain.run()
    monkeypatch.undo()
    assert chain.record("b")["status"] == "running"  # as a killed process would leave it
    assert chain.run() == ["b", "c"]


def test_while_a_stage_is_redone_later_ones_are_in_doubt(chain):
    chain.run()
    chain.a = 8
    chain.trouble["b"] = KeyboardInterrupt()
    with pytest.raises(StoppedInStageError):
        chain.run()
    assert chain.record("c")["status"] == "to be checked"
    chain.a = 4  # back again: what `c` made still holds
    assert chain.run() == ["a", "b"]
    assert chain.record("c")["status"] == "done"


def test_a_stage_that_is_no_longer_wanted_leaves_nothing(chain):
    chain.run()
    stages = chain.stages()[:2]
    run_stages(RunFolder(chain.home), stages, lambda _: None)
    assert not (chain.home / "c").exists()


def test_a_state_that_cannot_be_read_means_that_all_is_done_again(chain):
    chain.run()
    for broken in ("{", "[]", '{"stages": 3}', '{"stages": {"a": 1}}'):
        (chain.home / "state.json").write_text(broken)
        assert chain.run() == ["a", "b", "c"]


def test_a_state_that_names_files_elsewhere_removes_nothing(chain):
    chain.run()
    treasure = chain.home.parent / "treasure"
    treasure.write_text("keep me")
    state = json.loads(chain.read("state.json"))
    state["stages"]["gone"] = {"outputs": {"../treasure": "0"}, "status": "done", "key": ""}
    (chain.home / "state.json").write_text(json.dumps(signed(state)))
    with pytest.raises(ValueError, match="outside"):
        chain.run()
    assert treasure.exists()
