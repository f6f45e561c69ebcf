"""ABIDE end to end: a local server with the layout of the public release."""

import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from sclcs._core import InputError, NotFoundError, UnknownNameError, UnreadableFileError
from sclcs.cohort import read_scans
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.readers.releases import _SECOND_PROTOCOL_TR, _SITE_TR
from sclcs.cohort.regions import region_set

pytest.importorskip("nilearn")


def read_abide(cache, **options):
    return read_scans(None, "abide", data_dir=cache, **options)


# The real table has 106 columns and begins like this; nilearn needs the quality columns.
HEADER = (
    ",Unnamed: 0,SUB_ID,X,subject,SITE_ID,FILE_ID,DX_GROUP,DSM_IV_TR,AGE_AT_SCAN,SEX,FIQ,"
    "MEDICATION_NAME,EYE_STATUS_AT_SCAN,func_mean_fd,qc_rater_1,qc_anat_rater_2,qc_func_rater_2,"
    "qc_anat_rater_3,qc_func_rater_3,SUB_IN_SMP"
)
PASSED = "OK,OK,maybe,OK,OK,1"
ROWS = (
    f"0,1,50002,1,50002,PITT,no_filename,1,1,16.77,1,103,,2,0.1168276402,{PASSED}",
    f"1,2,50003,2,50003,PITT,Pitt_0050003,1,1,24.45,1,124,Fluoxetine,2,0.3220915328,{PASSED}",
    f'2,3,50030,3,50030,PITT,Pitt_0050030,2,0,25.12,2,-9999,"A, B",1,0.0986120744,{PASSED}',
    "3,4,50036,4,50036,PITT,Pitt_0050036,2,0,13.28,2,103,,2,0.1,fail,OK,OK,OK,OK,0",
    f"4,5,50642,5,50642,CMU,CMU_a_0050642,1,1,33.0,1,110,,1,0.5,{PASSED}",
    f"5,6,50643,6,50643,CMU,CMU_b_0050643,1,1,30.0,1,,,2,0.25,{PASSED}",
)
LENGTHS = {"Pitt_0050003": 11, "Pitt_0050030": 13, "Pitt_0050036": 12, "CMU_a_0050642": 17,
           "CMU_b_0050643": 19}  # fmt: skip
FOLDER = "Outputs/ccs/filt_noglobal/rois_dosenbach160"


def signals_of(file_id):
    """Time x 160 regions."""
    rng = np.random.default_rng(int(file_id[-7:]))
    return 10000 + 100 * rng.normal(size=(LENGTHS[file_id], 160))


def write_release(root):
    (root / FOLDER).mkdir(parents=True)
    (root / "Phenotypic_V1_0b_preprocessed1.csv").write_text("\n".join([HEADER, *ROWS]) + "\n")
    for file_id in LENGTHS:
        write_series(root, file_id, [*range(1, 161), 223])


def write_series(root, file_id, labels):
    """As 3dROIstats of C-PAC writes: tabs, labels behind #, the overlap voxel last."""
    signals = np.column_stack([signals_of(file_id), np.full(LENGTHS[file_id], 7.0)])
    order = [160 if label == 223 else label - 1 for label in labels]
    lines = ["\t".join(f"#{label}" for label in labels)]
    lines += ["\t".join(repr(float(x)) for x in row) for row in signals[:, order]]
    path = root / FOLDER / f"{file_id}_rois_dosenbach160.1D"
    path.write_text("\n".join(lines) + "\n")
    return path


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        self.server.paths.append(self.path)


@pytest.fixture
def release(tmp_path):
    """The folder of the release, its address, and what was asked for."""
    root = tmp_path / "release"
    write_release(root)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(root)))
    server.paths = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield root, f"http://127.0.0.1:{server.server_port}", server.paths
    server.shutdown()
    server.server_close()
    thread.join()


def test_downloads_values_and_facts(release, tmp_path):
    _, url, _ = release
    scans = read_abide(tmp_path / "cache", url=url)
    chosen = region_set("dosenbach-dmn33")
    assert scans.regions == chosen.names
    assert list(scans.table.index) == [
        "Pitt_0050003",
        "Pitt_0050030",
        "CMU_a_0050642",
        "CMU_b_0050643",
    ], "no_filename and failed quality checks are left out"
    for scan in scans:
        rows = [number - 1 for number in chosen.numbers]
        np.testing.assert_array_equal(scan.load(), signals_of(scan.scan_id)[:, rows].T)
    table = scans.table
    assert table["subject"].tolist() == ["50003", "50030", "50642", "50643"]
    assert table["site"].tolist() == ["PITT", "PITT", "CMU", "CMU"]
    assert table["diagnosis"].tolist() == ["ASD", "TC", "ASD", "ASD"]
    assert table["sex"].tolist() == ["M", "F", "M", "M"]
    assert table["eye_status"].tolist() == ["closed", "open", "open", "closed"]
    np.testing.assert_array_equal(table["age"], [24.45, 25.12, 33.0, 30.0])
    np.testing.assert_array_equal(table["fiq"], [124, np.nan, 110, np.nan])
    np.testing.assert_array_equal(table["mean_fd"], [0.3220915328, 0.0986120744, 0.5, 0.25])
    assert table["tr"].tolist() == [1.5, 1.5, 2.0, 1.5]
    assert scans.tr is None
    assert scans.provenance["options"]["pipeline"] == "ccs"
    cohort = scans.to_cohort(window=5, stride=5, drop_first=1, mixed_tr="keep")
    assert len(cohort) == 2 + 2 + 3 + 3


def test_second_time_nothing_is_downloaded(release, tmp_path):
    _, url, asked = release
    first = read_abide(tmp_path / "cache", url=url)
    asked.clear()
    second = read_abide(tmp_path / "cache", url=url)
    assert asked == []
    np.testing.assert_array_equal(first[0].load(), second[0].load())


def test_choices(release, tmp_path):
    _, url, _ = release
    cache = tmp_path / "cache"
    assert len(read_abide(cache, url=url, quality_checked=False)) == 5
    assert len(read_abide(cache, url=url, subjects=1)) == 1
    pitt = read_abide(cache, url=url, sites=["PITT"])
    assert pitt.tr == 1.5
    assert "tr" not in pitt[0].metadata
    assert read_abide(cache, url=url, tr=2).tr == 2.0
    whole = read_abide(cache, url=url, regions="all")
    np.testing.assert_array_equal(whole[0].load(), signals_of("Pitt_0050003").T)
    named = read_abide(cache, url=url, regions=["IPS_134", "ACC_14"])
    np.testing.assert_array_equal(named[1].load(), signals_of("Pitt_0050030")[:, [133, 13]].T)


@pytest.mark.parametrize("labels", [[*range(1, 161)], [*range(160, 0, -1)], [223, *range(1, 161)]])
def test_columns_are_found_by_their_labels(release, tmp_path, labels):
    root, url, _ = release
    write_series(root, "Pitt_0050003", labels)
    scan = read_abide(tmp_path / "cache", url=url, regions="dosenbach-160", subjects=1)[0]
    np.testing.assert_array_equal(scan.load(), signals_of("Pitt_0050003").T)


def test_missing_column_matters_only_where_it_is_used(release, tmp_path):
    root, url, _ = release
    write_series(root, "Pitt_0050003", [n for n in range(1, 161) if n != 14])
    with pytest.raises(InputError, match=r"NaN.*Pitt_0050003 \(ACC_14\)"):
        read_abide(tmp_path / "cache", url=url).to_cohort(window=5, stride=5, mixed_tr="keep")
    cohort = read_abide(tmp_path / "cache", url=url, regions=["IPS_134", "vmPFC_1"]).to_cohort(
        window=5, stride=5, mixed_tr="keep"
    )
    assert "Pitt_0050003" in set(cohort.samples["scan"])


def test_failed_download_leaves_no_half_cohort(release, tmp_path):
    root, url, _ = release
    (root / FOLDER / "CMU_a_0050642_rois_dosenbach160.1D").unlink()
    with pytest.raises(NotFoundError, match=r"CMU_a_0050642_rois_dosenbach160\.1D.*run again"):
        read_abide(tmp_path / "cache", url=url)
    write_series(root, "CMU_a_0050642", [*range(1, 161), 223])
    assert len(read_abide(tmp_path / "cache", url=url)) == 4, "it goes on where it stopped"


def test_unreachable_address(tmp_path):
    with pytest.raises(NotFoundError, match="phenotype table"):
        read_abide(tmp_path / "cache", url="http://127.0.0.1:9")


def test_truncated_download_is_named(release, tmp_path):
    root, url, _ = release
    path = write_series(root, "Pitt_0050030", [*range(1, 161), 223])
    path.write_bytes(path.read_bytes()[:20000])
    scans = read_abide(tmp_path / "cache", url=url)
    with pytest.raises(UnreadableFileError, match=r"Pitt_0050030_rois.*Remove it to download"):
        scans.to_cohort(window=5, stride=5, mixed_tr="keep")
    cohort = scans.to_cohort(window=5, stride=5, mixed_tr="keep", on_bad="skip")
    assert "Pitt_0050030" not in set(cohort.samples["scan"])


def test_other_phenotype_file(release, tmp_path):
    root, url, _ = release
    (root / "Phenotypic_V1_0b_preprocessed1.csv").write_text("<html>moved</html>\n")
    with pytest.raises(UnreadableFileError, match=r"phenotype table.*remove it"):
        read_abide(tmp_path / "cache", url=url)


def test_unknown_names(release, tmp_path):
    _, url, _ = release
    with pytest.raises(UnknownNameError, match="Unknown sites: X; the release has CMU, PITT"):
        read_abide(tmp_path / "cache", url=url, sites=["X"])
    with pytest.raises(InputError, match="ccs, cpac, dparsf"):
        read_abide(tmp_path / "cache", url=url, pipeline="fsl")


def shared_npz():
    for parent in Path(__file__).resolve().parents:
        path = parent / "shared" / "data" / "abide_dos160_dmn33.npz"
        if path.exists():
            return path
    return None


@pytest.mark.skipif(shared_npz() is None, reason="the extract of ABIDE is not on this machine")
def test_agrees_with_the_extract_of_the_real_release():
    """Same regions under the same numbers; the same repetition times.

    The table of times was made with this extract at hand: this holds the two together, and is
    no evidence that the times are right.
    """
    with np.load(shared_npz(), allow_pickle=False) as real:
        chosen = region_set("dosenbach-dmn33")
        assert real["roi_index"].tolist() == list(chosen.numbers)
        assert real["roi_names"].tolist() == list(chosen.names)
        for file_id, site, tr in zip(real["file_id"], real["site"], real["tr"], strict=True):
            protocol = file_id.rpartition("_")[0]
            expected = _SECOND_PROTOCOL_TR.get(protocol, _SITE_TR[site])
            assert expected == pytest.approx(float(tr)), file_id


def test_the_command_line_downloads_and_writes_the_same(release, tmp_path):
    _, url, _ = release
    options = ["--url", url, "--data-dir", tmp_path / "cache", "--drop-first", 1]
    options += [
        "--mixed-tr",
        "keep",
        "--window",
        5,
        "--stride",
        5,
        "--out",
        tmp_path / "abide.zarr",
    ]
    command = [sys.executable, "-m", "sclcs", "cohort", "import", "abide", *options]
    subprocess.run([str(word) for word in command], check=True)
    written = Cohort.open(tmp_path / "abide.zarr")
    expected = read_abide(tmp_path / "cache", url=url).to_cohort(
        window=5, stride=5, drop_first=1, mixed_tr="keep"
    )
    assert written.fingerprint == expected.fingerprint
