"""The arrays reader on folders with one file per scan."""

import numpy as np
import pandas as pd
import pytest
from pipeline_trees import read_arrays

from sclcs._core import InputError, UnreadableFileError

# Unequal sizes, so that swapped axes cannot pass.
N_SCANS, N_TIMES, N_REGIONS = 4, 23, 5
NAMES = ["vmPFC", "ACC", "IPL", "IPS", "precuneus"]

ENDINGS = {
    ".csv;": (".csv", ";"),
    ".tsv": (".tsv", "\t"),
    ".txt": (".txt", " "),
    ".txt two spaces": (".txt", "  "),
    ".1D": (".1D", "\t"),
}


@pytest.fixture
def cube():
    """Signals (scan, time, region) without two equal values."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(N_SCANS, N_TIMES, N_REGIONS)).astype(np.float32)


def write_scans(folder, cube, ending=".csv", header=None, names="abcd"):
    """Write one file per scan; the ending may say how cells are separated: ``.csv;``."""
    suffix, sep = ENDINGS.get(ending, (ending, ","))
    folder.mkdir()
    for name, scan in zip(names, cube, strict=True):
        head = "" if header is None else header + "\n"
        rows = "\n".join(sep.join(repr(float(v)) for v in row) for row in scan)
        (folder / f"{name}{suffix}").write_text(head + rows + "\n")
    return folder


@pytest.mark.parametrize(
    ("ending", "header", "names"),
    [
        (".csv", ",".join(NAMES), NAMES),
        (".csv;", ";".join(NAMES), NAMES),
        (".csv", None, None),
        (".csv", "0,1,2,3,4", list("01234")),
        (".tsv", "\t".join(NAMES), NAMES),
        (".txt", None, None),
        (".txt two spaces", None, None),
        (
            ".1D",
            "#2001\t#2002\t#2003\t#2004\t#2005",
            ["2001", "2002", "2003", "2004", "2005"],
        ),
        (".1D", "# made by C-PAC 1.8\n#1\t#2\t#3\t#4\t#5", list("12345")),
        (".1D", "# no names here", None),
    ],
)
def test_folder_of_text_files(tmp_path, cube, ending, header, names):
    folder = write_scans(tmp_path / "scans", cube, ending, header)
    scans = read_arrays(folder, layout="auto" if header else "time-region")
    assert [scan.scan_id for scan in scans] == ["a", "b", "c", "d"]
    assert scans.regions == tuple(names or [f"region-{i}" for i in range(N_REGIONS)])
    for scan, expected in zip(scans, cube, strict=True):
        np.testing.assert_array_equal(scan.signals(), expected.T)


def test_folder_of_pandas_files_with_an_index(tmp_path, cube):
    folder = tmp_path / "scans"
    folder.mkdir()
    pd.DataFrame(cube[0], columns=NAMES).to_csv(folder / "a.csv")
    scans = read_arrays(folder)
    assert scans.regions == tuple(NAMES)
    np.testing.assert_allclose(scans[0].signals(), cube[0].T, rtol=1e-6)


def test_folder_of_npy_files_region_by_time(tmp_path, cube):
    folder = tmp_path / "scans"
    folder.mkdir()
    for name, scan in zip("abcd", cube, strict=True):
        np.save(folder / f"{name}.npy", scan.T)
    scans = read_arrays(folder, layout="region-time")
    np.testing.assert_array_equal(scans[3].signals(), cube[3].T)


def test_folder_of_text_files_region_by_time(tmp_path, cube):
    folder = write_scans(tmp_path / "scans", cube.transpose(0, 2, 1), ".txt")
    scans = read_arrays(folder, layout="region-time")
    assert len(scans.regions) == N_REGIONS
    np.testing.assert_array_equal(scans[3].signals(), cube[3].T)


def test_folder_with_labels_pattern_and_suffix(tmp_path, cube):
    names = [f"Pitt_005000{i}_rois_dosenbach160" for i in range(N_SCANS)]
    folder = write_scans(tmp_path / "scans", cube, ".1D", "#1\t#2\t#3\t#4\t#5", names)
    (folder / "labels.csv").write_text(
        "SUB_ID,FILE_ID,DX_GROUP\n"
        + "".join(f"5000{i},Pitt_005000{i},{i % 2}\n" for i in range(N_SCANS))
    )
    scans = read_arrays(folder, labels=folder / "labels.csv", regions=["4", "2"])
    assert [scan.scan_id for scan in scans] == [f"Pitt_005000{i}" for i in range(N_SCANS)]
    assert [scan.subject for scan in scans] == [f"5000{i}" for i in range(N_SCANS)]
    assert [scan.metadata["dx_group"] for scan in scans] == [0, 1, 0, 1]
    assert not scans.problems
    np.testing.assert_array_equal(scans[1].signals(), cube[1][:, [3, 1]].T)
    assert len(read_arrays(folder, pattern="*2_*.1D")) == 1


def test_folder_with_an_atlas_in_order(tmp_path):
    atlas = np.random.default_rng(1).normal(size=(2, 9, 160)).astype(np.float32)
    header = "\t".join(f"#{number}" for number in range(1, 161))
    folder = write_scans(tmp_path / "scans", atlas, ".1D", header, "ab")
    scans = read_arrays(folder, regions="dosenbach-dmn33")
    assert scans.regions[1] == "mPFC_4"
    np.testing.assert_array_equal(scans[1].signals()[1], atlas[1][:, 3])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found none"),
        (b"vmPFC,ACC,IPL,IPS,precuneus\n", "below the header"),
        (b"vmPFC,ACC,IPL,IPS,precuneus\n1,2,3,4,5\n1,2", "found 2 in line 3; the file is cut off"),
        (b"vmPFC,ACC,IPL,IPS,precuneus\n1,2,3,4,x\n", "could not convert string to float: 'x'"),
        (b"\x89HDF\r\n\x1a\n\xff\xfe", "binary"),
    ],
)
def test_bad_file_in_a_folder_is_one_scan_lost(tmp_path, cube, content, message):
    folder = write_scans(tmp_path / "scans", cube, header=",".join(NAMES))
    (folder / "bad.csv").write_bytes(content)
    scans = read_arrays(folder)
    with pytest.raises(UnreadableFileError, match=message) as caught:
        scans.to_cohort(window=10, stride=10)
    assert "bad.csv" in str(caught.value)
    cohort = scans.to_cohort(window=10, stride=10, on_bad="skip")
    assert cohort.n_subjects == N_SCANS
    assert [e["where"] for e in cohort.provenance["excluded"]] == ["bad"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("hippocampus,vmPFC,IPL,IPS,precuneus\n1,2,3,4,5\n", "lacks ACC and has also hippocampus"),
        ("1.5,2,3,4,5\n", "lacks ACC, IPL, IPS and 2 more and has also region-0"),
    ],
)
def test_other_regions_are_named_and_those_in_another_order_turned(tmp_path, cube, content, words):
    folder = write_scans(tmp_path / "scans", cube, header=",".join(NAMES))
    (folder / "bad.csv").write_text(content)
    turned = pd.DataFrame(cube[0][:, ::-1], columns=NAMES[::-1])
    turned.to_csv(folder / "turned.csv", index=False)
    scans = read_arrays(folder)
    with pytest.raises(InputError, match=rf"other regions.*bad \({words}"):
        scans.to_cohort()
    np.testing.assert_allclose(scans[-1].signals(), cube[0].T, rtol=1e-6)


def test_missing_cells_are_nan_not_damage(tmp_path, cube):
    folder = write_scans(tmp_path / "scans", cube, header=",".join(NAMES))
    rows = ["1,2,3,4,5"] * 5 + ["1,,3,n/a,5"]
    (folder / "holes.csv").write_text("\n".join([",".join(NAMES), *rows]))
    with pytest.raises(InputError, match=r"NaN or infinite values \(1\): holes \(ACC, IPS\)"):
        read_arrays(folder).to_cohort(window=6, stride=6)


def test_another_number_of_regions_is_named(tmp_path, cube):
    folder = write_scans(tmp_path / "scans", cube)
    (folder / "wide.csv").write_text("\n".join(["1,2,3,4,5,6.5"] * N_TIMES))
    scans = read_arrays(folder, layout="time-region")
    with pytest.raises(
        InputError, match=r"other regions.*wide \(6 regions, expected 5: has also region-5"
    ):
        scans.to_cohort(window=10, stride=10)


def test_another_atlas_never_passes_for_chosen_regions(tmp_path, cube):
    folder = write_scans(tmp_path / "scans", cube, header=",".join(NAMES))
    (folder / "narrow.csv").write_text("\n".join(["x,y", *["1,2"] * N_TIMES]))
    scans = read_arrays(folder, regions=["IPL", "ACC"])
    with pytest.raises(InputError, match=r"narrow \(2 regions, expected 5: lacks .* also x, y"):
        scans.to_cohort(window=10, stride=10)


def test_headers_must_not_repeat_a_region(tmp_path, cube):
    folder = write_scans(tmp_path / "scans", cube, header="a,b,c,d,a")
    with pytest.raises(InputError, match="repeated: a"):
        read_arrays(folder)


def test_folder_of_damaged_files_only(tmp_path):
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(UnreadableFileError, match=r"a\.npy"):
        read_arrays(tmp_path)


def lengths_of(folder, shapes, transpose):
    folder.mkdir()
    rng = np.random.default_rng(3)
    for number, shape in enumerate(shapes):
        matrix = rng.normal(size=shape)
        np.savetxt(folder / f"s{number}.txt", matrix.T if transpose else matrix)
    return folder


@pytest.mark.parametrize("turned", [False, True])
def test_the_time_axis_is_found_where_lengths_make_it_certain(tmp_path, turned):
    folder = lengths_of(tmp_path / "scans", [(30, 4), (25, 4), (33, 4)], turned)
    scans = read_arrays(folder)
    assert [scan.signals().shape for scan in scans] == [(4, 30), (4, 25), (4, 33)]


def test_the_time_axis_is_asked_for_where_sizes_allow_both(tmp_path):
    folder = lengths_of(tmp_path / "scans", [(30, 4), (30, 4)], transpose=True)
    with pytest.raises(InputError, match=r"\(4 x 30\) allow both.*--layout region-time"):
        read_arrays(folder)
    scans = read_arrays(folder, layout="region-time")
    assert scans[0].signals().shape == (4, 30)


def test_one_odd_file_does_not_turn_the_others(tmp_path):
    folder = lengths_of(tmp_path / "scans", [(30, 4)] * 4 + [(30, 5)], transpose=False)
    with pytest.raises(InputError, match="allow both"):
        read_arrays(folder)


def test_the_size_of_the_atlas_tells_the_time_axis(tmp_path):
    folder = lengths_of(tmp_path / "scans", [(160, 40), (160, 40)], transpose=False)
    scans = read_arrays(folder, regions="dosenbach-dmn33")
    assert scans[1].signals().shape == (33, 40)


@pytest.mark.parametrize("header", [True, False])
def test_rows_that_begin_with_the_name_of_a_region(tmp_path, header):
    values = np.random.default_rng(1).normal(size=(3, 12))
    table = pd.DataFrame(values, columns=[f"t{k}" for k in range(12)])
    table.insert(0, "region", ["PCC", "mPFC", "AG"])
    (tmp_path / "scans").mkdir()
    table.to_csv(tmp_path / "scans" / "a.csv.gz", index=False, header=header)
    scans = read_arrays(tmp_path / "scans")
    assert scans.regions == ("PCC", "mPFC", "AG")
    assert [scan.scan_id for scan in scans] == ["a"]
    np.testing.assert_allclose(scans[0].signals(), values, rtol=1e-6)


def test_compressed_text_and_what_a_cut_off_file_says(tmp_path, cube):
    folder = tmp_path / "scans"
    folder.mkdir()
    for name, scan in zip("ab", cube, strict=False):
        pd.DataFrame(scan, columns=NAMES).to_csv(folder / f"{name}.tsv.gz", sep="\t", index=False)
    scans = read_arrays(folder)
    assert scans.regions == tuple(NAMES)
    np.testing.assert_allclose(scans[1].signals(), cube[1].T, rtol=1e-6)
    content = (folder / "b.tsv.gz").read_bytes()
    (folder / "b.tsv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(UnreadableFileError, match="cut off or damaged"):
        read_arrays(folder).to_cohort(window=10, stride=10)


def test_sessions_in_the_names_of_files(tmp_path, cube):
    folder = tmp_path / "scans"
    folder.mkdir()
    for name, scan in zip(["sub-01_ses-a", "sub-01_ses-b", "sub-02_ses-a"], cube, strict=False):
        pd.DataFrame(scan, columns=NAMES).to_csv(folder / f"{name}.csv", index=False)
    scans = read_arrays(folder)
    assert [scan.subject for scan in scans] == ["sub-01", "sub-01", "sub-02"]
    assert [scan.metadata["session"] for scan in scans] == ["a", "b", "a"]
    assert [scan.scan_id for scan in scans] == ["sub-01_ses-a", "sub-01_ses-b", "sub-02_ses-a"]


def test_names_of_files_as_the_user_describes_them(tmp_path, cube):
    for subject, run in (("100307", "REST1_LR"), ("100307", "REST2_LR"), ("100408", "REST1_LR")):
        folder = tmp_path / "hcp" / subject / "Results" / run
        folder.mkdir(parents=True)
        pd.DataFrame(cube[0], columns=NAMES).to_csv(folder / "parcels.csv", index=False)
    options = {"pattern": "**/*.csv", "file_names": "{subject}/Results/{run}/*"}
    scans = read_arrays(tmp_path / "hcp", **options)
    assert [(scan.subject, scan.metadata["run"]) for scan in scans] == [
        ("100307", "REST1_LR"), ("100307", "REST2_LR"), ("100408", "REST1_LR"),
    ]  # fmt: skip
    assert scans[0].scan_id == "100307_run-REST1_LR"
    with pytest.raises(InputError, match="Expected names like"):
        read_arrays(tmp_path / "hcp", pattern="**/*.csv", file_names="{subject}_{session}")
    with pytest.raises(InputError, match=r"with the field \{subject\}"):
        read_arrays(tmp_path / "hcp", pattern="**/*.csv", file_names="{session}")


def write_smooth(folder, n=6, turned=False, ending=".txt", drift=0.0):
    """Scans of one length without headers: smooth in time, alike in their regions."""
    folder.mkdir()
    rng = np.random.default_rng(8)
    mixing = rng.normal(size=(9, 9))
    for number in range(n):
        white = rng.normal(size=(63, 9))
        scan = sum(white[k : k + 60] for k in range(4)) @ mixing
        scan += drift * np.linspace(-1, 1, 60)[:, None] * rng.normal(size=9)
        np.savetxt(folder / f"p{number}_rois{ending}", scan.T if turned else scan)
    return folder


@pytest.mark.parametrize("turned", [False, True])
def test_the_time_axis_is_found_by_what_scans_have_in_common(tmp_path, turned):
    scans = read_arrays(write_smooth(tmp_path / "scans", turned=turned))
    assert {scan.signals().shape for scan in scans} == {(9, 60)}


@pytest.mark.parametrize("unclear", [{"n": 4}, {"drift": 200.0}])
def test_few_scans_and_drifts_are_asked_about(tmp_path, unclear):
    with pytest.raises(InputError, match="allow both"):
        read_arrays(write_smooth(tmp_path / "scans", **unclear))


def test_the_time_axis_of_real_scans_is_never_mistaken(real_cohort_file):
    from sclcs.cohort.readers.series_files import rows_are_time

    rng = np.random.default_rng(0)
    with np.load(real_cohort_file, allow_pickle=False) as real:
        whole = np.flatnonzero((real["n_timepoints"] >= 175) & real["roi_valid"].all(axis=1))
        signals = real["timeseries"][whole, :175].astype(float)
    found = []
    for _ in range(40):
        some = signals[rng.choice(len(signals), 8, replace=False)]
        found.append(rows_are_time(some))
        assert rows_are_time(some.swapaxes(1, 2)) in {None, False}
    assert False not in found
    assert found.count(True) >= 36


def test_a_table_among_the_scans_is_their_labels(tmp_path):
    folder = write_smooth(tmp_path / "scans")
    table = "\n".join(["ID,dx", *(f"p{k},{'ab'[k % 2]}" for k in range(6))])
    (folder / "labels.csv").write_text(table)
    scans = read_arrays(folder)
    assert [scan.scan_id for scan in scans] == [f"p{k}" for k in range(6)]
    assert [scan.metadata["dx"] for scan in scans] == list("ababab")
    assert scans.provenance["labels"]["source"] == str(folder / "labels.csv")
    (folder / "more.csv").write_text(table)
    with pytest.raises(InputError, match=r"Several tables name the scans: .*more\.csv"):
        read_arrays(folder)
    (folder / "participants.tsv").write_text(table.replace(",", "\t"))  # BIDS' name comes first
    assert read_arrays(folder).provenance["labels"]["source"].endswith("participants.tsv")


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["a_ts", "b_ts"], ["a", "b"]),
        (["S20-1-0001", "S15-2-0001"], ["S20-1-0001", "S15-2-0001"]),
        (["x_pre_ts", "y_post_ts"], ["x_pre", "y_post"]),
        (["_ts", "a_ts"], ["_ts", "a_ts"]),
        (["one_ts"], ["one_ts"]),
    ],
)
def test_the_end_that_all_names_share_is_no_part_of_the_id(tmp_path, cube, names, ids):
    folder = write_scans(tmp_path / "scans", cube[: len(names)], ".1D", names=names)
    assert sorted(scan.scan_id for scan in read_arrays(folder)) == sorted(ids)


def test_a_folder_of_npz_files_with_one_matrix_each(tmp_path, cube):
    for name, scan in zip("ab", cube, strict=False):
        np.savez(tmp_path / f"{name}.npz", ts=scan, tr=2.0)
    scans = read_arrays(tmp_path, layout="time-region")
    np.testing.assert_array_equal(scans[1].signals(), cube[1].T)
    np.savez(tmp_path / "c.npz", ts=cube[0], fc=np.eye(5))
    scans = read_arrays(tmp_path, layout="time-region", key="ts")
    np.testing.assert_array_equal(scans[2].signals(), cube[0].T)
    with pytest.raises(UnreadableFileError, match=r"found ts, fc; name it with --key"):
        read_arrays(tmp_path, layout="time-region").to_cohort()
