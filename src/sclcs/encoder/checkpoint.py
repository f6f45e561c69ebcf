"""Checkpoints: an interrupted training continues and ends with the same bits."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch

from sclcs.core.errors import DamagedStoreError, InputError
from sclcs.core.files import explain_write_errors, remove_partials, write_bytes
from sclcs.core.gate import explain_damage
from sclcs.core.identity import bytes_digest

__all__ = ["read_checkpoint", "write_checkpoint"]

_SIGNATURE = b"\nsclcs:sha256:"


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Write a checkpoint in one step: a crash leaves the old one."""
    stream = io.BytesIO()
    torch.save(content, stream)
    payload = stream.getvalue()
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_partials(path.parent, path.name)
    write_bytes(path, payload + _SIGNATURE + bytes_digest(payload).encode())


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
    payload, signature, digest = path.read_bytes().rpartition(_SIGNATURE)
    if not signature or bytes_digest(payload).encode() != digest:
        raise DamagedStoreError(
            f"The checkpoint {path} is damaged, or was written before checkpoints were signed; "
            "remove it to start again."
        )
    with explain_damage(path, "a checkpoint of sclcs (remove it to start again)"):
        stream = io.BytesIO(payload)
        content: dict[str, Any] = torch.load(stream, map_location="cpu", weights_only=True)
        found, epoch = content["identity"], content["epoch"]
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
