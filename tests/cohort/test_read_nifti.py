"""The reader of 4-D images: signals are compared with means computed by hand."""

import json

import numpy as np
import pandas as pd
import pytest
from pipeline_trees import read_nifti

from sclcs._core import (
    InputError,
    MissingDependencyError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
)
from sclcs.cohort.readers import nifti as nifti_extraction
from sclcs.cohort.regions import region_set

nibabel = pytest.importorskip("nibabel")
pytest.importorskip("nilearn")

SHAPE = (24, 27, 17)  # 6 mm voxels around the default-mode regions, unequal on purpose
AFFINE = np.array([[6.0, 0, 0, -72], [0, 6.0, 0, -86], [0, 0, 6.0, -35], [0, 0, 0, 1]])
LENGTH = 41
REGIONS = region_set("dosenbach-dmn33")


def read(images, **options):
    if isinstance(images, list):
        images = images[0] if len(images) == 1 else images[0].parent
    return read_nifti(images, **({"atlas": "dosenbach-dmn33", "confounds": "none"} | options))


SPACE = "space-MNI152NLin2009cAsym"


def volumes_of(seed, length=LENGTH):
    rng = np.random.default_rng(seed)
    return (1000 + 10 * rng.normal(size=(*SHAPE, length))).astype(np.float32)


def save(volumes, path, affine=AFFINE, tr=2.5, unit="sec"):
    image = nibabel.Nifti1Image(volumes, affine)
    if volumes.ndim == 4:
        image.header.set_zooms((*image.header.get_zooms()[:3], tr))
        image.header.set_xyzt_units("mm", unit)
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(image, path)
    return path


def coordinates():
    """Centres of the 33 regions, read from nilearn's own table by atlas number."""
    from nilearn.datasets import fetch_coords_dosenbach_2010

    table = fetch_coords_dosenbach_2010(ordered_regions=False)
    by_number = {int(label.rsplit(" ", 1)[1]): row for row, label in enumerate(table.labels)}
    return table.rois.to_numpy()[[by_number[number] for number in REGIONS.numbers]]


def sphere_means(volumes, radius=5.0):
    """Brute force: all voxels within the radius, and the one nearest to the centre."""
    grid = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij"), axis=-1)
    points = grid @ AFFINE[:3, :3].T + AFFINE[:3, 3]
    means = []
    for centre in coordinates():
        distance = np.linalg.norm(points - centre, axis=-1)
        nearest = np.round((centre - AFFINE[:3, 3]) / 6.0)
        inside = (distance <= radius) | (grid == nearest).all(axis=-1)
        means.append(volumes[inside].mean(axis=0, dtype=np.float64))
    return np.array(means)


def bold(folder, subject, session, run, desc="preproc"):
    name = f"sub-{subject}_ses-{session}_task-rest_run-{run}_{SPACE}_desc-{desc}_bold.nii.gz"
    return folder / f"sub-{subject}" / f"ses-{session}" / "func" / name


def write_confounds(image, seed, length=LENGTH):
    """fMRIPrep's table and its JSON, with two jerks and one dummy volume."""
    rng = np.random.default_rng(seed + 1000)
    table = pd.DataFrame(
        {f"{kind}_{axis}": rng.normal(size=length) for kind in ("trans", "rot") for axis in "xyz"}
    )
    table["csf"], table["white_matter"] = rng.normal(size=(2, length))
    table["framewise_displacement"] = 0.1
    table.loc[0, "framewise_displacement"] = np.nan
    table.loc[[20, 30], "framewise_displacement"] = 2.0
    table["std_dvars"] = 1.0
    table["non_steady_state_outlier00"] = (np.arange(length) == 0).astype(int)
    start = image.name.partition("_space")[0]
    path = image.with_name(f"{start}_desc-confounds_timeseries.tsv")
    table.to_csv(path, sep="\t", na_rep="n/a", index=False)
    path.with_suffix(".json").write_text("{}")
    return table


@pytest.fixture
def fmriprep(tmp_path):
    """Two subjects, two sessions; sidecars beside the images, labels at the root."""
    folder = tmp_path / "study" / "derivatives" / "fmriprep"
    for subject in ("01", "02"):
        for session in ("1", "2"):
            seed = int(subject + session)
            image = save(volumes_of(seed), bold(folder, subject, session, 1), tr=9.0)
            name = image.name.replace(".nii.gz", ".json")
            image.with_name(name).write_text(json.dumps({"RepetitionTime": 2.2}))
            write_confounds(image, seed)
    (folder.parent.parent / "participants.tsv").write_text(
        "participant_id\tsex\nsub-01\tF\nsub-02\tM\n"
    )
    return folder


def test_spheres_of_a_derivative(fmriprep):
    scans = read(fmriprep)
    assert scans.regions == REGIONS.names
    assert scans.tr == 2.2, "the sidecar beats the header"
    assert list(scans.table.index) == [
        f"sub-{s}_ses-{v}_task-rest_run-1" for s in ("01", "02") for v in "12"
    ]
    assert scans.table["sex"].tolist() == ["F", "F", "M", "M"]
    assert scans.table["session"].tolist() == ["1", "2", "1", "2"]
    for scan, seed in zip(scans, (11, 12, 21, 22), strict=True):
        expected = sphere_means(volumes_of(int(f"0{seed}")))
        np.testing.assert_allclose(scan.load(), expected, rtol=1e-6, err_msg=scan.scan_id)
    assert scans.provenance["options"]["radius"] == 5.0
    assert scans.provenance["options"]["confounds"] == "none"


def test_known_values_and_radius(tmp_path):
    """Each region gets its own constant slope, painted wider than its sphere."""
    volumes = np.zeros((*SHAPE, 7), np.float32)
    isolated = [REGIONS.names.index(name) for name in ("vmPFC_1", "vFC_25", "occipital_137")]
    grid = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij"), axis=-1)
    points = grid @ AFFINE[:3, :3].T + AFFINE[:3, 3]
    for place in isolated:
        near = np.linalg.norm(points - coordinates()[place], axis=-1) <= 12
        volumes[near] = (place + 1) * np.arange(1, 8)
    path = save(volumes, tmp_path / "scan.nii.gz")
    for radius in (4.0, 8.0):
        signals = read([path], radius=radius)[0].load()
        for place in isolated:
            np.testing.assert_allclose(signals[place], (place + 1) * np.arange(1, 8))


def test_overlapping_spheres_are_independent(fmriprep):
    volumes = volumes_of(11)
    signals = read(fmriprep, radius=9.0, session="1")[0].load()
    np.testing.assert_allclose(signals, sphere_means(volumes, 9.0), rtol=1e-6)


def test_nothing_is_read_before_it_is_used(fmriprep, monkeypatch):
    opened = []
    original = nifti_extraction.load_image
    monkeypatch.setattr(
        nifti_extraction,
        "load_image",
        lambda path, n: opened.append(path.name) or original(path, n),
    )
    scans = read(fmriprep)
    assert opened == []
    scans[2].load()
    assert opened == [bold(fmriprep, "02", "1", 1).name]


def test_confounds_are_regressed_out_and_scrubbed_volumes_cut(fmriprep):
    scans = read(
        fmriprep,
        confounds="motion,wm_csf,scrub",
        confound_options={"motion": "basic", "scrub": 0, "fd_threshold": 0.5},
    )
    assert scans.table["volumes_removed"].tolist() == [3] * 4
    kept = np.setdiff1d(np.arange(LENGTH), [0, 20, 30])
    image = bold(fmriprep, "01", "1", 1)
    table = write_confounds(image, 11)
    nuisance = table[[c for c in table if c.startswith(("trans", "rot", "csf", "white"))]]
    nuisance = nuisance.to_numpy()[kept]
    nuisance = nuisance - nuisance.mean(axis=0)
    raw = sphere_means(volumes_of(11))[:, kept].T
    expected = raw - nuisance @ np.linalg.lstsq(nuisance, raw, rcond=None)[0]
    signals = scans[0].load()
    assert signals.shape == (33, LENGTH - 3)
    np.testing.assert_allclose(signals, expected.T, rtol=1e-5)
    options = scans.provenance["options"]
    assert options["confounds"] == "motion,wm_csf,scrub"
    assert options["confound_options"]["fd_threshold"] == 0.5


def test_missing_confounds_are_named_and_skipped(fmriprep):
    image = bold(fmriprep, "02", "2", 1)
    next(image.parent.glob("*confounds_timeseries.tsv")).unlink()
    scans = read(fmriprep, confounds="motion", confound_options={"motion": "basic"})
    assert len(scans) == 3
    with pytest.raises(UnreadableFileError, match=r"sub-02_ses-2.*Could not find"):
        scans.to_cohort(window=10, stride=10)
    excluded = scans.to_cohort(window=10, stride=10, on_bad="skip").provenance["excluded"]
    assert [p["where"] for p in excluded] == ["sub-02_ses-2_task-rest_run-1"]


def test_preset_needs_its_columns(fmriprep):
    with pytest.raises(UnreadableFileError, match=r"confounds for compcor.*cannot be used"):
        read(fmriprep, confounds="compcor")


def test_everything_scrubbed_is_too_short(fmriprep):
    image = bold(fmriprep, "01", "1", 1)
    table = write_confounds(image, 11)
    table["framewise_displacement"] = 3.0
    path = next(image.parent.glob("*confounds_timeseries.tsv"))
    table.to_csv(path, sep="\t", na_rep="n/a", index=False)
    options = {"motion": "basic", "scrub": 0}
    with pytest.warns(RuntimeWarning, match="[Aa]ll volumes"):
        scans = read(fmriprep, confounds="motion,scrub", confound_options=options)
    with pytest.raises(InputError, match=r"sub-01_ses-1.*no time points left by scrubbing"):
        scans.to_cohort(window=10, stride=10)


def test_band_pass(tmp_path):
    time = np.arange(120) * 2.0
    slow, fast = np.sin(2 * np.pi * 0.05 * time), np.sin(2 * np.pi * 0.2 * time)
    volumes = np.broadcast_to(100 + slow + fast, (*SHAPE, 120)).astype(np.float32)
    path = save(np.array(volumes), tmp_path / "scan.nii.gz", tr=2000, unit="msec")
    scans = read(path, low_pass=0.1, high_pass=0.01)
    assert scans.tr == 2.0, "milliseconds in the header"
    signal = scans[0].load()[0, 20:-20]
    assert abs(np.corrcoef(signal, slow[20:-20])[0, 1]) > 0.99
    assert abs(signal @ fast[20:-20]) < 0.05 * abs(signal @ slow[20:-20])
    assert scans.provenance["options"]["low_pass"] == 0.1


def test_filter_without_repetition_time(tmp_path):
    path = save(volumes_of(1), tmp_path / "scan.nii.gz", tr=0)
    with pytest.raises(InputError, match=r"repetition time.*scan.*--tr"):
        read([path], low_pass=0.1)
    assert read([path], low_pass=0.1, tr=3).tr == 3.0


def label_volumes():
    labels = np.zeros(SHAPE, np.int16)
    labels[2:5, 3:9, 4:6], labels[10:14, 12:15, 8:12], labels[20:22, 20:25, 3:5] = 7, 2, 30
    return labels


def test_label_image_with_names(tmp_path):
    labels = label_volumes()
    atlas = save(labels, tmp_path / "atlas.nii.gz")
    names = tmp_path / "atlas_dseg.tsv"
    names.write_text("index\tname\n0\tbackground\n2\tmiddle\n7\tleft\n30\tback\n99\tunused\n")
    volumes = volumes_of(4)
    path = save(volumes, tmp_path / "scans" / "s1.nii")
    scans = read(path.parent, atlas=atlas, atlas_names=names)
    assert scans.regions == ("middle", "left", "back")
    expected = [volumes[labels == value].mean(axis=0, dtype=np.float64) for value in (2, 7, 30)]
    np.testing.assert_allclose(scans[0].load(), expected, rtol=1e-5)
    assert scans[0].scan_id == scans[0].subject == "s1"
    assert read([path], atlas=atlas).regions == ("label-2", "label-7", "label-30")
    chosen = read([path], atlas=atlas, regions=["label-30"])
    np.testing.assert_allclose(chosen[0].load(), expected[2:], rtol=1e-5)


def test_label_image_on_a_finer_grid(tmp_path):
    labels = np.kron(label_volumes(), np.ones((2, 2, 2), np.int16))
    affine = AFFINE @ np.diag([0.5, 0.5, 0.5, 1.0])
    affine[:3, 3] = AFFINE[:3, 3] - 1.5  # the same voxels cut in eight
    atlas = save(labels, tmp_path / "atlas.nii.gz", affine)
    volumes = volumes_of(4)
    path = save(volumes, tmp_path / "s1.nii.gz")
    expected = [volumes[label_volumes() == v].mean(axis=0, dtype=np.float64) for v in (2, 7, 30)]
    np.testing.assert_allclose(read([path], atlas=atlas)[0].load(), expected, rtol=1e-5)


def test_regions_outside_the_image_are_named(tmp_path):
    cut = save(volumes_of(1)[:, :-3], tmp_path / "cut.nii.gz")  # without the frontal pole
    whole = save(volumes_of(2), tmp_path / "whole.nii.gz")
    scans = read([cut, whole])
    signals = scans[0].load()
    assert np.isnan(signals[0]).all()
    np.testing.assert_allclose(signals[-1], sphere_means(volumes_of(1))[-1], rtol=1e-6)
    with pytest.raises(InputError, match=r"NaN.*cut \(vmPFC_1\)"):
        scans.to_cohort(window=10, stride=10)
    cohort = scans.to_cohort(window=10, stride=10, on_bad="skip")
    assert cohort.samples["subject"].unique().tolist() == ["whole"]


def test_masked_and_empty_voxels_are_not_used(tmp_path):
    """SPM writes NaN outside the brain; a mask does the same to other images."""
    volumes = volumes_of(3)
    outside = np.zeros(SHAPE, bool)
    outside[:12] = True
    mask = save((~outside).astype(np.uint8), tmp_path / "mask.nii.gz")
    masked = read([save(volumes, tmp_path / "a.nii.gz")], mask=mask)[0].load()
    with_nan = volumes.copy()
    with_nan[outside] = np.nan
    finite = read([save(with_nan, tmp_path / "b.nii.gz")])[0].load()
    np.testing.assert_allclose(masked, finite, rtol=1e-6)
    left = coordinates()[:, 0] < -10
    assert np.isnan(finite[left]).all()
    right = coordinates()[:, 0] > 10
    np.testing.assert_allclose(finite[right], sphere_means(volumes)[right], rtol=1e-6)


@pytest.mark.parametrize("ending", [".nii.gz", ".nii"])
@pytest.mark.parametrize("share", [0.001, 0.6])
def test_truncated_images(tmp_path, ending, share):
    bad = save(volumes_of(1), tmp_path / f"bad{ending}")
    content = bad.read_bytes()
    bad.write_bytes(content[: int(len(content) * share)])
    good = save(volumes_of(2), tmp_path / f"good{ending}")
    scans = read([bad, good])
    with pytest.raises(UnreadableFileError, match=rf"bad{ending}.*truncated"):
        scans.to_cohort(window=10, stride=10)
    cohort = scans.to_cohort(window=10, stride=10, on_bad="skip", out=tmp_path / "cohort")
    assert cohort.samples["subject"].unique().tolist() == ["good"]
    assert cohort.provenance["excluded"][0]["kind"] == "unreadable"


def test_other_formats(tmp_path):
    text = tmp_path / "text.nii.gz"
    text.write_text("not an image")
    flat = save(volumes_of(1)[..., 0], tmp_path / "flat.nii.gz")
    with pytest.raises(UnreadableFileError, match=r"text\.nii\.gz.*another format"):
        read([text])
    with pytest.raises(UnreadableFileError, match=r"Expected a 4-D image.*found 3-D"):
        read([flat])
    scan = save(volumes_of(1), tmp_path / "scan.nii.gz")
    with pytest.raises(UnreadableFileError, match="whole numbers"):
        read([scan], atlas=flat)


def test_labels_for_plain_files(tmp_path):
    paths = [save(volumes_of(i), tmp_path / "scans" / f"p{i}.nii") for i in (1, 2)]
    table = tmp_path / "labels.csv"
    table.write_text("subject,group\np1,a\np3,c\n")
    scans = read(str(tmp_path / "scans" / "*.nii"), labels=table)
    assert [scan.metadata["group"] for scan in scans] == ["a"]
    assert {p.kind: p.where for p in scans.problems} == {"missing-label": "p2", "extra-label": "p3"}
    assert scans.tr == 2.5, "from the header"
    assert len(read(paths)) == 2


def test_of_several_spaces_the_only_one_of_mni_is_taken(fmriprep):
    image = bold(fmriprep, "01", "1", 1)
    save(volumes_of(0), image.with_name(image.name.replace(SPACE, "space-T1w")))
    np.testing.assert_array_equal(read(fmriprep)[0].load(), read(image)[0].load())
    save(volumes_of(0), image.with_name(image.name.replace(SPACE, "space-MNI152NLin6Asym")))
    with pytest.raises(InputError, match=r"space \(.*MNI152NLin6Asym.*\).*--space"):
        read(fmriprep)
    assert len(read(fmriprep, space="MNI152NLin2009cAsym")) == 4


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"atlas": "dosenbach-99"}, UnknownNameError, "one of dosenbach-dmn33"),
        ({"atlas": "missing.nii.gz"}, NotFoundError, "missing.nii.gz, but nothing is there"),
        ({"radius": 0.0}, InputError, "`radius` must be a number above 0"),
        ({"confounds": "motoin"}, UnknownNameError, r"presets? .*unknown motoin"),
        ({"confound_options": {"motion": "full"}}, InputError, "need confounds"),
        ({"low_pass": 0.01, "high_pass": 0.1}, InputError, "high_pass below low_pass"),
        ({"session": "9"}, UnknownNameError, "found are 1, 2"),
        (
            {"confounds": "motion", "confound_options": {"x": 1}},
            UnknownNameError,
            "unexpected keyword argument 'x'",
        ),
    ],
)
def test_wrong_options(fmriprep, options, error, message):
    with pytest.raises(error, match=message):
        read(fmriprep, **options)


def test_nothing_there(tmp_path):
    with pytest.raises(NotFoundError, match="nowhere"):
        read(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"\.nii\.gz files"):
        read(tmp_path)


def test_missing_extra_is_named(fmriprep, monkeypatch):
    def refuse(module):
        raise ImportError(name=module)

    monkeypatch.setattr("importlib.import_module", refuse)
    with pytest.raises(MissingDependencyError, match=r"sclcs\[nifti\]"):
        read(fmriprep)
