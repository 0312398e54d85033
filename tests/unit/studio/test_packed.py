"""Zips of releases: packed the same every time; unpacked inside one folder or not at all."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from shoal.errors import DataError
from shoal.studio import packed


def a_zip(place: Path, names: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(place, "w") as out:
        for name, body in names.items():
            out.writestr(name, body)
    return place


def test_packed_and_unpacked_is_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    (folder / "inner").mkdir(parents=True)
    (folder / "certificate.json").write_text("{}")
    (folder / "inner" / "data.csv").write_bytes(b"a,b\n" * 1000)
    for name in ("one.zip", "two.zip"):
        packed.pack(folder, tmp_path / name, "people <1>")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    found = packed.unpack(tmp_path / "one.zip", tmp_path / "out", 10_000)
    assert found == tmp_path / "out" / "people <1>"
    assert (found / "inner" / "data.csv").read_bytes() == b"a,b\n" * 1000


@pytest.mark.parametrize("name", ["../certificate.json", "/certificate.json", "a/../../x", "..\\x", "c:x", "a\\..\\..\\b"])
def test_no_name_leads_elsewhere(tmp_path: Path, name: str) -> None:
    made = a_zip(tmp_path / "x.zip", {"certificate.json": b"{}", name: b"evil"})
    with pytest.raises(DataError):
        packed.unpack(made, tmp_path / "out", 10_000)
    assert sorted(p.name for p in tmp_path.iterdir()) in (["out", "x.zip"], ["x.zip"])


def test_size_number_and_links_are_bounded(tmp_path: Path) -> None:
    whole = a_zip(tmp_path / "a.zip", {"certificate.json": b"{}" * 50})
    packed.unpack(whole, tmp_path / "fits", 100)
    with pytest.raises(DataError):
        packed.unpack(whole, tmp_path / "over", 99)
    many = {f"f{n}": b"" for n in range(packed.MOST_FILES - 1)} | {"certificate.json": b"{}"}
    packed.unpack(a_zip(tmp_path / "b.zip", many), tmp_path / "many", 100)
    with pytest.raises(DataError):
        packed.unpack(a_zip(tmp_path / "c.zip", many | {"one more": b""}), tmp_path / "more", 100)
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as out:
        out.writestr(link, "/etc/passwd")
        out.writestr("certificate.json", "{}")
    with pytest.raises(DataError):
        packed.unpack(tmp_path / "d.zip", tmp_path / "links", 10_000)
    (tmp_path / "e.zip").write_bytes(b"no zip")
    for place in (tmp_path / "e.zip", a_zip(tmp_path / "f.zip", {"x": b""})):
        with pytest.raises(DataError):
            packed.unpack(place, tmp_path / place.stem, 10_000)


def test_a_report_may_show_its_own_style_only() -> None:
    policy = packed.policy_of("<style>a{}</style><style>b{}</style>")
    assert policy.count("'sha256-") == 2
    assert "unsafe" not in policy
    assert "style-src 'none'" in packed.policy_of("<p>")
