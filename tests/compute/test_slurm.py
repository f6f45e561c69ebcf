import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from store_content import OPERATORS

from sclcs.compute.executors.slurm import SlurmConfig, job_script, read_slurm_config
from sclcs.core.errors import InputError, NotFoundError, UnreadableFileError
from sclcs.spi.fc_store import FCStore

FULL = """
shares: 3
max_running: 2
cpus: 1
memory: 2G
time: "00:30:00"
partition: short
account: brains
options: [--constraint=skylake]
setup: ["module() { echo loaded $1; }", module python]
"""


@pytest.fixture
def config_file(tmp_path):
    path = tmp_path / "slurm.yaml"
    path.write_text(FULL)
    return path


def test_the_script_asks_for_what_the_configuration_says(config_file, tmp_path):
    command = ["compute", "/data/my cohort.zarr", "--spis", "pec*", "--out", "/data/$fc"]
    quoted = "compute '/data/my cohort.zarr' --spis 'pec*' --out '/data/$fc'"
    text = job_script(read_slurm_config(config_file), command, tmp_path)
    for line in [
        "#SBATCH --array=1-3%2",
        "#SBATCH --cpus-per-task=1",
        "#SBATCH --mem=2G",
        "#SBATCH --time=00:30:00",
        "#SBATCH --partition=short",
        "#SBATCH --account=brains",
        "#SBATCH --constraint=skylake",
        "module python",
        f"exec {sys.executable} -m sclcs {quoted} \\",
        '  --task-range "${SLURM_ARRAY_TASK_ID}/3" --on local:1',
    ]:
        assert line in text.splitlines()
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shares: 3\nqueue: short", "Unknown key queue; the known ones are shares"),
        ("partition: short", "Expected shares to be a whole number of at least 1, got nothing"),
        ("shares: 0", "Expected shares to be a whole number of at least 1, got 0"),
        ('shares: 1\ntime: "1\\n#SBATCH --exclusive"', "one line of text"),
        ("- 1", "Expected `key: value` lines"),
    ],
)
def test_a_wrong_configuration_is_named(tmp_path, text, message):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_slurm_config(path)


def test_what_is_not_yaml_is_named(tmp_path):
    (tmp_path / "c.yaml").write_text("a: [")
    with pytest.raises(UnreadableFileError, match="Expected YAML"):
        read_slurm_config(tmp_path / "c.yaml")
    with pytest.raises(NotFoundError, match="SLURM configuration at"):
        read_slurm_config(tmp_path / "nothing.yaml")


def test_defaults_are_modest():
    assert "--array=1-5\n" in job_script(SlurmConfig(shares=5), ["compute"], Path("/x"))


@pytest.mark.slow
def test_the_shares_of_the_script_make_the_same_store(
    saved_cohort, undisturbed, config_file, tmp_path
):
    out = tmp_path / "fc"
    spis = ["--spis", ",".join(OPERATORS[:3]), "--spis", ",".join(OPERATORS[3:])]
    subprocess.run(
        [
            *(sys.executable, "-m", "sclcs", "compute", saved_cohort, "--out", out),
            *spis,
            *("--slurm", config_file),
        ],
        check=True,
        capture_output=True,
    )
    shares = pd.read_csv(tmp_path / "fc-slurm" / "shares.csv")
    assert sorted(shares["share"].unique()) == [1, 2, 3]
    running = [
        subprocess.Popen(
            ["bash", tmp_path / "fc-slurm" / "job.sh"],
            env=os.environ | {"SLURM_ARRAY_TASK_ID": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in (1, 2, 3)
    ]
    for process in running:
        printed, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert "loaded python" in printed
    store = FCStore.open(out)
    assert store.missing(check=True) == []
    for name in OPERATORS:
        assert (store.matrices(name) == undisturbed.matrices(name)).sum() == 31 * 30


@pytest.mark.parametrize(("time", "warned"), [("04:00:00", False), ("0:00", True)])
def test_a_task_longer_than_the_time_limit_is_said(saved_cohort, tmp_path, time, warned):
    from sclcs.compute import choose_executor, hand_over, open_computation

    config = tmp_path / "slurm.yaml"
    config.write_text(f'shares: 2\ntime: "{time}"\n')
    computation = open_computation(saved_cohort, tmp_path / "fc", OPERATORS)
    written = hand_over(computation, choose_executor(slurm=str(config)), ["compute"])
    assert any("it would never end" in sentence for sentence in written.sentences) == warned
    assert written.facts["longest_share_seconds"] >= 0
