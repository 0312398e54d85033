"""The certificate of a written release: gathered, put on a page, signed, and verified before anybody sees it."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.kernels import signatures as sign
from shoal.kernels.text import canonical_text
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
    """A keyed hash of the input: of the bytes of its files, or of the rows of a table in a database; None for frames.

    The hash of rows does not depend on their order: every row, its cells spelled as canonical texts (``v``, their length, a colon
    and the text; ``n`` for a missing one) and joined by the character 31, has its HMAC; they are added up modulo 2²⁵⁶, and the
    number of rows and the sum (64 hexadecimal digits), with a colon between them, are hashed.
    """
    source = str(table.source["source"])
    if "::" in source or "://" in source or source == "-":
        return _rows_hash(table, signer)
    try:
        files = table.files()
        return signer.keyed_hash((c for f in files for c in _chunks(f)), purpose="input") if files else None
    except OSError:
        return None


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as content:
        yield from iter(lambda: content.read(1 << 20), b"")


def _rows_hash(table: Table, signer: sign.Signer) -> str:
    secret = signer.secret("input")
    rows, total = table.sum_of_macs(secret) or _read_and_added_up(table, secret)
    return signer.keyed_hash([f"{rows}:{total % 2**256:064x}".encode()], purpose="input")


def _read_and_added_up(table: Table, secret: bytes) -> tuple[int, int]:
    total = rows = 0
    for batch in table.scan():
        texts = [canonical_text(batch.column(i)) for i in range(batch.num_columns)]
        for line in pc.binary_join_element_wise(*[_spelled(t) for t in texts], "\x1f").to_pylist():
            total += int.from_bytes(hmac.digest(secret, line.encode("utf-8"), "sha256"), "big")
        rows += batch.num_rows
    return rows, total


def _spelled(texts: Any) -> Any:
    """Each text with its length before it, so that neighbours cannot be mistaken; ``n`` for a missing one."""
    plain = texts.cast(pa.string())
    given = pc.binary_join_element_wise("v", pc.utf8_length(plain).cast(pa.string()), ":", plain, "")
    return pc.fill_null(given, "n")
