"""What a forger can do to a release folder: change its certificate, make the report anew, fix the hashes, sign with his key."""

from __future__ import annotations

import contextlib
import json

from shoal.errors import ShoalError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import NAME, REPORT, Certificate
from shoal.model.certificate.form import plain, typed
from shoal.release.certificate.signing import file_entry
from shoal.report.release_report import render


def plain_certificate(folder):
    """The certificate as the JSON object that stands in its file."""
    return json.loads((folder / NAME).read_text())


def sign_anew(folder, made):
    """Any JSON object as a certificate, in the bytes that Shoal writes, under a key of the forger's own."""
    signer = sign.signer()
    key = {"algorithm": "Ed25519", "public": signer.public, "fingerprint": signer.fingerprint, "origin": signer.origin}
    body = {n: v for n, v in made.items() if n not in ("key", "signature")} | {"key": key}
    whole = {**body, "signature": signer.sign(body)}
    text = json.dumps(whole, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    (folder / NAME).write_bytes(text.encode("utf-8"))


def forge(folder, change, *, page=True):
    """Change the certificate and put everything that depends on it right again."""
    made = plain_certificate(folder)
    change(made)
    body = {n: v for n, v in made.items() if n not in ("key", "signature")}
    names = [f["name"] for f in body["files"] if f["name"] != REPORT]
    body["files"] = [plain(file_entry(folder / n)) for n in names]
    if page:
        with contextlib.suppress(ShoalError, KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError):
            read = typed(Certificate, json.loads(sign.canonical(body)))
            (folder / REPORT).write_text(render(read))
    body["files"].append(plain(file_entry(folder / REPORT)))
    sign_anew(folder, body)
