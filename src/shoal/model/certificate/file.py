"""The one reader of certificate files: strict in its bytes, its version and its types."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from shoal.errors import TamperError, refuse
from shoal.model import strict_json
from shoal.model.certificate.certificate import EVENT_FORMAT, EVENT_FORMAT_1, NAME, Certificate, SignedCertificate
from shoal.model.certificate.form import HINT
from shoal.model.certificate.halves import flat_form

if TYPE_CHECKING:
    from shoal.model.certificate.events import EventCertificate

MAX_BYTES = 50_000_000
C = TypeVar("C", bound=SignedCertificate)


def read_certificate(path: str | Path) -> Certificate:
    """A certificate from its file; :class:`~shoal.errors.TamperError` if one byte is not as Shoal writes it."""
    return read_signed(Path(path), Certificate)


def read_event_certificate(path: str | Path) -> EventCertificate:
    """The certificate of an event release, as strictly."""
    from shoal.model.certificate.events import EventCertificate  # forty fields that other tables have not

    return read_signed(Path(path), EventCertificate)


def is_of_events(folder: str | Path) -> bool:
    """Whether a folder says of itself that it is an event release; whether it is one, its reader decides."""
    return stated_format(Path(folder) / NAME) in (EVENT_FORMAT, EVENT_FORMAT_1)


def stated_format(path: Path) -> str:
    """The format that a certificate file states, empty if it states none; whether it has it, the reader of that kind decides."""
    try:
        plain = strict_json.loads(read_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError):
        return ""
    stated = plain.get("format") if isinstance(plain, dict) else None
    return stated if isinstance(stated, str) else ""


def read_signed(path: Path, kind: type[C]) -> C:
    """A certificate of this kind from its file, byte for byte as Shoal writes it."""
    content = read_bytes(path)
    with refuse(TamperError("the certificate is not valid JSON.", hint=HINT), ValueError, RecursionError):
        plain = strict_json.loads(content.decode("utf-8"))
    try:
        made = kind.from_json(flat_form(plain))
        again = made.to_bytes()
    except (ValueError, RecursionError) as error:  # text that is not Unicode
        if isinstance(error, TamperError):
            raise
        raise TamperError("the certificate holds what Shoal never writes.", hint=HINT) from None
    if again != content:
        raise TamperError("the certificate was rewritten: its bytes are not as Shoal writes them.", hint=HINT)
    return made


def read_bytes(path: Path) -> bytes:
    """The bytes of a certificate file, where it is an ordinary file of a sensible length."""
    try:
        if path.is_symlink():
            raise TamperError("the certificate is a link, not a file.", hint=HINT)
        if path.exists() and not path.is_file():
            raise TamperError("the certificate is not an ordinary file.", hint=HINT)
        if path.stat().st_size > MAX_BYTES:
            raise TamperError("the certificate is far too long.", hint=HINT)
        return path.read_bytes()
    except FileNotFoundError:
        raise TamperError(f"there is no '{NAME}' in the folder.", hint="Name the folder given to --out.") from None
    except OSError as error:
        hint = f"Is '{NAME}' in the folder?"
        raise TamperError(f"the certificate cannot be read: {type(error).__name__}.", hint=hint) from None
