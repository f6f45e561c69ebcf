import numpy as np
import openpyxl
import pytest

from sclcs._core import InputError, NotFoundError, UnknownNameError, UnreadableFileError
from sclcs.cohort.labels import attach_labels, column_name, read_label_table
from sclcs.cohort.scans import Scan, Scans


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def scans_of(*subjects, ids=None):
    def load():
        return np.zeros((3, 11))

    ids = ids or subjects
    return Scans([Scan(i, s, load) for i, s in zip(ids, subjects, strict=True)], ["a", "b", "c"])


def kinds(scans):
    return [(problem.kind, problem.where) for problem in scans.problems]


def test_ids_keep_leading_zeros_and_columns_get_their_types(tmp_path):
    path = write(
        tmp_path / "labels.csv",
        "SubID,Age,Sex,Site code,score\n007,31,M,01,1.5\n012,,F,02,n/a\n",
    )
    table = read_label_table(path)
    assert table.ids("subject") == ["007", "012"]
    labelled = attach_labels(scans_of("007", "012"), table)
    assert labelled[0].metadata == {"age": 31, "sex": "M", "site_code": "01", "score": 1.5}
    assert labelled[1].metadata == {"age": None, "sex": "F", "site_code": "02", "score": None}
    assert labelled.provenance["labels"]["id_column"] == "SubID"


def test_xlsx_gives_the_same_as_csv(tmp_path):
    rows = [["participant_id", "age", "site"], ["s1", 31, "01"], ["s2", 2.5, "02"]]
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "labels.xlsx")
    text = "\n".join("\t".join(map(str, row)) for row in rows)
    write(tmp_path / "labels.tsv", text)
    from_xlsx = read_label_table(tmp_path / "labels.xlsx")
    assert from_xlsx.columns == read_label_table(tmp_path / "labels.tsv").columns
    assert from_xlsx.columns["age"] == ["31", "2.5"]


def test_sheets_are_joined_on_request(tmp_path):
    book = openpyxl.Workbook()
    for row in (["ID", "HAMD"], ["p1", 20]):
        book.active.append(row)
    controls = book.create_sheet("Controls")
    for row in (["ID", "Age"], ["c1", 40]):
        controls.append(row)
    book.create_sheet("empty")
    book.save(tmp_path / "both.xlsx")
    assert read_label_table(tmp_path / "both.xlsx").columns == {"ID": ["p1"], "HAMD": ["20"]}
    joined = read_label_table(tmp_path / "both.xlsx", all_sheets=True)
    assert joined.columns == {"ID": ["p1", "c1"], "HAMD": ["20", ""], "Age": ["", "40"]}


def test_semicolons_quotes_and_byte_order_mark(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes('\ufeffsubject;note\r\ns1;"a;b\n\u2028c"\r\n'.encode())
    assert read_label_table(path).columns == {"subject": ["s1"], "note": ["a;b\n\u2028c"]}


def test_missing_and_extra_rows_become_problems(tmp_path):
    path = write(tmp_path / "labels.csv", "subject,diagnosis\ns1,MDD\ns9,HC\n")
    labelled = attach_labels(scans_of("s1", "s2"), read_label_table(path))
    assert [scan.subject for scan in labelled] == ["s1"]
    assert kinds(labelled) == [("missing-label", "s2"), ("extra-label", "s9")]
    with pytest.raises(InputError, match=r"without a row.*s2"):
        labelled.to_cohort(window=5, stride=5)


def test_duplicate_ids_are_named(tmp_path):
    path = write(tmp_path / "labels.csv", "subject,age\ns1,3\ns2,4\ns1,5\n")
    with pytest.raises(InputError, match="1 are repeated: s1"):
        attach_labels(scans_of("s1", "s2"), read_label_table(path))


def test_empty_ids_are_named(tmp_path):
    path = write(tmp_path / "labels.csv", "subject,age\ns1,3\n,4\n")
    with pytest.raises(InputError, match="empty in data row 2"):
        read_label_table(path).ids("subject")


@pytest.mark.parametrize(
    ("scan", "row"), [("sub-0050003", "50003"), ("7", "sub-07"), ("a", "sub-a")]
)
def test_prefix_and_leading_zeros_are_tolerated(tmp_path, scan, row):
    path = write(tmp_path / "labels.csv", f"subject,age\n{row},3\n")
    labelled = attach_labels(scans_of(scan), read_label_table(path))
    assert labelled[0].metadata == {"age": 3}
    assert not labelled.problems


def test_ambiguous_ids_do_not_match(tmp_path):
    path = write(tmp_path / "labels.csv", "subject,age\n07,3\n007,4\ns1,5\n")
    labelled = attach_labels(scans_of("7", "s1"), read_label_table(path))
    assert kinds(labelled) == [
        ("missing-label", "7"),
        ("extra-label", "07"),
        ("extra-label", "007"),
    ]


def test_exact_ids_come_before_similar_ones(tmp_path):
    path = write(tmp_path / "labels.csv", "subject,age\n07,3\n7,4\n")
    labelled = attach_labels(scans_of("07", "7"), read_label_table(path))
    assert [scan.metadata["age"] for scan in labelled] == [3, 4]


def test_one_row_serves_all_scans_of_a_subject(tmp_path):
    path = write(tmp_path / "labels.csv", "subject,age\ns1,3\ns2,4\n")
    scans = scans_of("s1", "s1", "s2", ids=["x1", "x2", "x3"])
    labelled = attach_labels(scans, read_label_table(path))
    assert [scan.metadata["age"] for scan in labelled] == [3, 3, 4]


def test_by_scan_the_table_names_the_subject(tmp_path):
    path = write(tmp_path / "labels.csv", "subject,file_id,age\np1,x1,3\np1,x2,4\n")
    scans = scans_of("x1", "x2")
    labelled = attach_labels(scans, read_label_table(path), by="scan")
    assert [(scan.scan_id, scan.subject) for scan in labelled] == [("x1", "p1"), ("x2", "p1")]
    assert labelled[1].metadata == {"age": 4}
    assert attach_labels(scans, read_label_table(path), by=None)[1].subject == "p1"


def test_no_match_at_all_shows_both_sides(tmp_path):
    path = write(tmp_path / "labels.csv", "subject,age\np1,3\n")
    with pytest.raises(InputError, match="none matches: scans are named s1, s2, rows p1"):
        attach_labels(scans_of("s1", "s2"), read_label_table(path))


def test_no_id_column_lists_the_columns(tmp_path):
    path = write(tmp_path / "labels.csv", "who,age\np1,3\n")
    with pytest.raises(UnknownNameError, match="found who, age; name it with --id-column"):
        read_label_table(path).ids("subject")
    assert read_label_table(path, "who").ids("subject") == ["p1"]
    with pytest.raises(UnknownNameError, match="no column 'whom'"):
        read_label_table(path, "whom")


def test_columns_that_would_hide_those_of_a_cohort_are_renamed(tmp_path):
    path = write(tmp_path / "labels.csv", "participant_id,window,scan\ns1,3,x\n")
    facts = attach_labels(scans_of("s1"), read_label_table(path, "participant_id"))[0].metadata
    assert facts == {"window_label": 3, "scan_label": "x"}
    assert column_name("On medication?") == "on_medication"


def test_columns_that_become_one_name_are_refused(tmp_path):
    path = write(tmp_path / "labels.csv", "subject,Age,age\ns1,3,4\n")
    with pytest.raises(InputError, match="case or punctuation only: age"):
        attach_labels(scans_of("s1"), read_label_table(path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cut.csv", b"subject,age\ns1,3\ns2", r"row 3 \(1 cells\)"),
        ("quote.csv", b'subject,age\ns1,"3', "damaged"),
        ("latin.csv", "subject,age\nJosé,3\n".encode("latin-1"), "UTF-8"),
        ("empty.csv", b"", "no rows"),
        ("cut.xlsx", b"PK\x03\x04 cut off", "damaged or of another format"),
    ],
)
def test_damaged_tables_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableFileError, match=message) as caught:
        read_label_table(tmp_path / name)
    assert name in str(caught.value)


def test_other_formats_and_missing_files(tmp_path):
    with pytest.raises(NotFoundError, match=r"nowhere\.csv"):
        read_label_table(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match=r"\.csv, \.tsv or \.xlsx"):
        read_label_table(write(tmp_path / "labels.sav", "x"))
    with pytest.raises(InputError, match="repeated: age"):
        read_label_table(write(tmp_path / "twice.csv", "subject,age,age\ns1,3,4\n"))
