"""Dirty tables of labels: read as they are meant, or refused with the cause; never otherwise.

Every case has one right reading. What comes out of an import is *right* (the reading), *refused*
(one sentence that names the column), or *wrong*.
"""

import itertools
import json

import numpy as np
import openpyxl
import pandas as pd
import pytest

from sclcs import Cohort
from sclcs._core import InputError, SclcsError, UnreadableFileError
from sclcs.cohort import label_cohort
from sclcs.cohort.columns import as_days, read_columns, unclear
from sclcs.cohort.labels import attach_labels, read_label_table
from sclcs.cohort.series import scans_of_series
from sclcs.stats import make_question

N = 24
SUBJECTS = [f"s{k:02d}" for k in range(N)]
SIGNALS = list(np.random.default_rng(5).normal(size=(N, 11, 3)))
AGES = [str(18 + 2 * k) for k in range(N)]
GROUP = ["HC", "MDD"] * (N // 2)


def imported(folder, cells, name="age", **options):
    table = folder / "labels.csv"
    lines = [f"{subject}\t{cell}" for subject, cell in zip(SUBJECTS, cells, strict=True)]
    table.with_suffix(".tsv").write_text("\n".join([f"subject\t{name}", *lines]), encoding="utf-8")
    scans = scans_of_series(dict(zip(SUBJECTS, SIGNALS, strict=True)), tr=2.0)
    read = attach_labels(scans, read_label_table(table.with_suffix(".tsv")))
    return read.to_cohort(**options)


def outcome(folder, cells, meant, name="age", **options):
    """Import a column and say what became of it."""
    try:
        cohort = imported(folder, cells, name, **options)
    except InputError as error:
        return "refused" if name in str(error) else f"refused for another reason: {error}"
    found = [None if pd.isna(value) else value for value in cohort.samples[name]]
    return "right" if found == meant else "wrong"


def put(cells, value, *places):
    return [value if k in places else cell for k, cell in enumerate(cells)]


NUMBERS = {
    "ages": AGES,
    "decimals": [f"{k * 0.37 + 0.11:.2f}" for k in range(N)],
    "scores": [str(k % 7) for k in range(N)],
    "scientific": [f"{k + 1}e-2" for k in range(N)],
    "with a sign": [f"{(k - 11) / 4}" for k in range(N)],
}
EMPTY = ["", "n/a", "N/A", "NA", "nan", "NaN", "null", "[]", ".", "#N/A", "<NA>", "None", "none"]
CODES = ["-9999", "-999", "-999.0", "-99", "9999", "-8888", "99999"]
ODD = ["unknown", "?", "1e400", "-1e999", "1_234", "12,5", "1 234", "<5", ">90", "12.5y", "x",
       "#DIV/0!", "inf", "O.5", "five", "1.2.3"]  # fmt: skip


def numbers(cells):
    return [float(cell) for cell in cells]


@pytest.mark.parametrize(("kind", "word"), list(itertools.product(NUMBERS, EMPTY)))
def test_what_is_not_known_stays_a_hole_in_numbers(kind, word, tmp_path):
    cells = put(NUMBERS[kind], word, 4)
    assert outcome(tmp_path, cells, put(numbers(NUMBERS[kind]), None, 4)) == "right"


@pytest.mark.parametrize(("kind", "code"), list(itertools.product(NUMBERS, CODES)))
def test_codes_outside_the_range_are_not_known(kind, code, tmp_path):
    cells = put(NUMBERS[kind], code, 4, 9)
    assert outcome(tmp_path, cells, put(numbers(NUMBERS[kind]), None, 4, 9)) == "right"


@pytest.mark.parametrize(("kind", "cell"), list(itertools.product(NUMBERS, ODD)))
def test_one_odd_cell_never_makes_numbers_text(kind, cell, tmp_path):
    cells = put(NUMBERS[kind], cell, 7)
    assert outcome(tmp_path, cells, None) == "refused"
    said = [f"age={cell}"] if "," not in cell else []
    if said:  # the advice of the message works
        meant = put(numbers(NUMBERS[kind]), None, 7)
        assert outcome(tmp_path, cells, meant, missing=said) == "right"


@pytest.mark.parametrize("code", ["77", "88", "99"])
def test_two_digits_may_be_a_number_and_are_asked_about(code, tmp_path):
    cells = put([str(18 + k) for k in range(N)], code, 3)
    assert outcome(tmp_path, cells, None) == "refused"
    meant = numbers(cells)
    assert outcome(tmp_path, cells, put(meant, None, 3), missing={"age": [code]}) == "right"
    assert outcome(tmp_path, cells, meant, missing={"age": []}) == "right"
    inside = put([str(60 + 2 * k) for k in range(N)], code, 3)
    assert outcome(tmp_path, inside, numbers(inside)) == "right"


SPELLINGS = {
    ("HC", "MDD"): ["hc", "Hc", "HC ", " hC", "ＨＣ"],
    ("TRUE", "FALSE"): ["True", "true", "tRUE"],
    ("healthy control", "patient"): ["Healthy Control", "healthy  control", "healthy\u00a0control"],
    ("yes", "no"): ["Yes", "YES"],
    ("Zürich", "Genève"): ["ZÜRICH", "Zu\u0308rich"],
}
SPELLED = [(pair, odd) for pair, others in SPELLINGS.items() for odd in others]


@pytest.mark.parametrize(("pair", "odd"), SPELLED)
@pytest.mark.parametrize("places", [(2,), (0, 2, 4)])
def test_spellings_are_one_class(pair, odd, places, tmp_path):
    meant = list(pair) * (N // 2)
    assert outcome(tmp_path, put(meant, odd, *places), meant, "dx") == "right"
    notes = imported(tmp_path, put(meant, odd, *places), "dx").provenance["columns"]["dx"]
    assert odd.strip() == pair[0] or pair[0] in notes["notes"][0]


@pytest.mark.parametrize("word", ["", "n/a", "NA", "NaN", ".", "null"])
@pytest.mark.parametrize("classes", [("HC", "MDD"), ("F", "M"), ("a", "b")])
def test_what_is_not_known_is_no_class(word, classes, tmp_path):
    meant = list(classes) * (N // 2)
    assert outcome(tmp_path, put(meant, word, 1, 5), put(meant, None, 1, 5), "dx") == "right"


@pytest.mark.parametrize("word", ["None", "none", "NONE"])
@pytest.mark.parametrize("share", [2, 3, 4])
def test_none_is_asked_about(word, share, tmp_path):
    cells = [word if k % share == 0 else GROUP[k] for k in range(N)]
    unknown = [None if cell == word else cell for cell in cells]
    assert outcome(tmp_path, cells, None, "subtype") == "refused"
    kept = {"subtype": ["HC", "MDD", word]}
    assert outcome(tmp_path, cells, cells, "subtype", levels=kept) == "right"
    assert outcome(tmp_path, cells, unknown, "subtype", missing=[f"subtype={word}"]) == "right"
    sidecar = tmp_path / "labels.json"
    sidecar.write_text(json.dumps({"subtype": {"Levels": {"HC": "", "MDD": "", word: "no"}}}))
    assert outcome(tmp_path, cells, cells, "subtype") == "right"


def test_a_level_that_reads_like_a_hole_stays_if_the_sidecar_lists_it(tmp_path):
    cells = [("NA", "K", "Cl")[k % 3] for k in range(N)]
    (tmp_path / "labels.json").write_text('{"Ion": {"Levels": ["NA", "K", "Cl"], "Units": "x"}}')
    assert outcome(tmp_path, cells, cells, "ion") == "right"


@pytest.mark.parametrize("word", ["unknown", "?", "missing", "not available"])
def test_a_vague_class_is_noted_and_not_compared_unasked(word, tmp_path):
    cells = put(GROUP, word, 0, 3, 4, 7)
    cohort = imported(tmp_path, cells, "dx")
    assert cohort.provenance["columns"]["dx"]["vague"] == [word]
    with pytest.raises(InputError, match="may be a class or mean"):
        make_question(cohort.samples, "dx")
    assert make_question(cohort.samples, "dx", treat_as="classes").classes == sorted(set(cells))
    known = imported(tmp_path, cells, "dx", missing={"dx": word})
    assert make_question(known.samples, "dx").classes == ["HC", "MDD"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (AGES, "number"),
        ([f"{k / 7:.3f}" for k in range(N)], "number"),
        ([str(k % 5) for k in range(N)], "number or classes"),
        ([str(k % 2) for k in range(N)], "classes"),
        (GROUP, "classes"),
        ([f"0{k % 9}" for k in range(N)], "classes"),
        ([f"A{k:03d}" for k in range(N)], "id"),
        ([f"2019-03-{k + 1:02d}" for k in range(N)], "date"),
        ([f"{k + 1}.3.2019" for k in range(N)], "date"),
        ([str(50000 + k) for k in range(N)], "number"),
        ([f"a remark on {k % 20}" for k in range(N)], "text"),
        (["12345678901234567890", "12345678901234567891"] * (N // 2), "classes"),
    ],
)
def test_clean_columns_have_their_kind_and_raise_no_question(cells, kind, tmp_path):
    cohort = imported(tmp_path, cells, "column")
    assert cohort.provenance["columns"]["column"]["kind"] == kind
    assert "notes" not in cohort.provenance["columns"]["column"]
    assert [str(v) if kind != "number" else v for v in cohort.samples["column"]] == (
        numbers(cells) if kind == "number" else cells
    )


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        (["15", "17", "NYU"] * (N // 3), "site"),
        ([str(50000 + k) for k in range(N - 1)] + ["A7"], "guid"),
        ([f"0{k}"[-2:] for k in range(N)], "code"),
    ],
)
def test_codes_of_letters_and_digits_are_no_odd_cells(cells, name, tmp_path):
    assert outcome(tmp_path, cells, cells, name) == "right"


@pytest.mark.parametrize(
    "cells", [put([str(k) for k in range(N)], "07", 9), ["1", "01"] * (N // 2)]
)
def test_zeros_in_front_of_some_numbers_are_refused(cells, tmp_path):
    assert outcome(tmp_path, cells, None) == "refused"


def test_units_and_codes_are_told(tmp_path):
    cohort = imported(tmp_path, put(AGES, "-999", 3), "Age (years)")
    facts = cohort.provenance["columns"]["age_years"]
    assert (facts["unit"], facts["missing"], facts["unknown"]) == ("years", {"-999": 1}, 1)
    assert facts["range"] == [18, 64]


@pytest.mark.parametrize("code", ["-9", "-999", "99999"])
def test_codes_of_two_classes_are_not_a_third(code, tmp_path):
    cells = put([str(1 + k % 2) for k in range(N)], code, 3, 4)
    meant = put(numbers(cells), None, 3, 4)
    assert outcome(tmp_path, cells, meant, "sex") == "right"
    facts = imported(tmp_path, cells, "sex").provenance["columns"]["sex"]
    assert (facts["kind"], facts["unknown"], "unit" in facts) == ("classes", 2, False)
    assert facts["levels"] == {"1": 11, "2": 11}


def test_a_rule_for_a_column_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SclcsError, match=r"no column 'agee'.*Did you mean age"):
        imported(tmp_path, AGES, missing=["agee=99"])


def test_one_command_settles_it_later(tmp_path):
    imported(tmp_path, put(GROUP, "unknown", 4), "dx", out=tmp_path / "c.zarr")
    cohort, done = label_cohort(tmp_path / "c.zarr", missing=["dx=unknown"])
    assert done.replaced == ["dx"]
    assert cohort.samples["dx"].isna().sum() == 1
    assert Cohort.open(tmp_path / "c.zarr").provenance["columns"]["dx"]["missing"] == {"unknown": 1}
    with pytest.raises(InputError, match="--levels or --missing"):
        label_cohort(tmp_path / "c.zarr")


def test_labels_that_come_later_are_read_alike(tmp_path):
    cohort = imported(tmp_path, AGES, out=tmp_path / "c.zarr")
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["subject,bdi", *(f"{s},{k}" for k, s in enumerate(SUBJECTS))]))
    table.write_text(table.read_text().replace("s07,7", "s07,-99"))
    label_cohort(tmp_path / "c.zarr", table)
    assert Cohort.open(tmp_path / "c.zarr").samples["bdi"].isna().sum() == 1
    table.write_text(table.read_text().replace("s07,-99", "s07,seven"))
    with pytest.raises(InputError, match=r"bdi.*'seven'"):
        label_cohort(tmp_path / "c.zarr", table)
    assert len(cohort) == N


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        (put(AGES, "unknown", 3), "'unknown'"),
        (put([float(age) for age in AGES], -999.0, 3), "-999"),
        (put([float(age) for age in AGES], float("inf"), 3), "infinite"),
        (put(GROUP, "hc", 2), "hc is HC"),
    ],
)
def test_a_table_of_ones_own_is_looked_at_when_it_is_used(values, cause):
    dx = ["a", "b"] * (N // 2)
    samples = pd.DataFrame({"subject": SUBJECTS, "window": 0, "dx": dx, "x": values})
    with pytest.raises(InputError, match=f"(x is not clear|column x).*{cause}"):
        make_question(samples, "dx", covariates="x")


def test_ids_and_dates_are_no_covariates(tmp_path):
    cohort = imported(tmp_path, [f"2019-03-{k + 1:02d}" for k in range(N)], "scanned")
    samples = cohort.samples.assign(dx=GROUP)
    with pytest.raises(InputError, match="scanned has 24 classes on 24 subjects"):
        make_question(samples, "dx", covariates="scanned")


def test_formulas_without_values_are_refused(tmp_path):
    book = openpyxl.Workbook()
    for row in (["subject", "age"], ["s1", 31], ["s2", "=B2+1"]):
        book.active.append(row)
    book.save(tmp_path / "labels.xlsx")
    with pytest.raises(UnreadableFileError, match="never calculated: sheet1!B3"):
        read_label_table(tmp_path / "labels.xlsx")


def test_numbers_of_signals_are_those_that_every_program_reads(tmp_path):
    from pipeline_trees import read_arrays

    (tmp_path / "scans").mkdir()
    good = "\n".join(["a,b,c", *(f"{k % 5},{k % 3},{-k % 7}" for k in range(20))])
    (tmp_path / "scans" / "s1.csv").write_text(good.replace("4,1,3", "4,1_0,3"))
    with pytest.raises(SclcsError, match="1_0"):
        read_arrays(tmp_path / "scans").to_cohort()


@pytest.mark.parametrize(
    ("cells", "code", "known"),
    [
        ([*range(100)], -9, True),  # below zero, where all others are not
        ([*range(10), 60], 88, False),  # not far beyond the largest
        ([5] * 20, -9, False),  # one number has no range
        ([k / 7 for k in range(20)], -9.0, True),
        ([*range(-30, 30)], -9, False),
    ],
)
def test_when_a_code_is_outside_the_range(cells, code, known):
    values, profiles, problems = read_columns({"x": [*cells, code]})
    assert (values["x"][-1] is None) == known
    assert ("missing" in profiles["x"]) == known
    assert problems == []


def test_decimals_with_commas_are_refused_and_numbers_given_as_strings_stay_strings():
    (problem,) = read_columns({"x": ["1,5", "2,5", "3,25"]})[2]
    assert "no program reads alike" in problem.detail
    values, profiles, _ = read_columns({"x": ["1", "2"] * 4, "y": [3, 4] * 4})
    assert values["x"] == ["1", "2"] * 4
    assert [set(one) for one in profiles.values()] == [{"kind", "unknown", "levels"}] * 2


def test_cells_that_are_not_known_are_no_majority():
    (problem,) = read_columns({"x": [*map(str, range(8)), "high", *[None] * 12]})[2]
    assert problem.kind == "mixed-column"


def test_remarks_are_not_merged_and_ids_begin_at_a_thousand():
    remarks = [f"remark {k}" for k in range(20)]
    assert read_columns({"x": [*remarks, "Remark 1"]})[0]["x"][-1] == "Remark 1"
    kinds = [
        read_columns({"guid": [*range(start, start + 40)]})[1]["guid"]["kind"]
        for start in (999, 1000)
    ]
    assert kinds == ["number", "id"]


def test_a_stored_column_says_what_does_not_fit_and_nothing_else():
    asked = pd.Series(["HC", "None", "HC", "MDD"] * 5, name="dx")
    assert unclear(asked) == ""  # an import asked about it
    vague = pd.Series(["HC", "hc", "unknown", "HC"] * 5, name="dx")
    assert unclear(vague) == "spellings of one class: hc is HC"
    days = as_days(pd.Series(["2019-03-01T01:00:00+02:00", "2019-03-01T00:00:00+00:00"]))
    assert days.diff().iloc[1] == pytest.approx(1 / 24)
