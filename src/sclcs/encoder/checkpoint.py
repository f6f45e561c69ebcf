"""Checkpoints: an interrupted training continues and ends with the same bits."""

from __future__ import annotations

import pickle
import uuid
import zipfile
from pathlib import Path
from typing import Any

import torch

from sclcs.core.errors import InputError, UnreadableFileError
from sclcs.core.files import explain_write_errors

__all__ = ["read_checkpoint", "write_checkpoint"]


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Write a checkpoint in one step: a crash leaves the old one."""
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            torch.save(content, partial)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def read_checkpoint(path: Path, expected_identity: str, epochs: int) -> dict[str, Any] | None:
    """Read a checkpoint of this very training; None if there is none.

    Parameters
    ----------
    path : Path
        The file.
    expected_identity : str
        From :func:`~sclcs.encoder.identity.training_identity`.
    epochs : int
        Epochs asked for now.

    Returns
    -------
    dict or None
    """
    if not path.exists():
        return None
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        found, epoch = content["identity"], content["epoch"]
    except (RuntimeError, KeyError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise UnreadableFileError(
            f"Expected a checkpoint of sclcs at {path}, but it cannot be read "
            f"({type(error).__name__}); remove it to start again."
        ) from error
    if found != expected_identity:
        raise InputError(
            f"The checkpoint {path} belongs to another cohort, seed or settings; "
            "remove it or name another file."
        )
    if epoch > epochs:
        raise InputError(
            f"The checkpoint {path} is at epoch {epoch}, past the {epochs} epochs asked for; "
            "ask for more epochs or name another file."
        )
    return content
