"""The certificate of a written release: gathered, put on a page, signed, and verified before anybody sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import NAME, REPORT, Certificate
from shoal.model.plan import Plan
from shoal.release.certificate.signing import file_entry, signed
from shoal.release.certificate.verify import verify
from shoal.release.make.count_again import Counted
from shoal.report.release_report import render

if TYPE_CHECKING:
    from shoal.engines.table import Table


@dataclass(frozen=True)
class Certified:
    """A signed certificate, its page, and the plan as it is published."""

    certificate: Certificate
    page: str
    plan: Plan


def certify(
    certificate: Certificate, plan: Plan, stage: Path, signer: sign.Signer, table: Table | None, counted: Counted
) -> Certified:
    """Write report and signed certificate beside the data, then verify the whole folder; ``counted`` are its data."""
    body = certificate.as_read  # the page follows from the file of the certificate alone
    page = render(body)
    file = stage / REPORT
    file.write_text(page, encoding="utf-8", newline="\n")
    whole = signed(replace(body, files=(*body.files, file_entry(file))), signer)
    (stage / NAME).write_bytes(whole.to_bytes())
    verify(stage, table=table, counted=(counted.sha256, counted.facts)).require()
    return Certified(whole, page, plan)


def input_hash(table: Table, signer: sign.Signer) -> str | None:
    """A keyed hash of the input file, or None where the input is not one file."""
    source = Path(str(table.source.get("source", "")))
    try:
        if not source.is_file():
            return None
        with source.open("rb") as content:
            return signer.keyed_hash(iter(lambda: content.read(1 << 20), b""), purpose="input")
    except OSError:
        return None
