"""What a forger can do to a release folder: change its certificate, make the report anew, fix the hashes, sign with his key."""

from __future__ import annotations

import contextlib
import json

from shoal.errors import ShoalError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import NAME, REPORT, Certificate
from shoal.model.certificate.form import plain, typed
from shoal.model.certificate.halves import HEAD, flat_form, halves
from shoal.release.certificate.signing import file_entry
from shoal.report.release_report import render


def plain_certificate(folder):
    """The certificate in one piece, as plain values."""
    return flat_form(json.loads((folder / NAME).read_text()))


def document_of(flat):
    """The object of the file, in halves where its version has them; as it is, where a forger left nothing to split."""
    try:
        derived, signed = halves(flat)
    except (KeyError, TypeError):
        return flat
    return {"derived": derived, "signed": signed, **{n: flat[n] for n in HEAD if n in flat}}


def sign_anew(folder, made):
    """Any JSON object as a certificate, in the bytes that Shoal writes, under a key of the forger's own."""
    signer = sign.signer()
    key = {"algorithm": "Ed25519", "public": signer.public, "fingerprint": signer.fingerprint, "origin": signer.origin}
    body = {n: v for n, v in made.items() if n not in ("key", "signature")} | {"key": key}
    body = document_of(body)
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


def leaves(value, path=()):
    """Every place of a JSON value that holds no other: texts, numbers, null, and empty groups."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from leaves(part, (*path, name))
    if not (isinstance(value, dict | list) and value):
        yield path


def another(value):
    """A value of the same type that says something else."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value} and differentially private"
    return 7 if value is None else ["x"] if value == [] else {"1": 1}


def edited(document, path, change):
    copy = json.loads(json.dumps(document))
    node = copy
    for name in path[:-1]:
        node = node[name]
    node[path[-1]] = change(node[path[-1]])
    return copy
