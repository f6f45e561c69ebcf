"""Which nuisance signals of fMRIPrep are removed, through nilearn's ``load_confounds``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.core.errors import InputError, UnknownNameError, UnreadableFileError, name_first
from sclcs.core.optional import import_extra

__all__ = ["COMPONENTS", "NO_CONFOUNDS", "PRESETS", "Confounds"]

NO_CONFOUNDS = "none"
PRESETS = ("simple", "scrubbing", "compcor", "ica_aroma")
COMPONENTS = (
    "motion",
    "high_pass",
    "wm_csf",
    "global_signal",
    "compcor",
    "ica_aroma",
    "scrub",
    "non_steady_state",
)


@dataclass(frozen=True)
class Confounds:
    """A choice of nuisance signals.

    Parameters
    ----------
    strategy : str or sequence of str
        ``"none"``, a preset of nilearn (:data:`PRESETS`), or noise components
        (:data:`COMPONENTS`; a list, or one string separated by commas).
    options : mapping
        Passed to ``load_confounds``: ``motion``, ``fd_threshold``, ``n_compcor``, ...
    """

    strategy: str | Sequence[str] = NO_CONFOUNDS
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [name for name in self.components if name not in COMPONENTS]
        if unknown:
            raise UnknownNameError(
                f"Expected confounds {NO_CONFOUNDS!r}, a preset ({', '.join(PRESETS)}) or noise "
                f"components ({', '.join(COMPONENTS)}), got unknown {name_first(unknown)}."
            )
        if self.options and not self:
            raise InputError(
                f"Confound options ({name_first(self.options)}) need confounds; choose a preset "
                f"such as confounds='simple' (--confounds simple)."
            )

    def __bool__(self) -> bool:
        return self.strategy != NO_CONFOUNDS

    @property
    def components(self) -> list[str]:
        """The noise components asked for, if no preset is."""
        if self.strategy == NO_CONFOUNDS or self.strategy in PRESETS:
            return []
        if isinstance(self.strategy, str):
            return [name.strip() for name in self.strategy.split(",")]
        return list(self.strategy)

    def load(self, image: Path) -> tuple[pd.DataFrame | None, NDArray[np.int64] | None]:
        """Load the nuisance signals of one image.

        Parameters
        ----------
        image : Path
            A preprocessed image of fMRIPrep with its confounds file beside it.

        Returns
        -------
        confounds : DataFrame or None
            One column per signal.
        kept : ndarray of int or None
            The volumes that stay; None if all do. Volumes before the steady state and
            those that scrubbing finds go.
        """
        if not self:
            return None, None
        module = import_extra("nilearn.interfaces.fmriprep", "nifti")
        self._require_known_options(module.load_confounds)
        try:
            if self.strategy in PRESETS:
                return module.load_confounds_strategy(  # type: ignore[no-any-return]
                    str(image), denoise_strategy=self.strategy, **self.options
                )
            return module.load_confounds(  # type: ignore[no-any-return]
                str(image), strategy=tuple(self.components), **self.options
            )
        except (ValueError, KeyError, OSError) as error:
            reason = " ".join(str(error).split())
            raise UnreadableFileError(
                f"Expected fMRIPrep confounds for {self._said()} beside {image}, but they cannot "
                f"be used ({reason}); make them again or choose other confounds."
            ) from error

    def _require_known_options(self, load_confounds: Any) -> None:  # noqa: ANN401
        known = [n for n in inspect.signature(load_confounds).parameters if n != "img_files"]
        known.remove("strategy")
        unknown = [name for name in self.options if name not in known]
        if unknown:
            raise UnknownNameError(
                f"Unknown confound options {name_first(unknown)}; nilearn knows {', '.join(known)}."
            )

    def _said(self) -> str:
        return str(self.strategy) if self.strategy in PRESETS else ", ".join(self.components)
