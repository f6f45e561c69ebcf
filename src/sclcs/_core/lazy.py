"""Modules of optional extras."""

from __future__ import annotations

import importlib
from types import ModuleType

from sclcs._core.errors import MissingDependencyError

__all__ = ["import_extra"]


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
