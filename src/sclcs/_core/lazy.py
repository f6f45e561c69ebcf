"""Front doors of rooms: public names that are loaded when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from sclcs._core.errors import MissingDependencyError

__all__ = ["import_extra", "lazy_names"]


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


def import_extra(module: str, extra: str) -> ModuleType:
    """Import a module of an optional extra, or say how to install it.

    Parameters
    ----------
    module : str
        Dotted module name, for example ``"nilearn.maskers"``.
    extra : str
        The extra of this package that brings it, for example ``"nifti"``.

    Returns
    -------
    module
        The imported module.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # the package is there, but something it needs is broken
        raise MissingDependencyError.for_extra(package, extra) from error
