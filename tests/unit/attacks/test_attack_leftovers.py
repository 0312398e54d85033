"""Leftovers: order, row numbers and metadata are found; a shuffled clean file is not accused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.attacks.leftovers import leftovers, metadata_of, neighbour_score, trend_score


@pytest.fixture
def shuffled() -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {"zip": rng.choice(["12**", "13**", "14**"], 2000), "age": rng.integers(0, 90, 2000), "cost": rng.normal(size=2000)}
    )


def test_a_shuffled_table_is_clean(shuffled):
    assert leftovers(shuffled).verdict == "holds"


def test_a_sorted_column_is_found(shuffled):
    found = leftovers(shuffled.sort_by("age"))
    assert found.verdict == "warning"
    assert "'age'" in found.sentence
    assert "'cost'" not in found.sentence


def test_groups_left_together_are_found_even_when_not_sorted(shuffled):
    order = {"12**": 1, "13**": 2, "14**": 0}
    rank = pa.array([order[z] for z in shuffled["zip"].to_pylist()])
    together = shuffled.append_column("rank", rank).sort_by("rank").drop_columns("rank")
    assert "'zip'" in leftovers(together).sentence


def test_row_numbers_are_found(shuffled):
    numbers = np.random.default_rng(1).permutation(2000) + 17
    assert "numbers the rows" in leftovers(shuffled.append_column("row", pa.array(numbers))).sentence


def test_parquet_metadata_is_found_by_name_only(shuffled, tmp_path):
    dirty, clean = tmp_path / "dirty.parquet", tmp_path / "clean.parquet"
    pq.write_table(shuffled.replace_schema_metadata({"pandas": "CANARY-VALUE"}), dirty)
    pq.write_table(shuffled, clean)
    found = leftovers(shuffled, (dirty,))
    assert "'pandas'" in found.sentence
    assert "CANARY" not in found.sentence
    assert leftovers(shuffled, (clean,)).verdict == "holds"


def test_missing_values_and_small_tables_have_a_defined_answer():
    assert leftovers(pa.table({"a": [1, None, 3]})).verdict == "holds"
    assert leftovers(pa.table({"a": pa.array([None] * 60, pa.int64())})).verdict == "holds"
    assert leftovers(pa.table({"a": ["x"] * 60})).verdict == "holds"


def test_false_alarms_are_rare_and_true_ones_certain():
    rng = np.random.default_rng(2)
    scores = [neighbour_score(rng.integers(0, m, 500)) for m in (2, 3, 10, 50) for _ in range(250)]
    assert max(abs(s) for s in scores) < 6
    assert 0.8 < np.std(scores) < 1.2
    trends = [trend_score(rng.integers(0, 10, 500)) for _ in range(500)]
    assert 0.85 < np.std(trends) < 1.15


def test_a_column_of_codes_is_judged_as_its_values():
    """Dictionaries in any order, with a missing value in them or among the codes, give the finding of the plain column."""
    values = ["b", "a", None, "c"]
    for codes in (np.repeat(np.arange(4, dtype=np.int8), 50), np.random.default_rng(1).integers(0, 4, 200).astype(np.int8)):
        plain = pa.array([values[c] for c in codes])
        inside = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values))
        among = plain.dictionary_encode()
        told = {leftovers(pa.table({"x": column})).sentence for column in (plain, inside, among)}
        assert len(told) == 1


def test_the_trend_is_the_correlation_with_the_row_number():
    for codes in (np.random.default_rng(3).integers(0, 9, 400), np.arange(60) // 7, np.arange(50)[::-1]):
        expected = np.corrcoef(codes, np.arange(len(codes)))[0, 1] * np.sqrt(len(codes) - 1)
        assert trend_score(codes) == pytest.approx(expected, rel=1e-12)


def column(values: object) -> pa.Table:
    return pa.table({"x": values})


@pytest.mark.parametrize(("rows", "verdict"), [(49, "holds"), (50, "warning")])
def test_order_and_numbers_are_looked_for_from_fifty_rows_on(rows: int, verdict: str) -> None:
    numbers = np.random.default_rng(4).permutation(rows)
    for values in (np.arange(rows) * 7, np.arange(rows)[::-1] * 7, numbers):
        assert leftovers(column(values)).verdict == verdict


def test_neighbours_are_compared_from_fifty_rows_on() -> None:
    alike = np.repeat(np.arange(5), 10)
    assert neighbour_score(alike) > 6
    assert neighbour_score(alike[:49]) == 0


def test_order_in_either_direction_is_found() -> None:
    """Falling numbers, and neighbours that are alike less often than by chance."""
    assert "ordered by column 'x'" in leftovers(column(np.arange(300)[::-1] * 3)).sentence
    assert neighbour_score(np.arange(300) % 2) < -6
    assert "ordered by column 'x'" in leftovers(column(np.arange(300) % 2)).sentence


def test_as_many_alike_neighbours_as_chance_gives_score_zero() -> None:
    there, back = np.arange(40), np.arange(40)[::-1]  # 119 pairs of neighbours, of which 2 / 119 are alike by chance: two
    assert neighbour_score(np.concatenate([there, back, there])) == pytest.approx(0, abs=1e-12)


def test_one_pair_of_equal_values_side_by_side_is_no_order() -> None:
    values = np.random.default_rng(3).permutation(2000) * 5
    values[1000] = values[1001]
    assert neighbour_score(np.unique(values, return_inverse=True)[1]) == 0
    assert leftovers(column(values)).verdict == "holds"


def test_equal_rows_side_by_side_tell_nothing_unless_the_others_are_in_order() -> None:
    values = np.random.default_rng(3).integers(0, 900, 1000)
    assert leftovers(column(np.repeat(values, 2))).verdict == "holds"
    assert leftovers(column(np.repeat(np.sort(values), 2))).verdict == "warning"


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([*range(100)], "warning"),
        ([*range(99), 100], "holds"),  # a number is left out
        ([*range(40), *range(41, 100), 50], "holds"),  # one comes twice
        ([*range(99), None], "holds"),
        ([float(i) for i in range(100)], "holds"),
    ],
)
def test_a_column_numbers_the_rows_if_no_number_is_missing_or_repeated(values: list[object], verdict: str) -> None:
    mixed = [values[i] for i in np.random.default_rng(2).permutation(100)]
    assert leftovers(column(mixed)).verdict == verdict


CELLS = {
    "[Content_Types].xml": "<x/>",
    "_rels/.rels": "<x/>",
    "docProps/app.xml": "<x/>",
    "docProps/core.xml": "<cp:coreProperties><dc:creator></dc:creator></cp:coreProperties>",
    "xl/workbook.xml": '<sheet name="Sheet1" hidden="0"/>',
    "xl/worksheets/sheet1.xml": "<sheetData/>",
}
AUTHOR, PARTS, HIDDEN = "names its author", "other parts besides its cells", "hides rows, columns or names"


@pytest.mark.parametrize(
    ("part", "text", "told"),
    [
        ("docProps/core.xml", "<dc:creator>Ann</dc:creator>", [AUTHOR]),
        ("docProps/core.xml", "<cp:lastModifiedBy>Ann</cp:lastModifiedBy>", [AUTHOR]),
        ("docProps/core.xml", '<dc:creator xml:lang="en">Ann</dc:creator>', [AUTHOR]),
        ("docProps/core.xml", '<dc:creator/>\n<cp:lastModifiedBy xml:lang="en"/>\n<dc:title>Ann</dc:title>', []),
        ("docProps/core.xml.bak", "<x/>", [PARTS]),
        ("_rels/.rels.old", "<x/>", [PARTS]),
        ("docProps/app.xml", "<Application>Calc</Application><Company></Company>", []),
        ("docProps/app.xml", "<Manager>Ann</Manager>", [AUTHOR]),
        ("docProps/app.xml", "<Company>Ann and sons</Company>", [AUTHOR]),
        ("docProps/custom.xml", "<dc:creator>Ann</dc:creator>", [AUTHOR, PARTS]),
        ("xl/comments1.xml", "<x/>", [PARTS]),
        ("xl/worksheets/sheet2.xml", "<x/>", [PARTS]),
        ("xl/worksheets/sheet1.xml", '<row hidden="1"/>', [HIDDEN]),
        ("xl/worksheets/sheet1.xml", '<row hidden="false"/>', []),
        ("xl/workbook.xml", '<sheet state="veryHidden"/>', [HIDDEN]),
        ("xl/workbook.xml", "<definedName>x</definedName>", [HIDDEN]),
        ("xl/workbook.xml", "<definedNames/>", []),
        ("xl/styles.xml", '<x hidden="1"/>', []),
    ],
)
@pytest.mark.parametrize("ending", [".xlsx", ".xlsm", ".XLSX"])
def test_a_workbook_of_cells_carries_nothing_else(tmp_path: Path, part: str, text: str, told: list[str], ending: str) -> None:
    def workbook(parts: dict[str, str]) -> list[str]:
        with zipfile.ZipFile(tmp_path / f"book{ending}", "w") as book:
            for name, content in parts.items():
                book.writestr(name, content)
        return metadata_of(tmp_path / f"book{ending}")

    assert workbook(CELLS) == []
    assert workbook({**CELLS, part: text}) == [
        f"the workbook {'holds comments, pictures or ' if t is PARTS else ''}{t}" for t in told
    ]


def test_notes_of_an_arrow_file_and_values_that_no_record_has(tmp_path: Path) -> None:
    values = pa.array(["a", "b", "a"])
    listed = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1], pa.int8()), pa.array(["a", "b", "c"]))
    told = {}
    for name, table in {
        "plain.arrow": pa.table({"x": values, "y": values.dictionary_encode()}),
        "table.arrow": pa.table({"x": values}).replace_schema_metadata({"note": "of Ann"}),
        "column.feather": pa.table({"x": values}, schema=pa.schema([pa.field("x", pa.string(), metadata={"note": "of Ann"})])),
        "listed.arrow": pa.table({"x": listed}),
    }.items():
        with pa.ipc.new_file(tmp_path / name, table.schema) as out:
            out.write_table(table)
        told[name] = metadata_of(tmp_path / name)
    carries, lists = ["the Arrow file carries metadata"], ["the Arrow file lists values that no record has"]
    assert told == {"plain.arrow": [], "table.arrow": carries, "column.feather": carries, "listed.arrow": lists}


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_title_or_notes_of_a_statistics_file(tmp_path: Path, ending: str) -> None:
    import pandas as pd
    import pyreadstat

    write = pyreadstat.write_sav if ending == ".sav" else pyreadstat.write_dta
    frame, file = pd.DataFrame({"x": [1.0, 2.0]}), tmp_path / f"out{ending}"
    write(frame, str(file))
    assert metadata_of(file) == []
    write(frame, str(file), file_label="of Ann")
    assert metadata_of(file) == ["the file carries notes or a title"]
    if ending == ".sav":
        write(frame, str(file), note="of Ann")
        assert metadata_of(file) == ["the file carries notes or a title"]


def test_notes_about_columns_of_a_parquet_file_wherever_they_stand(tmp_path: Path) -> None:
    import base64

    plain, file = pa.schema([("x", pa.int64())]), tmp_path / "x.parquet"
    noted = pa.schema([pa.field("x", pa.int64(), metadata={"note": "of Ann"})])
    inside = base64.b64encode(plain.with_metadata({"note": "of Ann"}).serialize())
    spark = '{"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": true, "metadata": %s}]}'
    nested = '{"fields": [{"name": "x", "type": {"type": "struct", "fields": []}, "metadata": {}}]}'
    name = "org.apache.spark.sql.parquet.row.metadata"
    about_columns, about_spark = ["the Parquet file carries metadata of columns"], [f"the Parquet file carries metadata '{name}'"]
    for schema, more, told in (
        (plain, {}, []),
        (noted, {}, about_columns),
        (plain, {"ARROW:schema": inside}, about_columns),
        (plain, {name: spark % "{}", "org.apache.spark.version": "4.0"}, []),
        (plain, {name: spark % '{"comment": "of Ann"}'}, about_spark),
        (plain, {name: nested}, about_spark),
    ):
        with pq.ParquetWriter(file, schema, store_schema="ARROW:schema" not in more) as out:
            out.write_table(pa.table({"x": [1, 2]}, schema=schema))
            out.add_key_value_metadata(more)
        assert metadata_of(file) == told


def test_the_files_of_a_folder_are_looked_at_and_each_finding_is_named_once(tmp_path: Path) -> None:
    for part in ("a", "b"):
        pq.write_table(pa.table({"x": [1]}).replace_schema_metadata({"note": "of Ann"}), tmp_path / f"{part}.parquet")
    (tmp_path / "c.csv").write_text("x\n1\n")
    found = leftovers(column([1.5]), (tmp_path,))
    assert (found.verdict, found.rate) == ("warning", pytest.approx(1 / 3))
    assert found.sentence == "The Parquet file carries metadata 'note'."
