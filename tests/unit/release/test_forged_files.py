"""Files that say more than the cells that were counted: a forger signs them with a key of his own, and verify refuses them."""

from __future__ import annotations

import json

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from openpyxl.comments import Comment

import shoal
from release_forging import forge
from shoal.errors import InfeasibleError

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


CODES = {"sex": ["m", "w"] * 60, "pay": [float(i // 2 % 3) for i in range(120)]}
PAY = {0.0: "low", 1.0: "middle", 2.0: "high"}
NEXT_TO_ONE = {0.0: "low", 1.0: "LOW ", 2.0: "ｌｏｗ"}


READERS = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}


def statistics_file(path, labels, values=CODES):
    write = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta}[path.suffix]
    write(pd.DataFrame(values), str(path), variable_value_labels={"pay": labels})
    return path


@pytest.mark.parametrize("form", ["spss", "stata", "csv", "parquet"])
@pytest.mark.parametrize(("labels", "values"), [(PAY, 3), ({**PAY, 1.0: "Low"}, 2), (NEXT_TO_ONE, 1), ({0.0: "low"}, 3)])
def test_codes_with_one_label_are_one_value(labels, values, form, tmp_path):
    source = statistics_file(tmp_path / "in.sav", labels)
    asked = {"quasi": ["sex"], "sensitive": ["pay"], "format": form}
    folder = shoal.anonymize(source, **asked, require={"k": 5, "diversity": {"pay": {"p_sensitive": values}}}).write(
        tmp_path / "out"
    )
    assert shoal.verify(folder).ok
    if values < 3:
        with pytest.raises(InfeasibleError, match=f"'pay' has {values} values, but {values + 1} are asked for"):
            shoal.anonymize(source, **asked, require={"k": 5, "diversity": {"pay": {"distinct": values + 1}}}).write(
                tmp_path / "no"
            )


@pytest.mark.parametrize(("form", "ending"), [("spss", "sav"), ("stata", "dta")])
def test_labels_that_a_forger_made_alike_are_noticed(form, ending, tmp_path):
    policy = {"roles": {"quasi": ["sex"], "sensitive": ["pay"]}, "require": {"k": 5, "diversity": {"pay": {"distinct": 3}}}}
    source = statistics_file(tmp_path / f"in.{ending}", PAY)
    folder = shoal.anonymize(source, policy, format=form).write(tmp_path / "out")
    for labels, stays in ((PAY, True), (NEXT_TO_ONE, False)):
        file = folder / f"data.{ending}"
        statistics_file(file, labels, READERS[ending](str(file))[0])
        forge(folder, lambda made: None)
        assert shoal.verify(folder).ok is stays


@pytest.mark.parametrize(("form", "ending"), [("spss", "sav"), ("stata", "dta")])
def test_labels_of_values_that_no_record_has_are_noticed(form, ending, tmp_path):
    policy = {"roles": {"quasi": ["sex"], "sensitive": ["pay"]}, "require": {"k": 5}}
    source = statistics_file(tmp_path / f"in.{ending}", {**PAY, 9.0: "refused"})
    folder = shoal.anonymize(source, policy, format=form).write(tmp_path / "out")
    assert shoal.verify(folder).ok  # Shoal leaves the label of an answer that nobody gave out
    file = folder / f"data.{ending}"
    for labels, stays in ((PAY, True), ({**PAY, 9.0: "Ann said so"}, False)):
        statistics_file(file, labels, READERS[ending](str(file))[0])
        forge(folder, lambda made: None)
        assert shoal.verify(folder).ok is stays


def test_a_codebook_that_a_forger_made_alike_is_noticed(tmp_path):
    policy = {"roles": {"quasi": ["sex"], "sensitive": ["pay"]}, "require": {"k": 5, "diversity": {"pay": {"distinct": 3}}}}
    folder = shoal.anonymize(statistics_file(tmp_path / "in.sav", PAY), policy).write(tmp_path / "out")
    book = folder / "codebook.json"
    for text in ("middle", "low"):
        book.write_text(book.read_text(encoding="utf-8").replace("middle", text), encoding="utf-8")
        forge(folder, lambda made: None)
        assert shoal.verify(folder).ok is (text == "middle")


ILL = {
    "one": ["Flu", "flu "],
    "empty": ["", None],
    "numbers": ["1", "1.0"],
    "two": ["flu", "cold"],
    "two of three": ["flu", "Flu", "cold"],
}


@pytest.mark.parametrize("unit", [None, "id"])
@pytest.mark.parametrize("kind", ILL)
def test_the_gate_takes_values_for_one_that_a_reader_takes_for_one(kind, unit):
    values = [ILL[kind][i // 2 % len(ILL[kind])] for i in range(120)]
    table = pd.DataFrame({"sex": ["m", "w"] * 60, "ill": values, "id": [i // 4 for i in range(120)]})
    sure = kind == "two" or (kind == "two of three" and unit is None)  # else nobody knows how many people have one of them
    for limit, met in (({"distinct": 2}, kind.startswith("two")), ({"alpha": 0.7}, sure), ({"entropy": 1.5}, sure)):
        roles = {"quasi": ["sex"], "sensitive": ["ill"], **({} if unit else {"insensitive": ["id"]})}
        policy = {"roles": roles, "require": {"k": 5, "diversity": {"ill": limit}}, **({"unit": unit} if unit else {})}
        assert shoal.check(table, policy).met is met, limit


def test_the_gate_reads_labels(tmp_path):
    policy = {"roles": {"quasi": ["sex"], "sensitive": ["pay"]}, "require": {"k": 5, "diversity": {"pay": {"distinct": 3}}}}
    for labels, met in ((PAY, True), (NEXT_TO_ONE, False)):
        assert shoal.check(statistics_file(tmp_path / "in.sav", labels), policy).met is met
