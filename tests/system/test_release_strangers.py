"""Folders that strangers made: bombs, pipes, links, cycles and endless headers end in a failed check, in little memory."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nursery
import shoal
from release_forging import forge
from shoal.errors import ShoalError, TamperError
from shoal.release.proof import bounds
from shoal.release.proof.bounds import check_arrow
from shoal.release.proof.read import batches, header
from shoal.release.verification import verify


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    rng = np.random.default_rng(3)
    table = pa.table({"age": rng.integers(20, 24, 80), "ill": rng.choice(["flu", "cold"], 80)})
    place = tmp_path_factory.mktemp("strangers")
    return {
        f: shoal.anonymize(table, quasi=["age"], sensitive=["ill"], k=4, format=f).write(place / f)
        for f in ("csv", "excel", "parquet", "arrow")
    }


def copied(releases, form, tmp_path):
    return shutil.copytree(releases[form], tmp_path / "r")


ONE_THREAD = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_IO_THREADS": "2", "MALLOC_ARENA_MAX": "2"}
"""Threads reserve memory: with many processors the limit would be used up before the file is looked at."""
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from shoal.release.verification import verify
result = verify(sys.argv[1])
print([c.sentence for c in result.failed])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))  # not the parent's
"""


def deflated(content, *, last=False):
    """A piece of a compressed file: pieces can be put one after the other, any number of times."""
    packing = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    return packing.compress(content) + packing.flush(zlib.Z_FINISH if last else zlib.Z_FULL_FLUSH)


def test_a_workbook_of_a_megabyte_that_unpacks_to_a_gigabyte_and_a_half(releases, tmp_path):
    """The hashes fit: a forger signed it. What it would unpack to is known before it is unpacked."""
    folder = copied(releases, "excel", tmp_path)
    book = folder / "data.xlsx"
    with zipfile.ZipFile(book) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    sheet = next(name for name in parts if "worksheets/sheet" in name)
    row = b'<row><c t="inlineStr"><is><t>' + b"a" * 1000 + b"</t></is></c></row>"
    start, end = parts.pop(sheet).split(b"</sheetData>")
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name, content in parts.items():
            new.writestr(name, content)
        rows, end = row * 1000, b"</sheetData>" + end
        entry = zipfile.ZipInfo(sheet)
        new.writestr(entry, deflated(start) + deflated(rows) * 1_500 + deflated(end, last=True))
        entry.CRC = zlib.crc32(start)
        for _ in range(1_500):
            entry.CRC = zlib.crc32(rows, entry.CRC)
        entry.CRC, entry.file_size = zlib.crc32(end, entry.CRC), len(start) + 1_500 * len(rows) + len(end)
        entry.compress_type = zipfile.ZIP_DEFLATED
        new.fp.seek(entry.header_offset)
        new.fp.write(entry.FileHeader())
        new.fp.seek(new.start_dir)
    with zipfile.ZipFile(book) as made, made.open(sheet) as unpacked:
        assert unpacked.read(len(start) + 9) == start + rows[:9]
    assert book.stat().st_size < 6_000_000
    forge(folder, lambda c: None)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(folder)], capture_output=True, text=True, env=ONE_THREAD, timeout=600
    )
    assert "unpacks to far more" in done.stdout, done.stderr
    assert int(done.stdout.split()[-1]) < 900_000, "kilobytes at the peak, most of them libraries"


def test_limits_of_a_workbook(tmp_path):
    """Exactly at the limit it is read, one byte beyond not."""
    book = tmp_path / "b.xlsx"
    for size, fine in ((bounds.FREE, True), (bounds.FREE + 1, False)):
        with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr("x", b"0" * size)
        if fine:
            bounds.check_workbook(book)
        else:
            with pytest.raises(TamperError, match="unpacks to far more"):
                bounds.check_workbook(book)
    with zipfile.ZipFile(book, "w") as out:
        for i in range(bounds.MOST_PARTS + 1):
            out.writestr(str(i), b"")
    with pytest.raises(TamperError):
        bounds.check_workbook(book)


def test_a_parquet_file_that_claims_too_many_cells(releases, tmp_path, monkeypatch):
    folder = copied(releases, "parquet", tmp_path)
    monkeypatch.setattr(bounds, "CELLS_PER_BYTE", 0)
    monkeypatch.setattr(bounds, "FREE_CELLS", 160)
    assert verify(folder).ok, "eighty rows of two columns"
    monkeypatch.setattr(bounds, "FREE_CELLS", 159)
    assert any("far more cells" in c.sentence for c in verify(folder).failed)


def test_cells_exactly_at_the_limit(tmp_path):
    file = tmp_path / "f"
    file.write_bytes(b"0" * 100_000)
    bounds.check_cells(file, 100_000 * bounds.CELLS_PER_BYTE, 1)
    with pytest.raises(TamperError):
        bounds.check_cells(file, 100_000 * bounds.CELLS_PER_BYTE + 1, 1)


def test_a_header_that_does_not_end(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text('"' + "a" * (bounds.MOST_HEADER + 70_000))
    with pytest.raises(TamperError, match="does not end"):
        header(file)


@pytest.mark.parametrize("name", ["data.csv", "plan.json", "report.html", "certificate.json", "more"])
def test_a_pipe_is_not_waited_for(releases, tmp_path, name):
    folder = copied(releases, "csv", tmp_path)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    code = "import sys; from shoal.release.verification import verify; print(verify(sys.argv[1]).ok)"
    ended, out, told = nursery.run(code, tmp_path, os.environ, arguments=[str(folder)], kill_after=600)
    assert (ended, out.strip()) == (0, "False"), told


def test_cycles_links_and_many_files(releases, tmp_path):
    folder = copied(releases, "csv", tmp_path)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    assert not verify(folder).ok
    (folder / "loop").unlink()
    (folder / "loop").symlink_to("loop")
    assert not verify(folder).ok
    (folder / "loop").unlink()
    deep = folder
    for _ in range(60):
        deep = deep / "d"
        deep.mkdir()
    assert not verify(folder).ok
    shutil.rmtree(folder / "d")
    for i in range(3_000):
        (folder / f"x{i}").touch()
    assert not verify(folder).ok


def test_texts_of_absurd_length(releases, tmp_path, monkeypatch):
    folder = copied(releases, "csv", tmp_path)
    longest = max((folder / n).stat().st_size for n in ("plan.json", "report.html"))
    monkeypatch.setattr(bounds, "MOST_TEXT", longest)
    assert verify(folder).ok
    monkeypatch.setattr(bounds, "MOST_TEXT", longest - 1)
    assert ["far too long" in c.sentence for c in verify(folder).failed] == [True]


@pytest.mark.parametrize("name", ["plan.json", "certificate.json"])
def test_json_that_is_nested_without_end(releases, tmp_path, name):
    folder = copied(releases, "csv", tmp_path)
    (folder / name).write_text("[" * 200_000)
    if name == "plan.json":
        forge(folder, lambda c: None)
    assert not verify(folder).ok


def limited(folder):
    """Verify in a process with 3 GB; what failed, and the peak in kilobytes."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(folder)], capture_output=True, text=True, env=ONE_THREAD, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, int(done.stdout.split()[-1])


def arrow_file(path, table, **options):
    with pa.ipc.new_file(str(path), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)


def test_an_arrow_file_whose_batches_are_packed(releases, tmp_path):
    """More than a gigabyte of one letter, signed again; it is refused before a batch is unpacked."""
    folder = copied(releases, "arrow", tmp_path)
    schema = pa.schema({"age": pa.int64(), "ill": pa.large_string()})
    text = pa.array(["a" * 300_000_000], pa.large_string())
    batch = pa.record_batch([pa.array([20]), text], schema=schema)
    with pa.ipc.new_file(str(folder / "data.arrow"), schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        for _ in range(4):
            writer.write_batch(batch)
    assert (folder / "data.arrow").stat().st_size < 20_000_000
    forge(folder, lambda c: None)
    said, peak = limited(folder)
    assert "packed batches" in said
    assert peak < 900_000


def test_a_dictionary_that_is_packed_is_seen_too(tmp_path):
    file = tmp_path / "data.arrow"
    arrow_file(file, pa.table({"ill": pa.array(["flu"] * 9).dictionary_encode()}))
    check_arrow(file, 1)
    arrow_file(file, pa.table({"ill": pa.array(["flu" * 999, "cold"] * 9).dictionary_encode()}), compression="zstd")
    with pytest.raises(TamperError, match="packed"):
        check_arrow(file, 1)


def test_rows_of_an_arrow_file_at_the_limit(tmp_path, monkeypatch):
    """Rows of nothing take no bytes: their number is looked at before they are counted."""
    file = tmp_path / "data.arrow"
    arrow_file(file, pa.table({"n": pa.nulls(1_000)}))
    monkeypatch.setattr(bounds, "CELLS_PER_BYTE", 0)
    for allowed, fine in ((1_000, True), (999, False)):
        monkeypatch.setattr(bounds, "FREE_CELLS", allowed)
        if fine:
            check_arrow(file, 1)
        else:
            with pytest.raises(TamperError, match="far more cells"):
                check_arrow(file, 1)


def test_a_parquet_file_that_says_a_long_text_once_for_every_row(releases, tmp_path):
    folder = copied(releases, "parquet", tmp_path)
    n = 400_000
    ill = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), pa.array(["a" * 200_000]))
    pq.write_table(pa.table({"age": pa.array(np.full(n, 20)), "ill": ill}), folder / "data.parquet", store_schema=False)
    assert (folder / "data.parquet").stat().st_size < 2_000_000, "eighty gigabytes, if every row had its text"
    forge(folder, lambda c: None)
    said, peak = limited(folder)
    assert "400,000 records, the certificate states 80" in said, "counts are compared before anything is unpacked"
    assert peak < 900_000


@pytest.mark.parametrize("kind", ["list", "struct", "view"])
def test_columns_of_a_kind_that_is_never_written(tmp_path, kind):
    made = {
        "list": pa.array([[1], [2]]),
        "struct": pa.array([{"a": 1}, {"a": 2}]),
        "view": pa.array(["a", "b"], pa.string_view()),
    }
    file = tmp_path / "data.arrow"
    arrow_file(file, pa.table({"x": made[kind]}))
    with pytest.raises(TamperError, match="does not write"):
        list(batches(file, ["x"]))


@pytest.mark.parametrize("seed", range(6))
def test_bytes_that_nobody_wrote_on_purpose_end_in_an_error(tmp_path, seed):
    """Any byte of an Arrow file may be another: it is read as it is, or refused; nothing else happens."""
    file = tmp_path / "data.arrow"
    arrow_file(file, pa.table({"a": list(range(50)), "b": ["x", "y"] * 25}))
    good, rng = file.read_bytes(), np.random.default_rng(seed)
    for _ in range(60):
        broken = bytearray(good)
        for at in rng.integers(0, len(good), rng.integers(1, 6)):
            broken[at] = int(rng.integers(0, 256))
        file.write_bytes(bytes(broken))
        with contextlib.suppress(ShoalError):
            for batch in batches(file, ["a", "b"]):
                assert batch.num_rows <= len(good) * 1000
