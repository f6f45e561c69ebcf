"""What a run leaves on disk: its folder, its configuration, the records of its stages."""

from sclcs.run_folder.config import (
    ExportFormat,
    RunConfig,
    collect_config,
    config_text,
    make_config,
    read_config,
)
from sclcs.run_folder.folder import RunFolder
from sclcs.run_folder.state import Matrices, RunState

__all__ = [
    "ExportFormat",
    "Matrices",
    "RunConfig",
    "RunFolder",
    "RunState",
    "collect_config",
    "config_text",
    "make_config",
    "read_config",
]
