"""Sources that are not local files: archives, standard input, object stores, several files, JSON arrays."""

from __future__ import annotations

import gzip
import http.server
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import shoal
from release_forging import plain_certificate
from shoal.errors import UnreadableError, UsageError

TEXT = "age,zip\n30,01234\n30,01234\n41,99999\n"
SIZES = [2, 1]


def sizes(source: str | Path, **options: object) -> list[int]:
    with shoal.open(source, **options) as table:
        assert table.schema.names == ("age", "zip")
        return [int(n) for n in table.count(["age", "zip"]).sizes]


# -- archives -------------------------------------------------------------------------------------------------------------


def archive(file: Path, **members: str) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in members.items():
            out.writestr(name.replace("_", "."), text)
    return file


def test_the_one_file_of_a_zip_archive(tmp_path: Path) -> None:
    file = archive(tmp_path / "people.zip", people_csv=TEXT)
    assert sizes(file) == SIZES
    with shoal.open(file) as table:
        assert table.source["source"] == str(file)
        place = Path(table._relation.source)
        private = list(Path(table._engine.folder).parent.glob(f".shoal-stage-{os.getpid()}-*/people.csv"))  # type: ignore[attr-defined]
        assert len(private) == 1
        assert private[0].parent.stat().st_mode & 0o777 == 0o700
    assert place.exists()
    assert not private[0].exists()
    with pytest.raises(UnreadableError, match="holds 2 files"):
        shoal.open(archive(tmp_path / "two.zip", a_csv=TEXT, b_csv=TEXT))
    (tmp_path / "broken.zip").write_bytes(file.read_bytes()[:60])
    with pytest.raises(UnreadableError, match="not a whole zip"):
        shoal.open(tmp_path / "broken.zip")
    with pytest.raises(UnreadableError, match="unpacks to much more"):
        shoal.open(archive(tmp_path / "bomb.zip", a_csv="a,b\n" + "0,0\n" * 4_000_000))


# -- several files --------------------------------------------------------------------------------------------------------


def test_csv_files_of_a_folder_or_a_pattern_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,zip\n30,01234\n30,01234")  # no line end
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfage,zip\n41,99999\n"))
    (tmp_path / "_ignored.csv").write_text("x\n1\n")
    assert sizes(tmp_path) == sizes(f"{tmp_path}/*.csv*") == SIZES
    assert sizes(f"{tmp_path}/a.*") == [2]
    (tmp_path / "c.csv").write_text("age,city\n1,2\n")
    with pytest.raises(UnreadableError, match=r"'c\.csv' has other columns than 'a\.csv'"):
        shoal.open(tmp_path)


def test_a_folder_of_both_is_one_of_parquet_unless_it_is_said(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1, 1, 2], "zip": ["a", "a", "b"]}), tmp_path / "p.parquet")
    (tmp_path / "notes.txt").write_text("age,zip\n1,x\n")
    assert sizes(tmp_path) == SIZES
    assert sizes(tmp_path, format="csv") == [1]
    assert sizes(f"{tmp_path}/*.parquet") == SIZES


def test_json_arrays(tmp_path: Path) -> None:
    rows = [{"age": 30, "zip": "01234"}, {"age": 30, "zip": "01234"}, {"age": 41, "zip": None}]
    file = tmp_path / "people.json"
    for text in (json.dumps(rows), json.dumps(rows, indent=2), "\n".join(json.dumps(r) for r in rows)):
        file.write_text(text)
        assert sorted(sizes(file)) == sorted(SIZES)
    file.write_text("[1, 2]")
    with pytest.raises(UnreadableError, match="not objects"):
        shoal.open(file)


@pytest.mark.parametrize("delimiter", ["^", ":", "~"])
def test_rare_delimiters(delimiter: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(TEXT.replace(",", delimiter))
    assert sizes(file) == SIZES


# -- standard input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_standard_input(form: str) -> None:
    text = TEXT if form == "csv" else '{"age": 1, "zip": "a"}\n' * 3
    command = [sys.executable, "-m", "shoal", "measure", "-", "--quasi", "age,zip", "--json"]
    command += [] if form == "csv" else ["--read", "format=jsonl"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, json.loads(done.stdout)["records"]) == (0, 3), done.stderr


def test_empty_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(UnreadableError, match="nothing came"):
        shoal.open("-")
    with pytest.raises(UsageError, match="cannot be read from standard input"):
        shoal.open("-", format="excel")


# -- object stores --------------------------------------------------------------------------------------------------------


class Store(http.server.BaseHTTPRequestHandler):
    """The three requests of S3 that reading needs: HEAD and GET (also in parts) of an object, and a list of objects."""

    objects: ClassVar[dict[str, bytes]] = {}

    def do_HEAD(self) -> None:
        self._object(body=False)

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if "list-type" not in query:
            self._object(body=True)
            return
        prefix = query.get("prefix", [""])[0]
        found = {k: v for k, v in self.objects.items() if k.startswith(f"bucket/{prefix}")}
        listed = "".join(f"<Contents><Key>{k[7:]}</Key><Size>{len(v)}</Size></Contents>" for k, v in found.items())
        head = f"<Name>bucket</Name><KeyCount>{len(found)}</KeyCount><IsTruncated>false</IsTruncated>"
        self._answer(200, f"<ListBucketResult>{head}{listed}</ListBucketResult>".encode(), {})

    def _object(self, *, body: bool) -> None:
        content = self.objects.get(unquote(urlsplit(self.path).path).strip("/"))
        if content is None:
            self._answer(404, b"", {})
        elif "Range" in self.headers:
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            self._answer(206, content[int(first) : int(last) + 1], {})
        else:
            self._answer(200, content, {}, body=body)

    def _answer(self, code: int, content: bytes, headers: dict[str, str], *, body: bool = True) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", '"x"')
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if body and self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if not hasattr(fs, "S3FileSystem"):
        pytest.skip("this build of pyarrow has no S3")
    sink = io.BytesIO()
    pq.write_table(pa.table({"age": [30, 30, 41], "zip": ["a", "a", "b"]}), sink)
    Store.objects = {"bucket/d/people.csv": TEXT.encode(), "bucket/folder/x.parquet": sink.getvalue()}
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"endpoint_override=127.0.0.1%3A{server.server_port}&scheme=http&region=x"
    server.shutdown()
    server.server_close()
    thread.join()


def test_files_and_folders_of_an_object_store(store: str) -> None:
    assert sizes(f"s3://bucket/d/people.csv?{store}") == SIZES
    assert sizes(f"s3://bucket/folder?{store}") == SIZES
    with pytest.raises(UnreadableError, match=r"'s3://bucket/none\.csv' does not exist") as caught:
        shoal.open(f"s3://bucket/none.csv?{store}")
    assert "endpoint" not in str(caught.value)
    assert not [n for n in os.listdir() if n.startswith("s3")]


def test_delta_tables_of_an_object_store(store: str, tmp_path: Path) -> None:
    lake = pytest.importorskip("deltalake")
    folder = tmp_path / "people"
    lake.write_deltalake(str(folder), pa.table({"age": [30, 30, 41], "zip": ["a", "a", "b"]}))
    lake.DeltaTable(str(folder)).delete("age > 40")
    Store.objects |= {f"bucket/lake/{p.relative_to(folder)}": p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    for source, rows, version in ((f"s3://bucket/lake?{store}", 2, 1), (f"delta::s3://k:SECRET@bucket/lake?{store}@0", 3, 0)):
        with shoal.open(source) as table:
            assert (table.n_rows(), table.source["version"]) == (rows, version)
            assert "SECRET" not in str(table.source) + repr(table)
    with shoal.open(f"delta::s3://bucket/lake?{store}@1") as table:
        assert (table.n_rows(), table.source["source"]) == (2, "delta::s3://bucket/lake@1")
    with pytest.raises(UnreadableError, match="'s3://bucket/folder' is not a Delta table"):
        shoal.open(f"delta::s3://bucket/folder?{store}")
    with pytest.raises(UnreadableError, match="'s3://bucket/lake' is not an Iceberg table"):
        shoal.open(f"iceberg::s3://bucket/lake?{store}")
    part = next(k for k in Store.objects if k.startswith("bucket/lake/") and k.endswith(".parquet"))
    Store.objects["bucket/lake/year=1/x.parquet"] = Store.objects[part]
    for inside in (part, "bucket/lake/year=1", "bucket/lake/_delta_log"):
        with pytest.raises(UsageError, match="belongs to the Delta table 's3://bucket/lake'"):
            shoal.open(f"s3://k:SECRET@{inside}?{store}")
    with pytest.raises(UsageError, match="belongs to the Delta table 's3://bucket/lake'"):
        shoal.open(f"s3://bucket/lake?{store}", format="parquet")


@pytest.fixture
def iceberg(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """A table that was written to the store (by way of a folder), one row removed since; its first snapshot."""
    memory, own = pytest.importorskip("pyiceberg.catalog.memory"), pytest.importorskip("pyiceberg.io.pyarrow").PyArrowFileIO
    plain = own.parse_location

    def here(location: str, properties: object = None) -> tuple[str, str, str]:
        return "file", "", f"{tmp_path}/{plain(location)[2]}"

    with monkeypatch.context() as writing:
        writing.setattr(own, "parse_location", staticmethod(here))
        catalog = memory.InMemoryCatalog("c", warehouse="s3://bucket/ice")
        catalog.create_namespace("n")
        people = pa.table({"age": [30, 30, 41], "zip": ["a", "a", "b"]})
        table = catalog.create_table("n.people", schema=people.schema)
        table.append(people)
        first = table.current_snapshot().snapshot_id
        table.delete("age > 40")
        catalog.close()
    for file in tmp_path.rglob("*.metadata.json"):  # what a table asks of its reader, a class and a server, is not followed
        told = json.loads(file.read_text())
        told["properties"] = {"py-io-impl": "nobody.Nothing", "s3.endpoint": "http://127.0.0.1:1"}
        file.write_text(json.dumps(told))
    Store.objects |= {str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    return "s3://bucket/ice/n/people", first


def test_iceberg_tables_of_an_object_store(store: str, iceberg: tuple[str, int], tmp_path: Path) -> None:
    address, first = iceberg
    for source in (f"{address}?{store}", f"iceberg::{address.replace('//', '//k:SECRET@')}?{store}"):
        with shoal.open(source) as table:
            assert table.n_rows() == 2
            assert table.source["source"] == f"iceberg::{address}@{table.source['version']}"
            assert "SECRET" not in str(table.source) + repr(table)
            asked = shoal.anonymize(table, quasi=["age", "zip"], k=2)
            asked.write(tmp_path / f"release{len(source)}")
            told = plain_certificate(tmp_path / f"release{len(source)}")["input"]
            assert (told["records"], told["snapshot"]) == (2, f"iceberg snapshot {table.source['version']}")
            assert told["keyed_hash"]
    with shoal.open(f"iceberg::{address}?{store}@{first}") as table:
        assert (table.n_rows(), table.source["source"]) == (3, f"iceberg::{address}@{first}")
    with pytest.raises(UnreadableError, match="has no snapshot 7"):
        shoal.open(f"iceberg::{address}?{store}@7")
    for inside in (f"{address}/data", next(f"s3://{k}" for k in Store.objects if "/ice/" in k and k.endswith(".parquet"))):
        with pytest.raises(UsageError, match=f"belongs to the Iceberg table '{address}'"):
            shoal.open(f"{inside}?{store}")
    copy = tmp_path / "copy"
    (tmp_path / "bucket/ice/n/people").rename(copy)
    with pytest.raises(UnreadableError, match="files in another place"):
        shoal.open(copy).n_rows()
    for key in [k for k in Store.objects if k.endswith(".parquet")]:
        del Store.objects[key]
    with shoal.open(f"iceberg::{address}?{store}@{first}") as table, pytest.raises(UnreadableError, match="cannot be read"):
        table.n_rows()


def test_objects_that_change_between_count_and_recode_are_not_seen(store: str, tmp_path: Path) -> None:
    """The run reads its own copy."""
    for key, source in (("bucket/d/people.csv", "d/people.csv"), ("bucket/folder/x.parquet", "folder")):
        kept = dict(Store.objects)
        with shoal.open(f"s3://bucket/{source}?{store}") as table:
            made = shoal.anonymize(table, quasi=["age", "zip"], k=2, allow={"loss": 1})
            del Store.objects[key]
            made.write(tmp_path / key.replace("/", "-"))
        told = plain_certificate(tmp_path / key.replace("/", "-"))
        assert (told["input"]["records"], told["before"]["records"]) == (3, 3)
        assert told["input"]["keyed_hash"]
        Store.objects = kept


def test_credentials_in_an_address_are_never_shown(store: str) -> None:
    with shoal.open(f"s3://key:SECRET@bucket/d/people.csv?{store}") as table:
        assert table.source["source"] == "s3://bucket/d/people.csv"
        assert table.name == "people"
        assert "SECRET" not in repr(table)
    for wrong in ("bucket/none.csv", "bucket"):
        with pytest.raises(UnreadableError) as caught:
            shoal.open(f"s3://key:SECRET@{wrong}?{store}")
        assert "SECRET" not in str(caught.value) + repr(caught.value)


def test_a_store_of_google_is_not_asked_for_ever() -> None:
    from shoal.engines.files.brought import PATIENCE, _patient

    assert _patient("gs://b/x") == f"gs://b/x?retry_limit_seconds={PATIENCE}"
    assert _patient("gcs://b/x?scheme=http") == f"gcs://b/x?scheme=http&retry_limit_seconds={PATIENCE}"
    assert _patient("gs://b/x?retry_limit_seconds=3") == "gs://b/x?retry_limit_seconds=3"
    assert _patient("s3://b/x") == "s3://b/x"
