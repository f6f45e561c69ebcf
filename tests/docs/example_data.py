"""Small files with the names and layouts that the documentation uses."""

import json

import numpy as np
import pandas as pd

SEED = 15


def prepare(page, folder):
    """Make the files that a page's commands read."""
    rng = np.random.default_rng(SEED)
    for maker in MAKERS.get(page, ()):
        maker(folder, rng)


def make_arrays(folder, rng):
    lengths = np.array([240, 232, 230, 150])
    signals = np.full((4, 240, 6), np.nan, dtype=np.float32)
    for scan, length in enumerate(lengths):
        signals[scan, :length] = rng.normal(size=(length, 6))
    np.savez(
        folder / "scans.npz",
        timeseries=signals,
        n_timepoints=lengths,
        subject=np.array(["s1", "s2", "s3", "s4"]),
        diagnosis=np.array(["ASD", "ASD", "TC", "TC"]),
        site=np.array(["NYU", "UM", "NYU", "UM"]),
        roi_names=np.array([f"roi{i}" for i in range(6)]),
        tr=np.array(2.0),
    )


def make_scan_folder(folder, rng):
    (folder / "timeseries").mkdir()
    header = "\t".join(f"#{i}" for i in range(1, 6))
    for subject in ("sub01", "sub02", "sub03"):
        path = folder / "timeseries" / f"{subject}_rois.1D"
        np.savetxt(path, rng.normal(size=(120, 5)), delimiter="\t", header=header, comments="")
    (folder / "labels.csv").write_text("subject,diagnosis\nsub01,MDD\nsub02,HC\nsub03,HC\n")


def make_rest_meta_mdd(folder, rng):
    from scipy.io import savemat

    root = folder / "REST-meta-MDD" / "Results" / "ROISignals_FunImgARglobalCWF"
    root.mkdir(parents=True)
    ids = ["S15-1-0001", "S15-2-0001", "S20-1-0001", "S20-2-0001", "S25-1-0001"]
    for name in ids:
        savemat(root / f"ROISignals_{name}.mat", {"ROISignals": rng.normal(size=(230, 1833))})
    pd.DataFrame({"ID": ids, "Sex": [1, 2, 1, 2, 2], "Age": [30, 41, 25, 38, 52]}).to_csv(
        folder / "phenotype.csv", index=False
    )
    cells = np.empty((len(ids), 1), dtype=object)
    cells[:, 0] = ids
    listed = {"SubID": cells, "Dx": [[1], [-1], [1], [-1], [1]]}
    listed |= {name: [[value] for value in (30, 41, 25, 38, 52)] for name in ("Age", "Edu")}
    listed |= {"Sex": [[1], [2], [1], [2], [2]], "Motion": [[0.1]] * 5}
    savemat(folder / "Stat_Sub_Info_848MDDvs794NC.mat", listed)


def make_xcp_d(folder, rng, subjects=("01", "02", "03")):
    root = folder / "study"
    regions = [f"LH_Default_{i}" for i in range(1, 8)]
    for subject in subjects:
        for session in ("1", "2"):
            func = root / "derivatives" / "xcp_d" / f"sub-{subject}" / f"ses-{session}" / "func"
            func.mkdir(parents=True)
            stem = f"sub-{subject}_ses-{session}_task-rest_space-MNI152NLin2009cAsym"
            table = pd.DataFrame(rng.normal(size=(160, 7)), columns=regions)
            name = f"{stem}_seg-4S156Parcels_stat-mean_timeseries"
            table.to_csv(func / f"{name}.tsv", sep="\t", index=False)
            (func / f"{name}.json").write_text(json.dumps({"RepetitionTime": 0.8}))
    rows = [f"sub-{name}\t{('ASD', 'TC')[k % 2]}\t{11 + k}" for k, name in enumerate(subjects)]
    (root / "participants.tsv").write_text("\n".join(["participant_id\tdiagnosis\tage", *rows, ""]))


def make_fmriprep(folder, rng):
    import nibabel as nib

    affine = np.diag([6.0, 6.0, 6.0, 1.0])
    affine[:3, 3] = [-90, -126, -72]
    for subject in ("01", "02", "03"):
        func = folder / "study" / "derivatives" / "fmriprep" / f"sub-{subject}" / "func"
        func.mkdir(parents=True)
        image = nib.Nifti1Image(rng.normal(size=(31, 38, 31, 90)).astype(np.float32) + 100, affine)
        image.header.set_zooms((6.0, 6.0, 6.0, 2.0))
        stem = f"sub-{subject}_task-rest"
        space = "space-MNI152NLin2009cAsym_desc-preproc_bold"
        nib.save(image, func / f"{stem}_{space}.nii.gz")
        motion = [f"{kind}_{axis}" for kind in ("trans", "rot") for axis in "xyz"]
        columns = [f"{name}{end}" for name in motion for end in ("", "_derivative1")]
        columns += [f"{name}_power2" for name in columns]
        columns += ["csf", "white_matter", "cosine00", "cosine01"]
        table = pd.DataFrame(rng.normal(size=(90, len(columns))), columns=columns)
        table.to_csv(func / f"{stem}_desc-confounds_timeseries.tsv", sep="\t", index=False)
        (func / f"{stem}_desc-confounds_timeseries.json").write_text("{}")


def make_pipelines(folder, rng):
    """Trees of every pipeline of the tutorial, with names and layouts of their own."""
    import pipeline_trees as trees

    people = [f"{k:02d}" for k in range(1, 7)]
    trees.write_xcp_d(folder / "study", people, length=160, missing=("02", "03"))
    trees.write_cpac(folder / "cpac", people, length=160)
    trees.write_halfpipe(folder / "half", people, length=160)
    trees.write_conn(folder, subjects=6, length=160)
    rows = [f"{k},{('MDD', 'HC')[k % 2]}" for k in range(1, 7)]
    (folder / "subjects.csv").write_text("\n".join(["subject,diagnosis", *rows]) + "\n")
    visits = [f"10000{k}_{visit}" for k in range(1, 4) for visit in (2, 3)]
    trees.write_ukb(folder / "ukb", visits, length=160)
    trees.write_hcp(folder / "hcp", length=160)
    make_eeg(folder, rng)


def make_eeg(folder, rng):
    import mne

    for subject in ("01", "02", "03"):
        place = folder / "eeg" / f"sub-{subject}" / "eeg"
        place.mkdir(parents=True)
        info = mne.create_info(["Fz", "Cz", "Pz", "Oz"], 100.0, "eeg")
        raw = mne.io.RawArray(rng.normal(size=(4, 1200)) * 1e-5, info, verbose="ERROR")
        raw.save(place / f"sub-{subject}_task-rest_raw.fif", verbose="ERROR")


def make_tutorial_study(folder, rng):
    """An XCP-D study of eight participants with two sessions."""
    make_xcp_d(folder, rng, subjects=[f"{k:02d}" for k in range(1, 9)])


def make_tutorial_abide(folder, rng):
    """A cohort with ABIDE's columns and words, small enough for a test."""
    from sclcs import Cohort, simulate_cohort

    made = simulate_cohort(28, 3, 5, length=50, stride=25, seed=SEED, group=0.2)
    samples = made.samples.assign(
        diagnosis=made.samples["diagnosis"].map({"MDD": "ASD", "HC": "TC"})
    )
    Cohort(made.signals, samples, made.regions, 2.0).save(folder / "abide.zarr")


def make_gallery(folder, rng):
    """Images of 24 people, six regions; in half of them two regions go together."""
    import nibabel as nib

    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    atlas = np.repeat(np.arange(1, 7), 8).reshape(6, 2, 4)
    nib.save(nib.Nifti1Image(atlas.astype(np.int32), affine), folder / "atlas.nii.gz")
    rows = []
    for k in range(24):
        signals = rng.normal(size=(6, 90))
        signals[1] += 1.5 * (k % 2) * signals[0]
        image = signals[atlas - 1] + 0.1 * rng.normal(size=(*atlas.shape, 90)) + 100
        nib.save(nib.Nifti1Image(image.astype(np.float32), affine), folder / f"sub-{k:02d}.nii.gz")
        rows.append((f"scan{k:02d}", f"sub-{k:02d}", 0, ("control", "patient")[k % 2]))
    table = pd.DataFrame(rows, columns=["scan", "subject", "window", "diagnosis"])
    table.to_csv(folder / "participants.csv", index=False)


MAKERS = {
    "docs/gallery.md": (make_gallery,),
    "docs/cohorts.md": (
        make_arrays,
        make_scan_folder,
        make_rest_meta_mdd,
        make_xcp_d,
        make_fmriprep,
    ),
    "docs/tutorials/abide.md": (make_tutorial_abide,),
    "docs/tutorials/bids.md": (make_tutorial_study,),
    "docs/tutorials/rest_meta_mdd.md": (make_rest_meta_mdd,),
    "docs/tutorials/pipelines.md": (make_pipelines,),
}
