"""People who asked not to be in it: what a certificate says of their list, and whether a list is the one it says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.engines.exclusion import LeftOut, ids_of, spellings
from shoal.errors import TamperError, UsageError
from shoal.kernels.signatures import Signer
from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.parts import Objections
from shoal.model.exclusion import commitment
from shoal.release.make import seed
from shoal.release.proof.read import rows


def objections(left: LeftOut | None, signer: Signer) -> tuple[Objections, str] | None:
    """What is certified of the list, and the salt of the commitment, which is kept apart; None without a list."""
    if left is None:
        return None
    salt = signer.keyed_hash([i.encode() + b"\n" for i in sorted(left.ids)], purpose="objections")
    told = left.told
    bound = commitment(left.ids, salt)
    return Objections(told.column, told.listed, told.found, told.records, told.unnamed, bound), salt


def check_objections(place: Path, certificate: Certificate, listed: str | Path | Iterable[Any], private: str | Path) -> str:
    """Whether a list is the one that the release was made without, and none of its ids is published."""
    stated = certificate.input.objections
    if stated is None:
        raise TamperError("the release was made without a list of people to leave out.")
    ids = ids_of(listed, stated.column)
    shown = certificate.data.file is not None and stated.column in certificate.data.columns
    if shown and certificate.data.file is not None:
        _none_published(place / certificate.data.file, stated.column, ids)
    looked = "none of them is published" if shown else f"column '{stated.column}' is not published"
    return f"{check_list(stated, ids, private)}; {looked}"


def check_list(stated: Objections, listed: str | Path | Iterable[Any], private: str | Path) -> str:
    """Whether a list is the one that a certificate is bound to."""
    ids = ids_of(listed, stated.column)
    salt = seed.read(private).list_salt
    if not salt or commitment(ids, salt) != stated.commitment:
        raise TamperError("the list, or the private file, is another than the one that the certificate is bound to.")
    return f"the list of {len(ids):,} people is the one that the certificate is bound to"


def private_of(place: Path, private: str | Path | None) -> str | Path:
    """The private file that a list is compared with: the one given, or the one beside the folder."""
    beside = seed.place_of(place.absolute())
    if private is None and not beside.exists():
        raise UsageError(
            "the list of people to leave out can be compared only with the private file of the release.",
            hint="Name it with --private FOLDER.private.json: it holds the salt of the commitment.",
        )
    return beside if private is None else private


def _none_published(data: Path, column: str, ids: tuple[str, ...]) -> None:
    """Look for each id in the published column, however it is spelled there."""
    forbidden = {s for kind in ("text", "integer", "float") for s in spellings(ids, kind)}
    there = sum(value is not None and str(value) in forbidden for (value,) in rows(data, [column]))
    if there:
        raise TamperError(f"{there:,} published records are of people who asked not to be in it.")
