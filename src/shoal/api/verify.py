"""``verify``: prove a release again, offline, from its folder alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.api.arguments import Source, opened
from shoal.errors import TamperError, UsageError
from shoal.model.certificate.certificate import NAME
from shoal.model.certificate.file import is_of_events
from shoal.model.display import Progress
from shoal.release.certificate.outcome import Check, Verification
from shoal.release.certificate.verify import verify as prove_again
from shoal.release.linked.certificate import LinkedCertificate, read_linked


def verify(
    folder: str | Path,
    *,
    key: str | None = None,
    table: Source | None = None,
    private: str | Path | None = None,
    exclude: str | Path | Iterable[Any] | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Check a release folder: form, signature, files, plan, and every claimed number by counting again.

    Parameters
    ----------
    folder : path
        What ``release.write`` or ``shoal anonymize --out`` left.
    key : str, optional
        The public key (base64) or fingerprint that the publisher announced. Without it the signature shows that nothing
        changed since signing, not who signed.
    table : Table, path, URL or frame, optional
        The published table, where the data of the release are in a database.
    private : path, optional
        The file that keeps the seed (``FOLDER.private.json``): is it the seed that the certificate is bound to?
    exclude : path or ids, optional
        The list of opt-outs: is it the list that the certificate is bound to? Needs the private file
        (``private``, or the one beside the folder).

    Returns
    -------
    Verification
        ``v.ok``, ``v.checks``, ``v.failed``; ``v.require()`` raises where it does not hold.
    """
    linked = _linked(Path(folder))
    if isinstance(linked, Verification):
        return linked
    if linked is not None:
        from shoal.release.linked.verify import verify_linked  # each kind of release loads the proof of its own

        return verify_linked(Path(folder), linked, key=key, private=private, exclude=exclude)
    found = None if table is None else opened(table)
    if Path(folder).is_dir() and _of_events(folder):
        if table is not None:
            raise UsageError("an event release is proven from its folder alone.", hint="Leave --table out.")
        from shoal.release.events.verify import verify_events

        return verify_events(folder, key=key, private=private, exclude=exclude, progress=progress)
    return prove_again(folder, key=key, table=found, private=private, exclude=exclude, progress=progress)


def _linked(place: Path) -> LinkedCertificate | Verification | None:
    """The certificate of tables that were released together, or why it is none; None for other releases."""
    try:
        return read_linked(place / NAME) if place.is_dir() else None
    except TamperError as error:
        return Verification(str(place), (Check("certificate", False, error.message),))


def _of_events(folder: str | Path) -> bool:
    """Whether it is an event release; a folder without a readable certificate is left to the usual proof, which says so."""
    try:
        return is_of_events(folder)
    except TamperError:
        return False
