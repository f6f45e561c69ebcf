"""From one 4-D image to the mean signals of its regions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.readers.nifti_confounds import Confounds
from sclcs.cohort.readers.nifti_image import load_image, make_image, to_grid
from sclcs.cohort.readers.nifti_regions import Parcellation
from sclcs.core.errors import InputError, UnreadableFileError

__all__ = ["Cleaning", "Extraction"]


@dataclass(frozen=True)
class Cleaning:
    """What nilearn does to the signals besides regressing confounds out.

    Parameters
    ----------
    low_pass, high_pass : float or None
        Cut-off frequencies in Hz.
    detrend : bool
        Whether a linear trend is removed.
    smoothing : float or None
        Full width at half maximum of a spatial filter, in mm.
    """

    low_pass: float | None = None
    high_pass: float | None = None
    detrend: bool = False
    smoothing: float | None = None

    def __post_init__(self) -> None:
        for name in ("low_pass", "high_pass", "smoothing"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"Expected {name} above 0 and finite, got {value}.")
        if self.low_pass and self.high_pass and self.high_pass >= self.low_pass:
            raise InputError(
                f"Expected high_pass below low_pass (the band between them is kept), got "
                f"high_pass {self.high_pass} Hz and low_pass {self.low_pass} Hz."
            )

    @property
    def needs_tr(self) -> bool:
        """Whether frequencies matter."""
        return self.low_pass is not None or self.high_pass is not None

    def masker_options(self, tr: float | None) -> dict[str, Any]:
        """Return the options of a nilearn masker."""
        return {
            "low_pass": self.low_pass,
            "high_pass": self.high_pass,
            "detrend": self.detrend,
            "smoothing_fwhm": self.smoothing,
            "standardize": None,  # scaling is a choice of the windows, not of the reader
            "t_r": tr if self.needs_tr else None,
            "reports": False,
        }


@dataclass(frozen=True)
class Extraction:
    """How signals are taken from an image.

    Parameters
    ----------
    parcellation : Parcellation
        The regions.
    confounds : Confounds
        What is regressed out.
    cleaning : Cleaning
        What else is done.
    mask : Path or None
        A 3-D image of the voxels that may be used.
    """

    parcellation: Parcellation
    confounds: Confounds
    cleaning: Cleaning
    mask: Path | None = None

    def signals(self, path: Path, tr: float | None) -> NDArray[np.float64]:
        """Take the signals (region, time) from one image.

        Parameters
        ----------
        path : Path
            A 4-D image.
        tr : float or None
            Its repetition time in seconds; needed by filters.

        Returns
        -------
        ndarray
            NaN where a region has no voxel in the image.
        """
        volumes, affine = load_image(path, 4)
        finite = np.isfinite(volumes.sum(axis=3, dtype=np.float64))
        volumes[~finite] = 0.0
        valid = finite & self._inside_mask(affine, finite.shape)
        options = self.cleaning.masker_options(tr)
        covered, masker = self.parcellation.masker(affine, valid, options)
        if not covered.any():
            raise UnreadableFileError(
                f"Expected regions inside the image {path}, found none; is it in MNI space?"
            )
        confounds, kept = self.confounds.load(path)
        try:
            means = masker.fit().transform(
                make_image(volumes, affine), confounds=confounds, sample_mask=kept
            )
        except ValueError as error:
            raise UnreadableFileError(
                f"nilearn could not take signals from {path} ({error}); check the image and the "
                "options."
            ) from error
        signals = np.full((len(self.parcellation.regions), means.shape[0]), np.nan)
        signals[covered] = means.T
        return signals

    def _inside_mask(
        self, affine: NDArray[np.float64], shape: tuple[int, ...]
    ) -> NDArray[np.bool_]:
        if self.mask is None:
            return np.ones(shape, dtype=np.bool_)
        mask, mask_affine = load_image(self.mask, 3)
        return to_grid((mask != 0).astype(np.int8), mask_affine, affine, shape).astype(np.bool_)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values, for the provenance."""
        strategy = self.confounds.strategy
        return {
            "mask": None if self.mask is None else str(self.mask),
            "confounds": strategy if isinstance(strategy, str) else list(strategy),
            "confound_options": dict(self.confounds.options),
            **asdict(self.cleaning),
        }
