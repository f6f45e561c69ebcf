from pathlib import Path

import numpy as np
import pytest

from sclcs._core import InputError, UnknownNameError
from sclcs.cohort.regions import choose_regions, region_set
from sclcs.cohort.series import scans_of_series

REAL_COHORT = Path(__file__).parents[2].parent / "shared/data/abide_dos160_dmn33.npz"
PAPER_IDS = (
    "1,4,5,6,7,11,13,14,15,17,20,25,63,72,73,85,90,91,93,94,100,102,104,105,108,111,112,115,"
    "117,124,132,134,137"
)


def scans_with(regions, n_times=7):
    """One scan whose row r is filled with r, so that a region can be recognised."""
    signals = np.repeat(np.arange(len(regions))[:, None], n_times, axis=1)
    return scans_of_series({"s1": signals.T}, regions=regions)


def test_the_papers_regions():
    dmn = region_set("dosenbach-dmn33")
    assert ",".join(map(str, dmn.numbers)) == PAPER_IDS
    assert dmn.names[0] == "vmPFC_1"
    assert dmn.names[-1] == "occipital_137"
    assert dmn.atlas == "dosenbach"


def test_names_are_those_of_the_real_cohort():
    if not REAL_COHORT.exists():
        pytest.skip(f"the real cohort is not at {REAL_COHORT}")
    with np.load(REAL_COHORT, allow_pickle=False) as real:
        assert region_set("dosenbach-dmn33").names == tuple(real["roi_names"].tolist())
        assert region_set("dosenbach-dmn33").numbers == tuple(real["roi_index"].tolist())


def test_the_whole_atlas_keeps_the_known_names():
    whole = region_set("dosenbach-160")
    assert len(whole) == len(set(whole.names)) == 160
    assert whole.names[:4] == ("vmPFC_1", "dosenbach_002", "dosenbach_003", "mPFC_4")
    assert whole.names[159] == "dosenbach_160"


def test_unknown_set_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"dosenbach-160.*Did you mean dosenbach-dmn33\?"):
        region_set("dosenbach-dmn3")


def test_set_is_chosen_by_name():
    names = list(reversed(region_set("dosenbach-160").names))
    kept = choose_regions(scans_with(names), "dosenbach-dmn33")
    assert kept.regions == region_set("dosenbach-dmn33").names
    np.testing.assert_array_equal(kept[0].signals()[:2, 0], [159, 156])  # regions 1 and 4


def test_set_is_chosen_by_number_if_the_whole_atlas_has_other_names():
    kept = choose_regions(scans_with([f"region-{i}" for i in range(160)]), "dosenbach-dmn33")
    assert kept.regions[:2] == ("vmPFC_1", "mPFC_4")
    expected = [int(number) - 1 for number in PAPER_IDS.split(",")]
    np.testing.assert_array_equal(kept[0].signals()[:, 0], expected)


def test_set_of_another_atlas_is_refused():
    with pytest.raises(InputError, match="33 regions by name, or all 160"):
        choose_regions(scans_with(["a", "b", "c"]), "dosenbach-dmn33")


@pytest.mark.parametrize("wanted", ["c, a", ["c", "a"]])
def test_regions_by_name(wanted):
    kept = choose_regions(scans_with(["a", "b", "c"]), wanted)
    assert kept.regions == ("c", "a")
    np.testing.assert_array_equal(kept[0].signals()[:, 0], [2, 0])


@pytest.mark.parametrize("wanted", [None, "all"])
def test_all_regions(wanted):
    scans = scans_with(["a", "b", "c"])
    assert choose_regions(scans, wanted) is scans


def test_unknown_region_is_named_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown precunes.*Did you mean precuneus\?"):
        choose_regions(scans_with(["precuneus", "ACC"]), "precunes,ACC")


def test_no_region_is_an_error():
    with pytest.raises(InputError, match="got none"):
        choose_regions(scans_with(["a", "b"]), [])
