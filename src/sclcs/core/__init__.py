"""What every room leans on: errors, files, identity, seeds, settings, progress."""

from sclcs.core.errors import (
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
