"""What a run leaves on disk: its folder, its configuration, the records of its stages."""

from sclcs.run_folder.folder import RunFolder, load_answers, save_answers
from sclcs.run_folder.settings import (
    Budget,
    ExportFormat,
    RunConfig,
    collect_config,
    config_text,
    make_config,
    parse_budget,
    read_config,
)
from sclcs.run_folder.state import RunState
from sclcs.run_folder.verify import Finding, Verification, kind_of, verify_path

__all__ = [
    "Budget",
    "ExportFormat",
    "Finding",
    "RunConfig",
    "RunFolder",
    "RunState",
    "Verification",
    "collect_config",
    "config_text",
    "kind_of",
    "load_answers",
    "make_config",
    "parse_budget",
    "read_config",
    "save_answers",
    "verify_path",
]
