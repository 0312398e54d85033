"""Checksums of what is handed out, signed: ``python tools/checksums.py dist --key-file KEY`` and, by whoever got it, ``--check``.

Writes ``SHA256SUMS`` (as ``sha256sum -c`` reads it) and ``SHA256SUMS.sig``, an Ed25519 signature of it, into the folder. The key
file is made where there is none; its public half is printed: publish it where people look. ``--check PUBLIC`` proves both.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"


def sums(folder: Path) -> str:
    files = [f for f in sorted(folder.iterdir()) if f.is_file() and f.name not in (SUMS, SIGNATURE)]
    return "".join(f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in files)


def sign(folder: Path, key_file: Path) -> str:
    """Write sums and signature; the public key in hexadecimal."""
    if not key_file.exists():
        with os.fdopen(os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as made:
            made.write(Ed25519PrivateKey.generate().private_bytes_raw())
    key = Ed25519PrivateKey.from_private_bytes(key_file.read_bytes())
    text = sums(folder)
    (folder / SUMS).write_text(text, encoding="utf-8", newline="\n")
    (folder / SIGNATURE).write_text(key.sign(text.encode()).hex() + "\n", encoding="utf-8")
    return key.public_key().public_bytes_raw().hex()


def check(folder: Path, public: str) -> bool:
    """Whether every file is the one that was signed, none is missing and none was added."""
    try:
        text = (folder / SUMS).read_bytes()
        signature = bytes.fromhex((folder / SIGNATURE).read_text(encoding="utf-8").strip())
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, text)
    except (OSError, ValueError, InvalidSignature):
        return False
    return text == sums(folder).encode()


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--key-file", type=Path)
    way.add_argument("--check", metavar="PUBLIC")
    given = parser.parse_args(words)
    if given.check:
        holds = check(given.folder, given.check)
        sys.stdout.write("holds\n" if holds else "DOES NOT HOLD\n")
        return 0 if holds else 1
    sys.stdout.write(sign(given.folder, given.key_file) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
