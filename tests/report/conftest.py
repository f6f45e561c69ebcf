import pytest
from run_example import make_run


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """A finished run with two tasks and hostile names; nobody may change it."""
    return make_run(tmp_path_factory.mktemp("runs") / "RUN")
