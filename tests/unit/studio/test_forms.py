"""What pages send: any cut of the stream gives the same form; what is too large or broken is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.errors import UsageError
from shoal.studio import forms

LINE = b"--cut"


def form(parts: list[tuple[str, str | None, bytes]]) -> bytes:
    out = b""
    for name, file, body in parts:
        said = f'Content-Disposition: form-data; name="{name}"' + (f'; filename="{file}"' if file is not None else "")
        out += LINE + b"\r\n" + said.encode() + b"\r\n\r\n" + body + b"\r\n"
    return out + LINE + b"--\r\n"


async def pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(body), size):
        yield body[at : at + size]


def read(body: bytes, target: Path, *, size: int = 7, limit: int = 1000) -> forms.Sent:
    return asyncio.run(forms.read_parts(pieces(body, size), b"cut", target, limit))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.text(st.characters(codec="utf-8"), max_size=30), st.integers(1, 90))
def test_a_file_arrives_as_it_was_however_it_is_cut(tmp_path: Path, body: bytes, text: str, size: int) -> None:
    sent = form([("token", None, b"t"), ("file", "a.csv", body + b"\r\n--cu\r\n"), ("after", None, text.encode())])
    found = read(sent, tmp_path / "file", size=size)
    assert found.fields == {"token": "t", "after": text}
    assert (found.file, found.size) == ("a.csv", len(body) + 8)
    assert (tmp_path / "file").read_bytes() == body + b"\r\n--cu\r\n"


def test_the_limit_is_the_last_size_that_is_taken(tmp_path: Path) -> None:
    assert read(form([("file", "a", b"x" * 1000)]), tmp_path / "f").size == 1000
    with pytest.raises(forms.TooLarge) as error:
        read(form([("file", "a", b"x" * 1001)]), tmp_path / "f")
    assert error.value.status == 413

    async def plain(body: bytes, limit: int) -> int:
        return await forms.write_body(pieces(body, 100), tmp_path / "g", limit)

    assert asyncio.run(plain(b"x" * 500, 500)) == 500
    with pytest.raises(forms.TooLarge):
        asyncio.run(plain(b"x" * 501, 500))


def test_an_empty_file_field_is_no_file(tmp_path: Path) -> None:
    found = read(form([("file", "", b"")]), tmp_path / "f")
    assert (found.file, found.fields) == ("", {})


@pytest.mark.parametrize(
    "body", [b"", b"--cut", b"--cut\r\n", form([("a", None, b"x")])[:-6], b"--cut!!", b"--cut\r\n" + b"h" * 9000]
)
def test_a_form_that_is_broken_is_refused(tmp_path: Path, body: bytes) -> None:
    with pytest.raises(UsageError):
        read(body, tmp_path / "f", size=1000)


def test_fields_and_boundaries() -> None:
    async def fields(body: bytes) -> dict[str, str]:
        return await forms.read_fields(pieces(body, 10))

    assert asyncio.run(fields(b"a=1&b=x+y&c=%C3%A9&d=")) == {"a": "1", "b": "x y", "c": "é", "d": ""}
    with pytest.raises(forms.TooLarge):
        asyncio.run(fields(b"a" * (forms.MOST_TEXT + 1)))
    for wrong in ("multipart/form-data", "multipart/form-data; boundary=" + "x" * 0):
        with pytest.raises(UsageError):
            forms.boundary_of(wrong)


def test_too_many_fields_are_an_error_and_no_hang() -> None:
    async def fields(body: bytes) -> Any:
        return await forms.read_fields(pieces(body, 1000))

    with pytest.raises(UsageError):
        asyncio.run(fields(b"&".join(b"a=1" for _ in range(10_001))))
