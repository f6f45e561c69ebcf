"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

python tools/lowest_versions.py > lowest.txt && pip install --constraint lowest.txt '.[nifti,dask]'
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def lowest_versions(extras: tuple[str, ...] = ("nifti", "dask", "mne")) -> list[str]:
    """Return ``name==floor`` of every dependency, and of those of `extras`.

    Parameters
    ----------
    extras : tuple of str
        torch is left out: its old versions bring several GB of CUDA.

    Returns
    -------
    list of str
    """
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return sorted({re.sub(r"^([\w.-]+)>=([\d.]+).*$", r"\1==\2", line) for line in wanted})


if __name__ == "__main__":
    print("\n".join(lowest_versions()))
