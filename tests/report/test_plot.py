"""Pictures for notebooks: every function draws what it says into matplotlib axes."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

import sclcs
from sclcs._core import SclcsError
from sclcs.cohort import region_set
from sclcs.report.brain_figure import brain_image, known_coordinates
from sclcs.report.cohort_sections import _brain
from sclcs.report.figures import shorten
from sclcs.spi import compute
from sclcs.stats import rank

GRANGER = "gc_gaussian_k-1_kt-1_l-1_lt-1"
DMN = region_set("dosenbach-dmn33").names


@pytest.fixture(autouse=True)
def no_window():
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cohort():
    return sclcs.simulate_cohort(9, 2, 6, length=50, stride=50, seed=2)


@pytest.fixture(scope="module")
def fc(cohort):
    return compute(cohort, ["pearson", GRANGER, "kendalltau", "pec"])


@pytest.fixture(scope="module")
def ranking(cohort):
    names = ["kendalltau", "pec", "pearson", GRANGER, "cov_LedoitWolf"]
    return rank(cohort, "subject", names, permutations=0, bootstrap=50)


def test_matrix_shows_the_values_where_they_are(fc):
    drawn = sclcs.report.plot.matrix(fc.sel(spi=GRANGER))
    mean = fc.sel(spi=GRANGER).mean("scan").to_numpy()
    np.testing.assert_allclose(drawn.images[0].get_array().filled(np.nan), mean)
    assert [label.get_text() for label in drawn.get_yticklabels()] == list(fc["source"].values)
    assert drawn.get_xlabel() == "target"
    one = fc.sel(spi="pec").isel(scan=3)
    assert sclcs.report.plot.matrix(one).get_title(loc="left") == "Power envelope correlation"
    table = pd.DataFrame(np.eye(2), columns=["a", "b"])
    assert sclcs.report.plot.matrix(table).get_xticklabels()[1].get_text() == "b"


def test_signed_values_have_zero_in_the_middle():
    drawn = sclcs.report.plot.matrix(np.array([[np.nan, -3.0], [1.0, np.nan]]))
    assert drawn.images[0].get_clim() == (-3.0, 3.0)


def test_own_axes_are_drawn_into(fc, ranking):
    axes = Figure().subplots(1, 4)
    assert sclcs.report.plot.matrix(fc.sel(spi="pec"), ax=axes[0]) is axes[0]
    assert sclcs.report.plot.chord(fc.sel(spi="pec"), ax=axes[1]) is axes[1]
    assert sclcs.report.plot.ranking(ranking, ax=axes[2]) is axes[2]
    assert sclcs.report.plot.geometry(fc, ax=axes[3]) is axes[3]


def test_ranking_lines_are_groups_best_first(ranking):
    drawn = sclcs.report.plot.ranking(ranking, shown=3)
    groups = ranking.groups.head(3)
    assert len(ranking.groups) == 4  # Ledoit-Wolf is bound to tie with Pearson
    points = drawn.collections[-1].get_offsets()
    np.testing.assert_allclose(points[:, 0], groups["score"])
    shown = [label.get_text() for label in drawn.get_yticklabels()]
    assert shown == [shorten(name) for name in groups["name"]]


def test_chords_are_the_strongest_connections(fc):
    directed = sclcs.report.plot.chord(fc.sel(spi=GRANGER), shown=7)
    assert len(directed.patches) == 7
    assert {type(patch).__name__ for patch in directed.patches} == {"FancyArrowPatch"}
    symmetric = sclcs.report.plot.chord(fc.sel(spi="pec"), shown=99)
    assert len(symmetric.patches) == 15  # every pair once
    matrix = np.zeros((4, 4))
    matrix[0, 2] = matrix[2, 0] = -5.0
    drawn = sclcs.report.plot.chord(matrix, shown=1)
    ends = drawn.patches[0].get_path().vertices[[0, 2]]
    np.testing.assert_allclose(ends, [[0, 1], [0, -1]], atol=1e-12)


def test_names_of_a_geometry_do_not_overlap(fc, ranking):
    for drawn in (sclcs.report.plot.geometry(), sclcs.report.plot.geometry(fc, ranking=ranking)):
        drawn.figure.draw_without_rendering()
        boxes = [Text.get_window_extent(text) for text in drawn.texts]  # without their lines
        assert len(boxes) >= 3
        for k, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:k])


def test_geometry_puts_alike_operators_together(fc, ranking):
    drawn = sclcs.report.plot.geometry(fc)
    points = drawn.collections[0].get_offsets()
    assert points.shape == (4, 2)
    names = list(fc["spi"].values)
    gap = lambda a, b: np.linalg.norm(points[names.index(a)] - points[names.index(b)])  # noqa: E731
    pearson = "pearson"
    assert gap(pearson, "kendalltau") < gap(pearson, "pec")
    coloured = sclcs.report.plot.geometry(fc, ranking=ranking)
    assert coloured.collections[0].get_array().shape == (4,)


@pytest.mark.parametrize(
    ("kind", "arguments", "options"),
    [
        ("matrix", ["fc"], {}),
        ("matrix", [[[1, 2], [3]]], {}),
        ("matrix", [np.eye(3)], {"regions": ["a"]}),
        ("matrix", [np.eye(3)], {"ax": "here"}),
        ("chord", [np.eye(3)], {"shown": 0}),
        ("chord", [np.eye(3)], {"shown": "all"}),
        ("ranking", ["fc"], {}),
        ("geometry", ["no"], {}),
        ("geometry", ["fc"], {"ranking": 3}),
        ("glass_brain", [np.eye(3)], {}),
        ("glass_brain", [np.eye(3), np.zeros((2, 3))], {}),
        ("glass_brain", [np.eye(3), "here"], {}),
    ],
)
def test_mistakes_are_sentences(kind, arguments, options, fc):
    given = [fc if isinstance(one, str) and one == "fc" else one for one in arguments]
    with pytest.raises(SclcsError, match=r"[Ee]xpected|places|must be"):
        getattr(sclcs.report.plot, kind)(*given, **options)


@pytest.fixture(scope="module")
def dmn():
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(33, 33))
    return matrix + matrix.T


def test_glass_brain(dmn):
    pytest.importorskip("nilearn")
    drawn = sclcs.report.plot.glass_brain(dmn, regions=DMN, shown=5)
    assert isinstance(drawn, Axes)
    places = known_coordinates(DMN)
    given = sclcs.report.plot.glass_brain(
        dmn, places, shown=5, ax=Figure(figsize=(6, 2)).subplots()
    )
    assert isinstance(given, Axes)


def test_places_of_regions_are_those_of_the_atlas():
    datasets = pytest.importorskip("nilearn.datasets")
    atlas = datasets.fetch_coords_dosenbach_2010()
    rows = pd.DataFrame(atlas["rois"])[["x", "y", "z"]].to_numpy()
    by_label = dict(zip(atlas["labels"], rows, strict=True))
    for name, place in zip(DMN, known_coordinates(DMN), strict=True):
        anatomy, number = name.rsplit("_", 1)
        np.testing.assert_array_equal(place, by_label[f"{anatomy} {number}"])
    assert known_coordinates(["left", "right"]) is None


def test_the_report_draws_brains_where_places_are_known(dmn):
    pytest.importorskip("nilearn")
    assert _brain(dmn, [f"region-{k}" for k in range(33)]) is None
    image = _brain(dmn, list(DMN))
    assert image.startswith("data:image/png;base64,")
    assert image == _brain(dmn, list(DMN))  # the same bytes again
    assert image != brain_image([(0, 1, 1.0)], known_coordinates(DMN))
