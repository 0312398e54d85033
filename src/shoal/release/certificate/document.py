"""The certificate: what is claimed of a release, in a form that a machine re-checks and a board reads.

A certificate holds counts, column names, thresholds and sentences, never a data value. Its bytes are canonical, its
signature covers every other byte of it, and it names the SHA-256 of every other file of the release.
"""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from typing import Any

from shoal.errors import InternalError, TamperError
from shoal.kernels import signatures as sign

FORMAT = "shoal-certificate/1"
NAME = "certificate.json"
PLAN = "plan.json"
REPORT = "report.html"
MAX_BYTES = 50_000_000

LIMITS = (
    "The numbers hold for the columns named as quasi-identifiers: an attacker who knows others may do better.",
    "Free text, images and rare events that were in the news are not examined.",
    "Whether the release is lawful and fair is for people to decide; this page is evidence, not a legal opinion.",
    "Of the Five Safes only data and outputs are measured here; people, projects and settings are as stated by the publisher.",
)

SIGNED = "the attacks, the levels of the plan, and numbers about the original table"
"""What verify does not work out again."""

TRIGGERS = "Look again when more data about the same people are published, when the table is updated, or at the review date."


def today(stated: str | None) -> str:
    """The date of a certificate: as stated, else of the clock (``SOURCE_DATE_EPOCH`` where it is set), in UTC."""
    if stated:
        return stated
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC) if epoch.isdigit() else datetime.datetime.now(datetime.UTC)
    return moment.date().isoformat()


def file_entry(path: Path) -> dict[str, Any]:
    """Name, size and hash of a file of the release."""
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": sign.sha256_file(path)}


def signed(body: dict[str, Any], signer: sign.Signer) -> dict[str, Any]:
    """The body with the public key and the signature over everything else."""
    key = {"algorithm": "Ed25519", "public": signer.public, "fingerprint": signer.fingerprint, "origin": signer.origin}
    whole = {**body, "key": key}
    return {**whole, "signature": signer.sign(whole)}


def to_bytes(certificate: dict[str, Any]) -> bytes:
    """The one form in which a certificate is written: sorted, indented by one, UTF-8, a line feed at the end."""
    sign.canonical(certificate)
    return (json.dumps(certificate, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def read(path: Path) -> dict[str, Any]:
    """A certificate from its file; one byte that Shoal would have written otherwise and it is refused."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise TamperError("the certificate is far too long.")
        content = path.read_bytes()
        loaded = json.loads(content.decode("utf-8"), object_pairs_hook=_no_twins)
    except FileNotFoundError:
        raise TamperError(f"there is no '{NAME}' in the folder.", hint="Name the folder given to --out.") from None
    except OSError as error:
        raise TamperError(
            f"the certificate cannot be read: {type(error).__name__}.", hint=f"Is '{NAME}' in the folder?"
        ) from None
    except (ValueError, RecursionError):
        raise TamperError("the certificate is not valid JSON.", hint="Ask the publisher for the release again.") from None
    if not isinstance(loaded, dict) or loaded.get("format") != FORMAT:
        raise TamperError(f"the certificate is not of format '{FORMAT}'.", hint="It may come from another version of Shoal.")
    try:
        again = to_bytes(loaded)
    except (InternalError, ValueError, RecursionError):  # numbers that are not finite, text that is not Unicode
        raise TamperError(
            "the certificate holds what Shoal never writes.", hint="Ask the publisher for the release again."
        ) from None
    if again != content:
        raise TamperError("the certificate was rewritten: its bytes are not as Shoal writes them.")
    return loaded


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a name stands twice")
    return out


def check_signature(certificate: dict[str, Any]) -> None:
    """Raise :class:`~shoal.errors.TamperError` unless the signature covers the certificate."""
    body = {k: v for k, v in certificate.items() if k != "signature"}
    key = body.get("key")
    if not isinstance(key, dict) or not isinstance(key.get("public"), str) or not isinstance(certificate.get("signature"), str):
        raise TamperError("the certificate carries no signature.")
    sign.check_signature(body, certificate["signature"], key["public"])
    if key.get("fingerprint") != sign.fingerprint(key["public"]):
        raise TamperError("the fingerprint of the key in the certificate is not its own.")
    if key.get("origin") not in sign.ORIGINS or key.get("algorithm") != "Ed25519":
        raise TamperError("the certificate says of its key what Shoal never writes.")


def verdict(found: dict[str, Any]) -> str:
    """The one sentence at the top.

    >>> asked = {"k": 5, "quasi": ["age"], "unit": None, "scope": "rows", "records": 5, "classes": 1, "suppressed": 0}
    >>> verdict({**asked, "input": 50, "drawn": 5}).split(": ")[1][:59]
    'the smallest class holds 5 records (5 records in 1 class, 0'
    """
    quasi = ", ".join(found["quasi"])
    who = "people" if found["unit"] else "records"
    lost = "left out" if found["scope"] == "rows" else "with blanked quasi-identifiers"
    classes = "1 class" if found["classes"] == 1 else f"{found['classes']:,} classes"
    part = "" if found["drawn"] is None else f" They are a sample: {found['drawn']:,} of {found['input']:,} records were drawn."
    return (
        f"Everyone is alike with at least {found['k'] - 1:,} others on {quasi}: the smallest class holds {found['k']:,} {who} "
        f"({found['records']:,} records in {classes}, {found['suppressed']:,} {lost}).{part} "
        "Missing values count as values of their own."
    )


def proof(unit: str | None, published: str | None) -> dict[str, str]:
    """What can be counted again from the written data alone, and what rests on the publisher's signature.

    >>> proof(None, None)["signed"], proof("id", None)["recounted"]
    ('the attacks, the levels of the plan, and numbers about the original table', 'records: every number under after')
    """
    if unit is None:
        return {
            "unit": "records",
            "recounted": "records: every number under after, and k",
            "signed": SIGNED,
            "sentence": "k counts records. Anyone can count it again from the data.",
        }
    if published is not None:
        return {
            "unit": "people",
            "recounted": "people: every number under after, and k",
            "signed": SIGNED,
            "sentence": f"k counts people by the published column '{published}'. Anyone can count it again from the data.",
        }
    return {
        "unit": "people",
        "recounted": "records: every number under after",
        "signed": f"people: every number under after_people, and k; {SIGNED}",
        "sentence": "k counts people. They were counted before the person column was left out, and rest on the publisher's "
        "signature. From the data anyone can count records again, which gives an upper bound: a class never holds more people "
        "than records.",
    }
