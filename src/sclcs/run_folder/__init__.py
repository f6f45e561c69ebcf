"""What a run leaves on disk: its folder, its configuration, the records of its stages."""

from sclcs.run_folder.budget import Budget, parse_budget
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
from sclcs.run_folder.verify import Finding, Verification, verify_path

__all__ = [
    "Budget",
    "ExportFormat",
    "Finding",
    "Matrices",
    "RunConfig",
    "RunFolder",
    "RunState",
    "Verification",
    "collect_config",
    "config_text",
    "make_config",
    "parse_budget",
    "read_config",
    "verify_path",
]
