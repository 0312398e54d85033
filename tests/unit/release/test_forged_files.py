"""Files that say more than the cells that were counted: a forger signs them with a key of his own, and verify refuses them."""

from __future__ import annotations

import json

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl.comments import Comment

import shoal
from release_forging import forge

PEOPLE = {"age": [30, 30, 30, 40, 40, 40] * 4, "sex": ["f", "m"] * 12, "ill": ["flu", "cold", "hiv"] * 8}


def some_as_text(file):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines[::3]:
        line["age"] = str(line["age"])
    file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def notes_on_columns(file):
    table = pq.read_table(file)
    pq.write_table(table.cast(pa.schema([f.with_metadata({b"of": b"Ann"}) for f in table.schema])), file)


def arrow_notes(file):
    table = pa.ipc.open_file(file).read_all().replace_schema_metadata({b"of": b"Ann"})
    with pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)


def other_values(file):
    table = pa.ipc.open_file(file).read_all()
    at, values = table.schema.get_field_index("sex"), table["sex"].to_pylist()
    listed = sorted(set(values))
    coded = pa.DictionaryArray.from_arrays(pa.array([listed.index(v) for v in values], pa.int32()), pa.array([*listed, "Ann"]))
    table = table.set_column(at, "sex", coded)
    with pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)


def workbook(change):
    def forged(file):
        book = openpyxl.load_workbook(file)
        change(book.worksheets[0])
        book.properties.creator = None
        book.save(file)

    return forged


def comment(sheet):
    sheet["A2"].comment = Comment("Ann", "x")


def hidden_row(sheet):
    sheet.row_dimensions[3].hidden = True


def cells_as_text(sheet):
    for row in range(2, 12, 3):
        sheet.cell(row, 1).value = str(sheet.cell(row, 1).value)


def title(file):
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_sav(pyreadstat.read_sav(file)[0], str(file), file_label="Ann's")


@pytest.mark.parametrize(
    ("form", "change"),
    [
        ("jsonl", some_as_text),
        ("parquet", notes_on_columns),
        ("arrow", arrow_notes),
        ("arrow", other_values),
        ("excel", workbook(comment)),
        ("excel", workbook(hidden_row)),
        ("excel", workbook(cells_as_text)),
        ("spss", title),
    ],
)
def test_a_file_that_says_more_than_its_cells_is_refused(form, change, tmp_path):
    folder = shoal.anonymize(PEOPLE, quasi=["age", "sex"], sensitive=["ill"], k=3, format=form).write(tmp_path / "out")
    forge(folder, lambda made: None)
    assert shoal.verify(folder).ok
    change(next(p for p in folder.iterdir() if p.stem == "data"))
    forge(folder, lambda made: None)
    assert not shoal.verify(folder).ok
