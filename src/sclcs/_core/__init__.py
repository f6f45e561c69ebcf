"""What every room leans on: errors, files, identity, seeds, settings, progress."""

from sclcs._core.errors import (
    AxesWarning,
    DamagedStoreError,
    InputError,
    MissingDependencyError,
    NotFoundError,
    OutputExistsError,
    SclcsError,
    StoreInUseError,
    UnknownNameError,
    UnreadableFileError,
    WorkerDiedError,
    WriteError,
)

__all__ = [
    "AxesWarning",
    "DamagedStoreError",
    "InputError",
    "MissingDependencyError",
    "NotFoundError",
    "OutputExistsError",
    "SclcsError",
    "StoreInUseError",
    "UnknownNameError",
    "UnreadableFileError",
    "WorkerDiedError",
    "WriteError",
]
