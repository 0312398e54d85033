"""``shoal doctor``: what is installed, what answers, and how to get what is missing."""

import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common
from shoal.errors import ShoalError

EXTRAS = {
    "fast": ("numba", "compiled loops: long searches and event tables, several times as fast"),
    "predict": ("scipy", "predictions that are fitted, questionnaires, tables of counts"),
    "postgres": ("psycopg", "PostgreSQL tables, vault and registry on PostgreSQL"),
    "mysql": ("pymysql", "MySQL and MariaDB tables"),
    "lake": ("deltalake", "Delta and Iceberg tables"),
    "spark": ("pyspark", "Spark tables"),
    "stats": ("pyreadstat", "SPSS, Stata and SAS files"),
    "excel": ("openpyxl", "Excel workbooks"),
    "frames": ("polars", "polars frames back from a release"),
    "sklearn": ("sklearn", "the scikit-learn transformer"),
    "plot": ("matplotlib", "plots as PNG and PDF"),
    "hsm": ("pkcs11", "master keys in a hardware security module"),
    "fakes": ("faker", "made-up names in the place of real ones"),
    "vault": ("sqlalchemy", "the pseudonym vault and the registry"),
    "server": ("fastapi", "shoal serve"),
}
"""Optional parts: the package that shows it is there, and what it is for."""


def doctor(
    tables: Annotated[list[str] | None, typer.Argument(metavar="[TABLE]...", help="Files or ENGINE-URL::table to try.")] = None,
    as_json: common.Json = False,
) -> None:
    """Say what is installed, what works here, and how to get what is missing; try tables and servers that you name.

    Examples: shoal doctor; shoal doctor people.csv postgresql://host/db::people
    """
    findings = [*_core(), *_extras(), *(_table(t) for t in tables or ())]
    if as_json:
        _shared.put_json({"findings": findings})
    else:
        for f in findings:
            _shared.line(f"{_SIGN[f['state']]} {f['name']}: {_shared.printable(f['sentence'])}")
    if any(f["state"] == "broken" for f in findings):
        raise typer.Exit(1)


_SIGN = {"ok": "ok     ", "missing": "missing", "broken": "BROKEN "}


def _finding(name: str, state: str, sentence: str) -> dict[str, str]:
    return {"name": name, "state": state, "sentence": sentence}


def _core() -> Iterator[dict[str, Any]]:
    from shoal import __version__

    yield _finding("shoal", "ok", f"version {__version__} on Python {platform.python_version()}, {sys.platform}")
    yield _finding("machine", "ok", f"{os.cpu_count()} cores")
    for package in ("numpy", "pyarrow", "duckdb", "cryptography"):
        try:
            importlib.import_module(package)
            yield _finding(package, "ok", f"version {importlib.metadata.version(package)}")
        except Exception as error:  # a broken installation can raise anything; its words may hold paths
            yield _finding(
                package, "broken", f"does not load ({type(error).__name__}). Reinstall: pip install --force-reinstall {package}"
            )
    yield _private_folder()


def _private_folder() -> dict[str, str]:
    from shoal.disk import folder

    try:
        with folder.scratch() as place:
            (place / "try").write_bytes(b"")
        return _finding("private folder", "ok", "temporary files can be written, readable by you only")
    except (OSError, ShoalError):
        return _finding("private folder", "broken", "no temporary file can be written. Set TMPDIR to a folder of your own.")


def _extras() -> Iterator[dict[str, str]]:
    for extra, (package, purpose) in EXTRAS.items():
        if importlib.util.find_spec(package) is not None:
            yield _finding(extra, "ok", purpose)
        else:
            yield _finding(extra, "missing", f"{purpose}. Get it: pip install 'shoal[{extra}]'")


def _table(source: str) -> dict[str, str]:
    """Open a table and count its rows; the error tells what to do."""
    import shoal

    try:
        with shoal.open(source) as table:
            return _finding(
                "table", "ok", f"{table.name} ({table.engine}): {table.n_rows():,} rows, {len(table.schema.columns)} columns"
            )
    except ShoalError as error:
        return _finding("table", "broken", " ".join(str(error).split()))
