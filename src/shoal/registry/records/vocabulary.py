"""The shared vocabulary: attributes and the ways to code them, from fine to coarse.

A code is ``attribute`` or ``attribute/scheme`` (``age/5y``, ``postcode/NL/pc4``, ``sex``). Codes of one chain are ordered: each
is a function of the one before it, so what is known of a finer code bounds what is true of a coarser one. Codes of one's own
have levels too: ``x/job``, then ``x/job~1``, ``x/job~2`` … from fine to coarse. The codes are in ``vocabulary.toml``.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any, Literal

from shoal.errors import DataError, UsageError, suggest

_CHAINS: list[dict[str, dict[str, Any]]] = tomllib.loads(
    files(__package__).joinpath("vocabulary.toml").read_text(encoding="utf-8")
)["chains"]
_CODES = {code: entry for chain in _CHAINS for code, entry in chain.items()}

CHAINS: tuple[tuple[str, ...], ...] = tuple(tuple(chain) for chain in _CHAINS)
"""Every chain of codes, finest first."""
MOST_VALUES: dict[str, int] = {code: entry["values"] for code, entry in _CODES.items()}
"""The most different values that a column in each coding can have, generously: more of them are another coding."""
SINGLE = frozenset(code for code, entry in _CODES.items() if entry.get("single"))
"""Codings by single whole numbers."""
_BAND = re.compile(r"\W*\d+\s*(-|–|—|to|\.\.)\s*\d+\W*\Z")
_PLACE = {code: (chain, i) for chain, codes in enumerate(CHAINS) for i, code in enumerate(codes)}
_OWN = re.compile(r"(x/[a-z0-9][a-z0-9._-]{0,40}(?:/[a-z0-9][a-z0-9._-]{0,40})?)(?:~([1-9]))?\Z")

MOST = 50
"""Attributes of one quasi-identifier."""
SHOWN = 6
"""Codings that an error names at most."""

_HINT = "Name the coding that the column is in, or recode the column first."
Relation = Literal["same", "coarser", "finer", "other"]


def check_code(code: str, codings: Sequence[str] = ()) -> str:
    """``code`` itself when the vocabulary has it, or when it is an own code ``x/name`` or ``x/name/scheme``, at a level or not.

    ``codings`` are those of the place that is asked about, to choose from instead of an attribute that has several.

    >>> check_code("age/5y"), check_code("x/shoe-size"), check_code("x/shoe-size~1")
    ('age/5y', 'x/shoe-size', 'x/shoe-size~1')
    """
    if code in _PLACE or _OWN.match(code):
        return code
    several = list(codings) or [c for c in _PLACE if c.startswith(f"{code}/") and c.count("/") == 1]
    if several:
        more = ", …" if len(several) > SHOWN else ""
        hint = f"Name one of them: {', '.join(several[:SHOWN])}{more}. Or write your own: x/{code[:40]}."
        raise UsageError(f"the attribute '{code[:60]}' has several codings.", hint=hint)
    if any(c.startswith(f"{code}/") for c in _PLACE):
        raise UsageError(f"the attribute '{code}' has codings of other countries only.", hint=f"Write your own: x/{code}.")
    own = "An attribute of your own is written x/name or x/name/scheme, coarser x/name~1."
    raise UsageError(f"attribute code '{code[:60]}' is not in the vocabulary.", hint=f"{suggest(code, _PLACE)} {own}".strip())


def check_values(code: str, column: str, values: Sequence[object]) -> None:
    """Refuse a column with more different values than its coding has, or with bands where the coding has single years.

    >>> check_values("age/5y", "age", ["0-4", "5-9"])
    """
    check_count(code, column, len(values))
    if code in SINGLE and 2 * sum(bool(_BAND.match(str(v))) for v in values) > len(values):
        raise DataError(f"column '{column}' holds bands; the coding '{code}' has single values.", hint=_HINT)


def check_count(code: str, column: str, values: int) -> None:
    """Refuse a column with more different values than its coding has."""
    most = MOST_VALUES.get(code)
    if most is not None and values > most:
        what = f"column '{column}' has {values:,} different values; the coding '{code}' has at most {most:,}."
        raise DataError(what, hint=_HINT)


def label(code: str) -> str:
    """A code in words.

    >>> label("age/5y"), label("x/shoe-size/eu")
    ('age in bands of five years', 'shoe-size (eu)')
    """
    if code in _CODES:
        return str(_CODES[code]["label"])
    own, level = own_level(code)
    _, name, *scheme = own.split("/")
    return (f"{name} ({scheme[0]})" if scheme else name) + (f", coarsened {level} times" if level > 1 else ", coarsened" * level)


def canonical(codes: Iterable[str]) -> tuple[str, ...]:
    """A quasi-identifier in its one spelling: checked codes, sorted, one per attribute.

    >>> canonical(["sex", "age/5y"])
    ('age/5y', 'sex')
    """
    codes_found = sorted(check_code(c) for c in codes)
    if not codes_found:
        raise UsageError("a quasi-identifier needs at least one attribute.", hint="Name codes such as age/years,sex.")
    if len(codes_found) > MOST or sum(map(len, codes_found)) > 900:
        raise UsageError(f"a quasi-identifier has at most {MOST} attributes.", hint="Name the ones that matter.")
    attributes = [attribute(c) for c in codes_found]
    if len(set(attributes)) != len(attributes):
        raise UsageError("an attribute is named twice, in two codings.", hint="Name each attribute once.")
    return tuple(codes_found)


def attribute(code: str) -> str:
    """What a code codes: the chain it belongs to, by its finest code's first word and country.

    >>> attribute("postcode/NL/pc4"), attribute("age/5y"), attribute("x/shoe-size/eu")
    ('postcode/NL', 'age', 'x/shoe-size')
    """
    parts = code.partition("~")[0].split("/")
    return "/".join(parts[:2]) if parts[0] in {"postcode", "x", "household"} else parts[0]


def own_level(code: str) -> tuple[str, int]:
    """An own code without its level, and the level; 0 is the finest.

    >>> own_level("x/job/own~2"), own_level("x/job")
    (('x/job/own', 2), ('x/job', 0))
    """
    match = _OWN.match(code)
    return (match[1], int(match[2] or 0)) if match else (code, 0)


def relation(code: str, other: str) -> Relation:
    """Whether ``code`` is the same as, coarser than or finer than ``other``.

    >>> relation("x/job~2", "x/job"), relation("x/job", "x/job/own~1")
    ('coarser', 'other')
    >>> relation("age/10y", "age/5y"), relation("birth/date", "birth/year"), relation("sex", "age/5y")
    ('coarser', 'finer', 'other')
    """
    if code == other:
        return "same"
    if code.startswith("x/"):
        (mine, level), (its, other_level) = own_level(code), own_level(other)
        return ("coarser" if level > other_level else "finer") if mine == its else "other"
    if code in _PLACE and other in _PLACE and _PLACE[code][0] == _PLACE[other][0]:
        return "coarser" if _PLACE[code][1] > _PLACE[other][1] else "finer"
    return "other"


def coarser(code: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    """Codes above this one, nearest first; of an own code those among the ``known`` ones.

    >>> coarser("age/5y"), coarser("x/job", ["x/job~2", "x/job~1", "x/job/own~1"])
    (('age/10y', 'age/20y'), ('x/job~1', 'x/job~2'))
    """
    if code.startswith("x/"):
        return tuple(sorted(c for c in set(known) if relation(c, code) == "coarser"))
    if code not in _PLACE:
        return ()
    chain, i = _PLACE[code]
    return CHAINS[chain][i + 1 :]


def most_merged(coarse: Sequence[str], fine: Sequence[str]) -> float:
    """How many cells of the finer quasi-identifier lie in one of the coarser at most; infinite where the vocabulary cannot tell.

    >>> most_merged(("age/years",), ("age/years", "sex")), most_merged(("age/5y",), ("age/years",))
    (6.0, 5.0)
    >>> most_merged((), ("x/shoe-size",))
    inf
    """
    most = 1.0
    for code in fine:
        kept = next((c for c in coarse if attribute(c) == attribute(code)), None)
        if kept != code:
            most *= MOST_VALUES.get(code, math.inf) if kept is None else _CODES.get(kept, {}).get("holds", {}).get(code, math.inf)
    return most


def compare(codes: tuple[str, ...], other: tuple[str, ...]) -> Relation:
    """How one quasi-identifier relates to another as a whole.

    Coarser: every attribute of ``codes`` is the same as or coarser than one of ``other`` (which may have more attributes).

    >>> compare(("age/10y", "sex"), ("age/years", "sex")), compare(("sex",), ("age/years", "sex"))
    ('coarser', 'coarser')
    """
    if codes == other:
        return "same"
    if _below(codes, other):
        return "coarser"
    return "finer" if _below(other, codes) else "other"


def _below(codes: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return all(any(relation(c, o) in ("same", "coarser") for o in other) for c in codes)
