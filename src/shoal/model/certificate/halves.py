"""The two halves of a certificate, physically apart in its file.

``derived`` is a function of the published files and of the other half: ``verify`` works it out again and compares. ``signed``
rests on the publisher's signature alone. In the program a certificate is one value; only its file has halves. Certificates of
version 1 have none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from shoal.errors import TamperError
from shoal.model.attack import VERDICTS
from shoal.model.certificate.form import HINT, plain

HEAD = ("format", "key", "signature")
"""Parts that stand in neither half."""
LINKED_FORMATS = ("shoal-linked-certificate/1", "shoal-linked-certificate/2")
DERIVED: Mapping[str, frozenset[str]] = {
    version: frozenset(parts)
    for version, parts in tomllib.loads(files(__package__).joinpath("derived_parts.toml").read_text(encoding="utf-8")).items()
}
"""For each version with halves, the parts of the derived one; a star stands for every item of a list. Attacks are in both halves:
see :func:`is_derived_attack`."""
DATA_ATTACKS = ("homogeneity", "background knowledge", "skewness")
"""Attacks that need the published classes and nothing else."""
FILE_ATTACK = "leftovers"
"""The attack that needs the published file and nothing else."""
_ABSENT: Any = object()


def is_derived_attack(name: str, flat: Mapping[str, Any]) -> bool:
    """Whether the published file alone gives what an attack finds: not where people were counted by a column that is left out."""
    if "unit" not in flat:  # linked tables are attacked by their files alone; those of events need who is behind the pseudonyms
        return bool(flat["format"].startswith("shoal-linked"))
    if name == FILE_ATTACK:
        return flat["data"]["file"] is not None
    counted = flat["unit"]["column"] is None or flat["data"]["unit"] is not None
    return bool(counted and name.split(":")[0] in DATA_ATTACKS)


def document(certificate: Any) -> dict[str, Any]:
    """The JSON object that the file of a certificate holds, and that is signed."""
    flat: dict[str, Any] = plain(certificate)
    if flat["format"] not in DERIVED:
        return flat
    derived, signed = halves(flat)
    return {"derived": derived, "signed": signed, **{name: flat[name] for name in HEAD if name in flat}}


def halves(flat: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The derived and the signed half of a certificate in one piece."""
    body = {name: value for name, value in flat.items() if name not in (*HEAD, "attacks")}
    derived, signed = _split(body, (), DERIVED[flat["format"]])
    for half, wanted in ((derived, True), (signed, False)):
        half["attacks"] = [a for a in flat["attacks"] if is_derived_attack(a["name"], flat) is wanted]
    return derived, signed


def flat_form(data: Any) -> Any:
    """A certificate in one piece from the object of its file; :class:`~shoal.errors.TamperError` if its halves do not fit."""
    if not isinstance(data, dict) or data.get("format") not in list(DERIVED):  # what a forger put there may not be hashable
        return data
    parts: list[Any] = [data.get("derived"), data.get("signed")]
    if set(data) - set(HEAD) != {"derived", "signed"} or not all(isinstance(part, dict) for part in parts):
        raise _unfit()
    attacks = [part.get("attacks") for part in parts]
    if not all(isinstance(a, list) and all(isinstance(one, dict) for one in a) for a in attacks):
        raise _unfit()
    rest = [{name: value for name, value in part.items() if name != "attacks"} for part in parts]
    try:
        listed = sorted((one for a in attacks for one in a), key=_worst_first)
    except (KeyError, TypeError, ValueError):
        raise _unfit() from None
    return {**_join(*rest), "attacks": listed, **{name: data[name] for name in HEAD if name in data}}


def _worst_first(attack: Mapping[str, Any]) -> tuple[int, float, str]:
    """The order of :func:`~shoal.model.attack.worst_first`, of plain values."""
    rate = attack["rate"]
    return VERDICTS.index(attack["verdict"]), -(rate if rate is not None else -1.0), attack["name"]


@cache
def above(derived: frozenset[str]) -> frozenset[str]:
    """The places that hold a derived part somewhere inside, the whole among them."""
    return frozenset(".".join(place.split(".")[:n]) for place in derived for n in range(place.count(".") + 1))


def _split(value: Any, path: tuple[str, ...], derived: frozenset[str]) -> tuple[Any, Any]:
    place = ".".join(path)
    if place in derived:
        return value, _ABSENT
    if place not in above(derived):
        return _ABSENT, value
    if isinstance(value, Mapping):
        parts = {name: _split(inner, (*path, name), derived) for name, inner in value.items()}
        return tuple({n: p[i] for n, p in parts.items() if p[i] is not _ABSENT} for i in (0, 1))  # type: ignore[return-value]
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        items = [_split(inner, (*path, "*"), derived) for inner in value]
        return [item[0] for item in items], [item[1] for item in items]
    return _ABSENT, value


def _join(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {n: _join(one.get(n, _ABSENT), other.get(n, _ABSENT)) for n in (*one, *(n for n in other if n not in one))}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other) and one:
        return [_join(a, b) for a, b in zip(one, other, strict=True)]
    if one is _ABSENT or other is _ABSENT:
        return one if other is _ABSENT else other
    raise _unfit()


def _unfit() -> TamperError:
    return TamperError("the halves of the certificate do not fit together.", hint=HINT)
