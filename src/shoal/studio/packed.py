"""Release folders as zip files: packed the same way every time, unpacked with suspicion."""

from __future__ import annotations

import base64
import hashlib
import re
import stat
import zipfile
from pathlib import Path, PurePosixPath

from shoal.errors import DataError

MOST_FILES = 500
DAY = (1980, 1, 1, 0, 0, 0)


def pack(folder: Path, target: Path, name: str) -> None:
    """The files of a folder below one name; the same bytes for the same files."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(f"{name}/{path.relative_to(folder).as_posix()}", DAY)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with path.open("rb") as file, out.open(entry, "w", force_zip64=True) as into:
                while piece := file.read(1 << 20):
                    into.write(piece)


def unpack(packed: Path, target: Path, limit: int) -> Path:
    """The folder with the certificate, from a zip; no name leaves ``target``, nothing is larger than it says."""
    try:
        with zipfile.ZipFile(packed) as archive:
            entries = [e for e in archive.infolist() if not e.is_dir()]
            if len(entries) > MOST_FILES or sum(e.file_size for e in entries) > limit:
                raise DataError("Found: more files, or larger ones, than a release has.", hint="Choose the zip of a release.")
            for entry in entries:
                place = target / _inside(entry)
                place.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as file, place.open("xb") as out:
                    left = entry.file_size
                    while piece := file.read(1 << 20):
                        left -= len(piece)
                        if left < 0:
                            raise DataError("Found: a file that is larger than it says.", hint="Choose the zip of a release.")
                        out.write(piece)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError, EOFError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("This file is not a readable zip archive.", hint="Choose the zip of a release folder.") from None
    inside = sorted(target.rglob("certificate.json"), key=lambda p: len(p.parts))
    if not inside:
        raise DataError("Found: a zip without a certificate.json.", hint="Choose the zip of a release folder.")
    return inside[0].parent


def _inside(entry: zipfile.ZipInfo) -> Path:
    """The path of an entry, which must stay below the folder it is unpacked in."""
    name = PurePosixPath(entry.filename.replace("\\", "/"))
    odd = name.is_absolute() or ".." in name.parts or ":" in entry.filename or "\0" in entry.filename
    if odd or not name.parts or stat.S_ISLNK(entry.external_attr >> 16):
        raise DataError("Found: a zip whose names lead elsewhere.", hint="Choose the zip of a release folder.")
    return Path(*name.parts)


def policy_of(page: str) -> str:
    """The content policy of a report: its own style, by its digest, and nothing else; only our own page may hold it."""
    styles = re.findall(r"<(?:style)>(.*?)</(?:style)>", page, re.S)
    digests = [base64.b64encode(hashlib.sha256(s.encode("utf-8")).digest()).decode("ascii") for s in styles]
    allowed = " ".join(f"'sha256-{d}'" for d in digests) or "'none'"
    return f"default-src 'none'; style-src {allowed}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
