"""Small trees of files with the names and layouts that pipelines leave, made with their tools.

After the documentation of each: XCP-D (outputs), C-PAC (outputs of version 1.8), HALFpipe (README),
the CONN handbook, UK Biobank's parcellated time series, HCP's file names, MNE-Python.
"""

import gzip
import json
from functools import partial

import nibabel as nib
import numpy as np
import pandas as pd
from nibabel.cifti2 import Cifti2Image, ParcelsAxis, SeriesAxis
from scipy.io import savemat

from sclcs.cohort import read_scans

REGIONS = ("LH_Vis_1", "LH_Default_1", "RH_Default_1", "RH_Limbic_1", "Hippocampus")
AFFINE = np.diag([10.0, 10.0, 10.0, 1.0])
read_arrays = partial(read_scans, kind="arrays")
read_bids = partial(read_scans, kind="bids")
read_conn = partial(read_scans, kind="conn")
read_mne = partial(read_scans, kind="mne")
read_ukb = partial(read_scans, kind="ukb")
read_nifti = partial(read_scans, kind="nifti")
read_mdd = partial(read_scans, kind="rest-meta-mdd")


def series(seed, length=30, regions=REGIONS):
    """Time x region."""
    return np.random.default_rng(seed).normal(size=(length, len(regions)))


def write_ptseries(path, values, regions=REGIONS, tr=0.72):
    """A parcellated CIFTI file, as wb_command -cifti-parcellate leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    voxels = [np.array([[k, 0, 0]]) for k in range(len(regions))]
    parcels = ParcelsAxis(
        list(regions),
        voxels,
        [{} for _ in regions],
        affine=AFFINE,
        volume_shape=(9, 2, 2),
        nvertices={},
    )
    axis = SeriesAxis(start=0, step=tr, size=len(values), unit="SECOND")
    nib.save(Cifti2Image(values.astype(np.float32), header=(axis, parcels)), path)
    return path


def write_xcp_d(
    root,
    subjects=("01", "02", "03", "04"),
    *,
    length=30,
    missing=(),
    low_coverage=(),
    regions=REGIONS,
):
    """XCP-D: tables, CIFTI beside them, coverage tables; n/a where nothing is covered."""
    folder = root / "derivatives" / "xcp_d"
    for number, subject in enumerate(subjects):
        func = folder / f"sub-{subject}" / "func"
        func.mkdir(parents=True)
        stem = f"sub-{subject}_task-rest_space-fsLR_seg-4S156Parcels"
        values = series(number, length, regions)
        if subject in missing:
            values[:, 3] = np.nan
        table = pd.DataFrame(values, columns=regions)
        table.to_csv(func / f"{stem}_stat-mean_timeseries.tsv", sep="\t", index=False, na_rep="n/a")
        sidecar = {"RepetitionTime": 2.0, "SamplingFrequency": "TR"}
        (func / f"{stem}_stat-mean_timeseries.json").write_text(json.dumps(sidecar))
        write_ptseries(
            func / f"{stem}_den-91k_stat-mean_timeseries.ptseries.nii", values, regions, tr=2.0
        )
        covered = [1.0, 0.9, 0.3 if subject in low_coverage else 1.0, 1.0, 0.8]
        covered += [1.0] * (len(regions) - 5)
        if subject in missing:
            covered[3] = 0.1
        pd.DataFrame({"Node": regions, "coverage": covered}).to_csv(
            func / f"{stem}_stat-coverage_bold.tsv", sep="\t", index=False
        )
    write_participants(root, subjects)
    return folder


def write_participants(root, subjects):
    rows = [f"sub-{name}\t{('MDD', 'HC')[k % 2]}\t{20 + k}" for k, name in enumerate(subjects)]
    text = "\n".join(["participant_id\tdiagnosis\tage", *rows, ""])
    (root / "participants.tsv").write_text(text)


def write_cpac(root, subjects=("0050952", "0050953"), length=30):
    """C-PAC 1.8: one .1D per atlas and set of regressors, a comment with the labels above."""
    folder = root / "output" / "pipeline_cpac-default-pipeline"
    for number, subject in enumerate(subjects):
        func = folder / f"sub-{subject}" / "ses-1" / "func"
        func.mkdir(parents=True)
        scan = f"sub-{subject}_ses-1_task-rest_run-1"
        for reg in ("36Parameter", "aCompCor"):
            name = f"{scan}_atlas-CC200_space-MNI152NLin6ASym_reg-{reg}_desc-Mean_timeseries.1D"
            shift = 0 if reg == "36Parameter" else 100
            header = "\t".join(f"#{k}" for k in range(1, 6))
            np.savetxt(
                func / name,
                series(number + shift, length),
                delimiter="\t",
                header=header,
                comments="",
            )
    write_participants(folder, subjects)
    return folder


def write_halfpipe(root, subjects=("01", "02"), ending="tsv", length=30):
    """HALFpipe: a folder per task, tables without a header, rate and coverage in the JSON."""
    folder = root / "derivatives" / "halfpipe"
    for number, subject in enumerate(subjects):
        func = folder / f"sub-{subject}" / "func" / "task-rest"
        func.mkdir(parents=True)
        stem = f"sub-{subject}_task-rest_feature-corrMatrix1_atlas-schaefer2018"
        np.savetxt(func / f"{stem}_timeseries.{ending}", series(number, length), delimiter="\t")
        facts = {"SamplingFrequency": 0.5, "Coverage": [1.0, 0.9, 0.8, 0.2 * (number + 1), 1.0]}
        (func / f"{stem}_timeseries.json").write_text(json.dumps(facts))
    write_participants(root, subjects)
    return folder


CONN_NAMES = ("Grey Matter", "White Matter", "CSF", "atlas.PCC", "atlas.MPFC", "networks.DMN.LP")


def write_conn(root, subjects=3, version="v5", conditions=(0, 1), *, length=40, sessions=1):
    """CONN: cell arrays data and names; weights of the condition (here a rest block)."""
    folder = root / "conn_study" / "results" / "preprocessing"
    folder.mkdir(parents=True)
    write = savemat if version == "v5" else save_v73
    for number in range(1, subjects + 1):
        rng = np.random.default_rng(number)
        data = np.empty((1, len(CONN_NAMES)), dtype=object)
        names = np.empty((1, len(CONN_NAMES)), dtype=object)
        for k, name in enumerate(CONN_NAMES):
            # White matter comes with its principal components.
            data[0, k] = rng.normal(size=(length, 16 if name == "White Matter" else 1))
            names[0, k] = name
        for condition in conditions:
            content = {"data": data, "names": names}
            if version == "v5":
                numbers = np.repeat(np.arange(1, sessions + 1), length // sessions)
                content["data_sessions"] = numbers[:, None].astype(float)
            if condition:
                weights = np.empty((1, 1), dtype=object)
                weights[0, 0] = np.repeat([1.0, 0.0], [length - 5, 5])[:, None]
                content["conditionweights"] = weights
            write(folder / f"ROI_Subject{number:03d}_Condition{condition:03d}.mat", content)
    (folder / "_list_conditions.txt").write_text(
        "\n".join(f"Condition{c:03d} = {('', 'rest', 'task')[c]}" for c in conditions if c)
    )
    return root / "conn_study"


def save_v73(path, content):
    """Cell arrays as MATLAB's -v7.3 writes them: HDF5 datasets of references."""
    import h5py

    with h5py.File(path, "w") as file:
        for name, cells in content.items():
            kind = h5py.ref_dtype
            stored = file.create_dataset(name, cells.T.shape, dtype=kind)
            stored.attrs["MATLAB_class"] = np.bytes_("cell")
            for place in np.ndindex(cells.T.shape):
                stored[place] = _v73_value(file, f"{name}{place[0]}", cells.T[place]).ref


def _v73_value(file, name, value):
    group = file.require_group("#refs#")
    if isinstance(value, str):
        made = group.create_dataset(name, data=np.array([[ord(c)] for c in value], dtype=np.uint16))
        made.attrs["MATLAB_class"] = np.bytes_("char")
        return made
    made = group.create_dataset(name, data=np.asarray(value).T)
    made.attrs["MATLAB_class"] = np.bytes_("double")
    return made


def write_ukb(
    root,
    people=("1000012_2", "1000012_3", "1000027_2"),
    atlas="Tian_Subcortex_S1_3T",
    length=30,
):
    """UK Biobank: region x time with the region's name first, compressed."""
    for number, person in enumerate(people):
        folder = root / person / "fMRI"
        folder.mkdir(parents=True, exist_ok=True)
        table = pd.DataFrame(
            series(number, length).T, columns=[f"timepoint_{k}" for k in range(length)]
        )
        table.insert(0, "label_name", REGIONS)
        table.to_csv(folder / f"fMRI.{atlas}.csv.gz", index=False)
    return root


def write_hcp(
    root,
    subjects=("100307", "100408"),
    runs=("rfMRI_REST1_LR", "rfMRI_REST2_LR"),
    length=30,
):
    """HCP: a folder per subject and run."""
    for number, subject in enumerate(subjects):
        for k, run in enumerate(runs):
            name = f"{run}_Atlas_MSMAll_hp2000_clean.ptseries.nii"
            path = root / subject / "MNINonLinear" / "Results" / run / name
            write_ptseries(path, series(10 * number + k, length + 2 * k))
    return root


def write_dpabi(root, subjects=("Sub001", "Sub002", "Sub003"), length=30):
    """DPABI: signals as .mat and text, correlations beside them."""
    folder = root / "Results" / "ROISignals_FunImgARCWF"
    folder.mkdir(parents=True)
    for number, subject in enumerate(subjects):
        values = series(number, length)
        savemat(folder / f"ROISignals_{subject}.mat", {"ROISignals": values})
        np.savetxt(folder / f"ROISignals_{subject}.txt", values)
        savemat(folder / f"ROICorrelation_{subject}.mat", {"ROICorrelation": np.eye(5)})
    return root


def write_gretna(root, subjects=("ASD29539", "TC29552"), length=30):
    """GRETNA: text without a header, a column per region; matrices in folders beside it."""
    for number, subject in enumerate(subjects):
        for name, values in (("TimeCourse", series(number, length)), ("SFCMatrixR", np.eye(5))):
            folder = root / f"Gretna{name}"
            folder.mkdir(parents=True, exist_ok=True)
            prefix = "r" if name == "SFCMatrixR" else ""
            np.savetxt(folder / f"{prefix}{subject}.txt", values, delimiter="\t")
    return root


def write_own_mat(root, subjects=("p01", "p02", "p03"), region_first=True):
    """A lab's own script: a folder per person, signals and their correlations in one file."""
    for number, subject in enumerate(subjects):
        values = series(number, 30 + number)
        names = np.array(REGIONS, dtype=object)[:, None]
        (root / subject).mkdir(parents=True)
        content = {"ts": values.T if region_first else values, "fc": np.eye(5), "labels": names}
        savemat(root / subject / "roi.mat", content)
    return root


def write_fmriprep(root, subjects=("01", "02"), length=60):
    """fMRIPrep: images, confounds and their JSON; a label image of three regions beside them."""
    folder = root / "derivatives" / "fmriprep"
    rng = np.random.default_rng(1)
    for subject in subjects:
        func = folder / f"sub-{subject}" / "func"
        func.mkdir(parents=True)
        stem = f"sub-{subject}_task-rest"
        image = nib.Nifti1Image(rng.normal(100, 1, (6, 5, 4, length)).astype(np.float32), AFFINE)
        image.header.set_zooms((10, 10, 10, 2))
        image.header.set_xyzt_units("mm", "sec")
        nib.save(image, func / f"{stem}_space-MNI152NLin2009cAsym_desc-preproc_bold.nii.gz")
        table = pd.DataFrame(rng.normal(size=(length, 9)))
        table.columns = [
            *(f"{kind}_{axis}" for kind in ("trans", "rot") for axis in "xyz"),
            "csf", "white_matter", "cosine00",
        ]  # fmt: skip
        for name in list(table.columns[:6]):
            for end in ("derivative1", "power2", "derivative1_power2"):
                table[f"{name}_{end}"] = rng.normal(size=length)
        table["framewise_displacement"] = 0.1
        path = func / f"{stem}_desc-confounds_timeseries.tsv"
        table.to_csv(path, sep="\t", index=False)
        path.with_suffix(".json").write_text("{}")
    labels = np.zeros((6, 5, 4), dtype=np.int16)
    labels[:2], labels[2:4], labels[4:] = 1, 2, 3
    nib.save(nib.Nifti1Image(labels, AFFINE), root / "atlas.nii.gz")
    made = [{"Name": "fMRIPrep", "Version": "25.1"}]
    description = {"Name": "x", "GeneratedBy": made}
    (folder / "dataset_description.json").write_text(json.dumps(description))
    write_participants(root, subjects)
    return folder


def compress(path):
    """Replace a file by its .gz."""
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
