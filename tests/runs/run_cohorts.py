"""A cohort, settings and comparisons for the tests of two-stage runs."""

from store_content import content

from sclcs import simulate_cohort
from sclcs.run_folder import RunFolder

# Three families; none is bound to tie with another.
OPERATORS = ["cov_EmpiricalCovariance", "pec", "pdist_cityblock"]
#: Quick, and every operator is a winner, so that the second stage does not depend on the order.
SETTINGS = {
    "spis": OPERATORS,
    "method": "pairs",
    "ratio": 0.5,
    "bootstrap": 20,
    "top_k": 3,
}


def small_cohort(seed=1):
    """Thirty-six samples of twelve subjects: 5 regions, 60 time points."""
    return simulate_cohort(12, 3, 5, length=60, stride=30, seed=seed)


def results(path):
    """Return the content of everything in a run that does not depend on time."""
    folder = RunFolder(path)
    tables = [
        file
        for kind in ("core", "ranking", "confirmed", "truth")
        for file in sorted(folder.path.glob(f"{kind}*.csv"))
    ]
    files = [file for table in tables for file in (table, table.with_suffix(".json"))]
    found = {file.name: file.read_bytes() for file in files}
    for store in sorted(folder.path.glob("fc*.zarr")):
        for file, held in content(store).items():
            found[f"{store.name}/{file}"] = held
    return found


def everything(path):
    """Return all that a run found, its answer, map and plan too."""
    folder = RunFolder(path)
    found = results(path)
    for file in (folder.answer_file, folder.geometry_file, folder.plan_file):
        if file.exists():
            found[file.name] = file.read_bytes()
    return found


def expect_same(path, fresh):
    """Compare with a run that began from nothing; only operators may be there beyond its own."""
    mine, expected = results(path), results(fresh)
    for name, held in expected.items():
        if isinstance(held, dict):  # a piece of several operators
            assert {operator: mine[name][operator] for operator in held} == held
        elif not name.endswith("zarr/zarr.json"):
            assert mine[name] == held, name
    beyond = {name for name in mine.keys() - expected.keys() if "zarr/" not in name}
    assert beyond == set()
