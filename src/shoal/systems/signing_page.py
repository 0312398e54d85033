"""One page to sign for a release, written only if the release verifies."""

from __future__ import annotations

from pathlib import Path

from shoal.disk.atomic import write_text
from shoal.errors import OutputError, TamperError
from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.file import read_certificate
from shoal.release.verification import verify


def verified(folder: Path, target: Path, what: str) -> Certificate:
    """The certificate of a release that holds; ``what`` is not written otherwise, nor over another file."""
    if target.exists():
        raise OutputError(f"'{target.name}' exists already.", hint="Name a new file; nothing is written over another.")
    if not verify(folder).ok:
        raise TamperError(f"the release does not hold: {what} is written for it.", hint="Run: shoal verify FOLDER")
    return read_certificate(folder / "certificate.json")


def to_signing_page(release: str | Path, out: str | Path) -> Path:
    """A page (HTML) to print and sign: what leaves, to whom, what can still be learnt, who decided what."""
    from shoal.report.release_report import render_signing_page

    target = Path(out)
    write_text(target, render_signing_page(verified(Path(release), target, "no page")))
    return target
