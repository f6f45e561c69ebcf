"""The configuration of a run: files, options, mistakes."""

import pytest
import yaml

from sclcs._core.errors import InputError, NotFoundError, UnreadableFileError
from sclcs.run_folder import RunConfig, collect_config, config_text, make_config, read_config


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_an_unknown_key_is_an_error_that_names_the_key_the_nearest_and_the_file(tmp_path):
    file = write(tmp_path / "my.yaml", "ratios: 0.2\ntasks: site\n")
    with pytest.raises(InputError) as caught:
        read_config(file)
    message = str(caught.value)
    assert "'ratios'" in message
    assert "did you mean ratio" in message
    assert "'tasks'" in message
    assert "did you mean task?" in message
    assert str(file) in message


def test_an_unknown_key_that_is_like_none_lists_them_all(tmp_path):
    with pytest.raises(InputError, match=r"known are cohort, out, task.*description"):
        read_config(write(tmp_path / "my.yaml", "zzz: 1\n"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ratio: 1.5\n", "`ratio` must be a number above 0 and at most 1, got 1.5"),
        ("ratio: 0\n", "`ratio` must be a number above 0"),
        ("ratio: much\n", "`ratio` must be a number .*got 'much'"),
        ("top_k: 0\n", "top_k"),
        ("bootstrap: -1\n", "bootstrap"),
        ("export: [relmat, matlab]\n", "`export` must be .*relmat, npz, .*got 'matlab'"),
        ("on_bad: ignore\n", "`on_bad` must be one of error, skip, got 'ignore'"),
        ("task: []\n", "task"),
        ("seed: 1.5\n", "seed"),
    ],
)
def test_a_wrong_value_is_named_with_the_file(tmp_path, text, says):
    file = write(tmp_path / "my.yaml", text)
    with pytest.raises(InputError, match=says) as caught:
        read_config(file)
    assert str(file) in str(caught.value)


def test_files_that_are_no_configuration(tmp_path):
    with pytest.raises(InputError, match="key: value"):
        read_config(write(tmp_path / "list.yaml", "- 1\n- 2\n"))
    with pytest.raises(UnreadableFileError, match="Expected YAML"):
        read_config(write(tmp_path / "broken.yaml", "a: [1\n"))
    with pytest.raises(NotFoundError):
        read_config(tmp_path / "nowhere.yaml")
    # YAML can name Python objects to be made; safe YAML refuses.
    with pytest.raises(UnreadableFileError):
        read_config(write(tmp_path / "evil.yaml", "title: !!python/object/apply:os.getcwd []\n"))


def test_options_beat_the_file_and_the_rest_is_kept(tmp_path):
    file = write(tmp_path / "my.yaml", "ratio: 0.3\nmethod: random\ntask: site, diagnosis\n")
    config = collect_config(file, {"ratio": 0.2, "method": None})
    assert (config.ratio, config.method, config.tasks) == (0.2, "random", ["site", "diagnosis"])
    assert config.top_k == RunConfig().top_k


def test_an_empty_file_means_the_defaults(tmp_path):
    assert collect_config(write(tmp_path / "empty.yaml", ""), {}) == RunConfig()


def test_paths_in_a_file_start_at_its_folder(tmp_path):
    file = write(tmp_path / "my.yaml", "cohort: data/c.zarr\nout: RUN\n")
    keys = read_config(file)
    assert keys["cohort"] == str(tmp_path / "data" / "c.zarr")
    assert keys["out"] == str(tmp_path / "RUN")


def test_written_and_read_back_it_is_the_same(tmp_path):
    config = make_config(
        {
            "cohort": str(tmp_path / "elsewhere" / "c.zarr"),
            "out": str(tmp_path / "RUN"),
            "task": ["subject", "a: strange, label # column"],
            "parameters": {"panel": ["panel", "kendalltau"], "restarts": 3, "strata": None},
            "ratio": 0.07,
            "title": 'yes: "no" \u00e9',
            "export": ["npz"],
        }
    )
    home = tmp_path / "RUN"
    home.mkdir()
    file = write(home / "config.yaml", config_text(config, home))
    assert make_config(read_config(file)) == config
    assert yaml.safe_load(file.read_text())["out"] == "."


def test_every_key_is_explained_in_the_file():
    text = config_text(RunConfig())
    for name, facts in RunConfig.model_fields.items():
        assert facts.description
        assert f"# {facts.description}\n{name}:" in text


def test_a_moved_folder_still_finds_what_is_inside(tmp_path):
    config = make_config(
        {"cohort": str(tmp_path / "A" / "cohort.zarr"), "out": str(tmp_path / "A")}
    )
    (tmp_path / "B").mkdir()
    file = write(tmp_path / "B" / "config.yaml", config_text(config, tmp_path / "A"))
    keys = read_config(file)
    assert keys["cohort"] == str(tmp_path / "B" / "cohort.zarr")
    assert keys["out"] == str(tmp_path / "B")
