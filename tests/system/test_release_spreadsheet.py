"""Cells that a spreadsheet would run as a formula are inert in a release, and stay so after LibreOffice opens and saves it."""

from __future__ import annotations

import csv
import shutil
import subprocess

import pyarrow as pa
import pytest

import shoal
from shoal.release.verification import verify

FORMULAS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    '=HYPERLINK("file:///x","y")',
    "＝1+1",
    "=cmd|' /C calc'!A0",
    "-5",
    "plain",
]


@pytest.fixture
def table():
    n = len(FORMULAS) * 4
    return pa.table({"=group": ["a", "b"] * (n // 2), "note": (FORMULAS * 4)[:n], "amount": [3 * i - n for i in range(n)]})


ASKED = {
    "roles": {"quasi": ["=group"], "sensitive": ["note"], "insensitive": ["amount"]},
    "require": {"k": 2},
    "allow": {"identifying": ["note"]},
}


def test_csv_cells_do_not_begin_like_formulas(table, tmp_path):
    folder = shoal.anonymize(table, ASKED).write(tmp_path / "out")
    with (folder / "data.csv").open(newline="", encoding="utf-8") as source:
        rows = list(csv.reader(source))
    assert not rows[0][0].startswith("=")
    for row in rows[1:]:
        assert not row[1].lstrip(" ").startswith(("=", "+", "@", "\t", "\r", "＝"))
        float(row[2])
    assert verify(folder).ok


def test_excel_cells_are_text(table, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    folder = shoal.anonymize(table, ASKED, format="excel").write(tmp_path / "out")
    sheet = openpyxl.load_workbook(folder / "data.xlsx").active
    assert all(cell.data_type != "f" for row in sheet.iter_rows() for cell in row)
    assert verify(folder).ok


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "excel"])
def test_libreoffice_runs_nothing(table, tmp_path, form):
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("LibreOffice is not installed, so opening and saving with it cannot be tried")
    openpyxl = pytest.importorskip("openpyxl")
    folder = shoal.anonymize(table, ASKED, format=form).write(tmp_path / "out")
    data = next(folder.glob("data.*"))
    words = [
        office,
        f"-env:UserInstallation=file://{tmp_path}/profile",
        "--headless",
        "--convert-to",
        "xlsx",
        "--outdir",
        str(tmp_path / "saved"),
        str(data),
    ]
    subprocess.run(words, check=True, capture_output=True, timeout=300)
    sheet = openpyxl.load_workbook(tmp_path / "saved" / "data.xlsx").active
    cells = [cell for row in sheet.iter_rows() for cell in row]
    assert all(cell.data_type != "f" for cell in cells)
    assert not any(cell.value == 2 and cell.column == 2 for cell in cells), "no cell was computed"
