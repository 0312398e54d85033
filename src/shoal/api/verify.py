"""``verify``: a release folder checked again. It stands alone so that verifying loads nothing that makes or judges a table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.api.arguments import Source, opened
from shoal.model.display import Progress
from shoal.release.claim import Verification
from shoal.release.verification import verify as prove_again


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
    source = None if table is None else opened(table)
    return prove_again(folder, key=key, table=source, private=private, exclude=exclude, progress=progress)
