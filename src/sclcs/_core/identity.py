"""What a result depends on, written down in one form, and the digest that stands for it.

Whoever keeps a result (a stage of a run, a training, scores of operators, the lock of a store)
declares an :class:`Identity` and compares digests. Nobody hashes such things on his own: what is
forgotten in one of ten modules is a result that is taken for current although it is not.

Seeds are made here as well: the user's seed, hashed with the names of what it is for.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import numpy as np

DIGITS = 16
BLOCK_BYTES = 1 << 20
LOCKS = ".lock"  # folders of locks inside stores are no content
PARTS = ("inputs", "parameters", "versions", "seeds")

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Identity:
    """Everything that decides a result.

    Two results of the same identity are the same numbers. What only decides where they are kept
    or how fast they come (folders, processes, memory) is no part of it.

    Parameters
    ----------
    kind : str
        What the result is, for example ``"encoder"``.
    inputs : mapping
        Fingerprints, digests, sample ids.
    parameters : mapping
        What the user may choose.
    versions : mapping
        Of the algorithms, raised by whoever makes them give other numbers.
    seeds : mapping
        Of everything random.

    Examples
    --------
    >>> one = Identity("draw", seeds={"draw": 1})
    >>> one.digest() == Identity("draw", seeds={"draw": 1}).digest()
    True
    >>> one.digest() == Identity("draw", seeds={"draw": 2}).digest()
    False
    """

    kind: str
    inputs: Values = field(default_factory=dict)
    parameters: Values = field(default_factory=dict)
    versions: Values = field(default_factory=dict)
    seeds: Values = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as JSON gives them back."""
        return dict(json.loads(self.text))

    @property
    def text(self) -> str:
        """The values as JSON, the same whatever the order in which they were declared."""
        values = {name: getattr(self, name) for name in ("kind", *PARTS)}
        return json.dumps(_canonical(values), sort_keys=True)

    def digest(self, digits: int = DIGITS) -> str:
        """Return hexadecimal digits that stand for the values."""
        return text_digest(self.text, digits)

    def differences(self, recorded: Values, parts: tuple[str, ...] = PARTS) -> dict[str, Any]:
        """Return in what a recorded identity differs.

        Parameters
        ----------
        recorded : mapping
            From :meth:`to_dict`, perhaps by another version of the package.
        parts : tuple of str
            Parts to compare, for example ``("versions",)``.

        Returns
        -------
        dict
            By name: the value as it was recorded (None if it was not) and as it is.
        """
        own = self.to_dict()
        found: dict[str, Any] = {}
        for part in parts:
            known = recorded.get(part)
            before: Values = known if isinstance(known, Mapping) else {}
            for name in {**before, **own[part]}:
                was, now = before.get(name), own[part].get(name)
                if was != now:
                    found[name] = (was, now)
        return found


def _canonical(value: Any) -> Any:  # noqa: ANN401
    """Return a value as JSON can hold it, without losing what tells it from another."""
    if hasattr(value, "item") and not isinstance(value, Mapping):  # a numpy scalar
        value = value.item()
    if isinstance(value, Identity):
        return json.loads(value.text)
    if isinstance(value, Mapping):
        return {str(name): _canonical(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"An identity must be made of strings, numbers, lists and mappings, "
        f"but {value!r} is {type(value).__name__}."
    )


def text_digest(text: str, digits: int = DIGITS) -> str:
    """Return hexadecimal digits that stand for a string."""
    return bytes_digest(text.encode("utf-8", "surrogatepass"), digits)


def bytes_digest(content: bytes, digits: int = DIGITS) -> str:
    """Return hexadecimal digits that stand for bytes."""
    return hashlib.sha256(content).hexdigest()[:digits]


def file_digest(path: Path) -> str:
    """Return a digest of a file's content."""
    content = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            content.update(block)
    return content.hexdigest()[:DIGITS]


def path_digest(path: Path) -> str | None:
    """Return a digest of a file, or of the names and contents in a folder; None if absent."""
    if not path.is_dir():
        return file_digest(path) if path.exists() else None
    lines = []
    for root, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if name != LOCKS)
        for name in sorted(files):
            file = Path(root) / name
            lines.append(f"{file.relative_to(path).as_posix()}\n{file_digest(file)}\n")
    return text_digest("".join(lines))


_SEPARATOR = b"\x1f"  # ASCII unit separator: cannot be confused with a part of a name


def child_seed(base: int, *axes: object) -> int:
    """Hash a base seed and axis names into a seed between 0 and 2**63 - 1.

    Parameters
    ----------
    base : int
        The user's seed.
    *axes : object
        What the seed is for, from coarse to fine, for example
        ``("simulate", "subject", 12)``. Compared by ``repr``.

    Examples
    --------
    >>> child_seed(0, "draw") == child_seed(0, "draw")
    True
    >>> child_seed(0, "draw", 1) == child_seed(0, "draw", 2)
    False
    """
    parts = [repr(int(base)), *(repr(axis) for axis in axes)]
    digest = hashlib.sha256(_SEPARATOR.join(part.encode() for part in parts)).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(base: int, *axes: object) -> np.random.Generator:
    """Return a numpy generator seeded by :func:`child_seed`."""
    return np.random.Generator(np.random.PCG64(child_seed(base, *axes)))
