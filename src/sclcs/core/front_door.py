"""Front doors of rooms: public names that are loaded when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    room: str, homes: Mapping[str, str], more: Sequence[str] = (), rooms: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    room : str
        Its ``__name__``.
    homes : mapping
        By public name: the module that it lives in.
    more : sequence of str
        Public names that are there already.
    rooms : sequence of str
        Packages inside it that can be used without importing them first.

    Returns
    -------
    tuple of callable
    """

    def load(name: str) -> Any:  # noqa: ANN401
        if name in rooms:
            return import_module(f"{room}.{name}")
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return load, lambda: sorted([*homes, *more, *rooms])
