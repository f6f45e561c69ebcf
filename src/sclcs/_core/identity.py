"""What a result depends on, written down in one form, and the digest that stands for it.

Whoever keeps a result (a stage of a run, a training, scores of operators, the cells of an
experiment, the lock of a store) declares an :class:`Identity` and compares digests. Nobody makes
hashes of facts on his own: a fact that is forgotten in one of ten places is a result that is
taken for current although it is not.
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

__all__ = [
    "Identity",
    "bytes_digest",
    "child_seed",
    "file_digest",
    "generator",
    "path_digest",
    "text_digest",
]


DIGITS = 16
BLOCK_BYTES = 1 << 20
LOCKS = ".lock"  # folders of locks inside stores are no content

Facts = Mapping[str, Any]


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
    inputs: Facts = field(default_factory=dict)
    parameters: Facts = field(default_factory=dict)
    versions: Facts = field(default_factory=dict)
    seeds: Facts = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON gives them back."""
        return dict(json.loads(self.text))

    @property
    def text(self) -> str:
        """The facts as JSON, the same whatever the order in which they were declared."""
        names = ("kind", "inputs", "parameters", "versions", "seeds")
        facts = {name: getattr(self, name) for name in names}
        return json.dumps(_canonical(facts), sort_keys=True)

    def digest(self, digits: int = DIGITS) -> str:
        """Return hexadecimal digits that stand for the facts."""
        return text_digest(self.text, digits)

    def differences(self, recorded: Facts, parts: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the facts in which a recorded identity differs.

        Parameters
        ----------
        recorded : mapping
            From :meth:`to_dict`, perhaps by another version of the package.
        parts : tuple of str
            Parts to compare, for example ``("versions",)``; all by default.

        Returns
        -------
        dict
            By name: the fact as it was recorded (None if it was not) and as it is.
        """
        own = self.to_dict()
        found: dict[str, Any] = {}
        for part in parts or ("inputs", "parameters", "versions", "seeds"):
            known = recorded.get(part)
            before: Facts = known if isinstance(known, Mapping) else {}
            for name in {**before, **own[part]}:
                was, now = before.get(name), own[part].get(name)
                if was != now:
                    found[name] = (was, now)
        return found


def _canonical(value: Any) -> Any:  # noqa: ANN401
    """Turn a fact into JSON values, without losing what tells it from another."""
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
        f"A fact of an identity must be made of texts, numbers, lists and mappings, "
        f"but {value!r} is {type(value).__name__}."
    )


def text_digest(text: str, digits: int = DIGITS) -> str:
    """Return hexadecimal digits that stand for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


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
    """Return a digest of a file's content, or of the names and contents in a folder.

    None if nothing is there.
    """
    if path.is_dir():
        return _tree_digest(path)
    return file_digest(path) if path.exists() else None


def _tree_digest(folder: Path) -> str:
    lines = []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != LOCKS)
        for name in sorted(files):
            path = Path(root) / name
            lines.append(f"{path.relative_to(folder).as_posix()}\n{file_digest(path)}\n")
    return text_digest("".join(lines))


_SEPARATOR = b"\x1f"  # ASCII unit separator: cannot be confused with a part of a name


def child_seed(base: int, *axes: object) -> int:
    """Hash a base seed and axis names into a seed of 63 bits.

    Parameters
    ----------
    base : int
        The user's seed.
    *axes : object
        What the seed is for, from coarse to fine, for example
        ``("simulate", "subject", 12)``. Compared by ``repr``.

    Returns
    -------
    int
        Between 0 and 2**63 - 1.

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
