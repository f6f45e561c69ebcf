"""Atlases by name: what nilearn brings or fetches, and what is said without a network."""

import numpy as np
import pytest

from sclcs._core import NotFoundError, UnknownNameError
from sclcs.cohort.readers.atlases import known_atlases, parcellation

nib = pytest.importorskip("nibabel")
datasets = pytest.importorskip("nilearn.datasets")


def write_schaefer(folder, count=100):
    """The files of Schaefer's atlas, as nilearn keeps them after a download; few voxels."""
    place = folder / "schaefer_2018"
    place.mkdir(parents=True)
    stem = f"Schaefer2018_{count}Parcels_7Networks_order"
    labels = np.zeros((5, 5, 6), dtype=np.int16)
    labels.ravel()[:count] = np.arange(1, count + 1)
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    nib.save(nib.Nifti1Image(labels, affine), place / f"{stem}_FSLMNI152_2mm.nii.gz")
    rows = [f"{k}\t7Networks_LH_Vis_{k}\t120\t18\t{k}\t0" for k in range(1, count + 1)]
    (place / f"{stem}.txt").write_text("\n".join(rows) + "\n")
    return folder


def test_an_atlas_that_was_fetched_before_needs_no_network(tmp_path):
    atlas = parcellation("schaefer100", data_dir=write_schaefer(tmp_path))
    assert len(atlas.regions) == 100
    assert atlas.regions[1] == "7Networks_LH_Vis_2"
    assert atlas.values.tolist() == list(range(1, 101))
    assert atlas.labels.shape == (5, 5, 6)


def test_without_a_network_the_error_says_how_to_bring_the_files(tmp_path, monkeypatch):
    def offline(**options):
        raise ConnectionError(f"no route to host for {options['n_rois']}")

    monkeypatch.setattr(datasets, "fetch_atlas_schaefer_2018", offline)
    with pytest.raises(NotFoundError) as raised:
        parcellation("Schaefer400-17", data_dir=tmp_path)
    message = str(raised.value)
    assert "no route to host for 400" in message
    assert "fetch_atlas_schaefer_2018(data_dir=FOLDER, n_rois=400, yeo_networks=17" in message
    assert "--data-dir" in message


def test_every_fetched_atlas_is_a_function_of_nilearn_with_these_arguments():
    import inspect

    from sclcs.cohort.readers.atlases import _LABEL_IMAGES

    for name, (function, options) in _LABEL_IMAGES.items():
        known = inspect.signature(getattr(datasets, function)).parameters
        assert {*options, "data_dir", "verbose"} <= set(known), name


@pytest.mark.parametrize(("name", "count"), [("dosenbach160", 160), ("power264", 264)])
def test_coordinates_come_with_nilearn(name, count):
    atlas = parcellation(name, radius=4.0)
    assert atlas.centres.shape == (count, 3)
    assert len(set(atlas.regions)) == count


def test_unknown_names_and_bad_radii(tmp_path):
    assert "aal" in known_atlases()
    with pytest.raises(UnknownNameError, match=r"Did you mean schaefer400\?"):
        parcellation("shaefer400")
