from .folder import RunFolder, load_answers, save_answers
from .settings import (
    Budget,
    ExportFormat,
    RunConfig,
    collect_config,
    config_text,
    make_config,
    parse_budget,
    percent_words,
    read_config,
    time_words,
)
from .state import RunState
from .verify import Finding, Verification, kind_of, verify_path

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
    "percent_words",
    "read_config",
    "save_answers",
    "time_words",
    "verify_path",
]
