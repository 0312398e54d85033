"""A column that would be published as it is must not name people by itself.

Takes    the table and the policy
Returns  nothing; a column that ``shoal inspect`` would call a direct identifier, yet is to be published as it is, stops the run
Keeps    only the kind of finding and the name of the column are reported, never a value

``allow: {identifying: {column: reason}}`` says that a person has looked and why the column names nobody; the certificate repeats
it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.errors import DataError, RoleError
from shoal.find import ColumnFacts, checksums, find_column
from shoal.find.identifiers import NAMED_PLACES, PLACED, exact_degrees, long_numbers, places_share, position_pairs, rounded
from shoal.find.name_words import opaque
from shoal.find.safe_harbor import column_names
from shoal.find.safe_harbor.spellings import CERTAIN, spread
from shoal.kernels.text import Pattern
from shoal.model.roles import Role
from shoal.release.gate.column_facts import ColumnReader
from shoal.release.gate.safe_harbor import Refused, refused_as_sensitive

if TYPE_CHECKING:
    from shoal.engines.table import Table
    from shoal.release.policy.policy import Policy

NUMBERS = ("integer", "float", "decimal")
LOOKED_AT = ("text", "binary", "other", *NUMBERS)
"""Kinds of column that can hold names, codes, free text or exact positions."""
ONE_IS_ENOUGH = tuple(form for form in CERTAIN if form.item in (6, 7))
"""Forms of which a single cell names somebody: e-mail addresses and social security numbers; accounts and cards besides."""
_LENGTHS = """NO15 BE16 DK18 FI18 FO18 GL18 NL18 SD18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 XK20 CH21 HR21 LI21 LV21 BG22
BH22 CR22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 AE23 GI23 IL23 IQ23 TL23 AD24 CZ24 ES24 MD24 PK24 RO24 SA24 SE24
SK24 TN24 VG24 LY25 PT25 ST25 IS26 TR26 FR27 GR27 IT27 MC27 MR27 SM27 AL28 AZ28 BY28 CY28 DO28 GT28 HU28 LB28
PL28 SV28 BR29 EG29 PS29 QA29 UA29 JO30 KW30 MU30 MT31 SC31 LC32"""
_ACCOUNT = Pattern(
    r"(?<![A-Z0-9])(?:"
    + "|".join(rf"{c[:2]}\d{{2}}(?:[ .-]?[A-Z0-9]){{{int(c[2:]) - 4}}}" for c in _LENGTHS.split())
    + ")(?![A-Z0-9])"
)
"""International bank account numbers: a country, the length that it uses (SWIFT registry), groups or none."""
_CARD = Pattern(r"(?<![\d.])(?:(?:[45]\d{3}|2[2-7]\d{2}|6011|65\d{2})(?:[ -]?\d{4}){3}|3[47]\d{2}[ -]?\d{6}[ -]?\d{5})(?!\d)")
_SIGNS = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-") | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff")
)


def check_identifying(table: Table, policy: Policy, *, judged: Sequence[str] = (), columns: ColumnReader | None = None) -> None:
    """Raise :class:`~shoal.errors.RoleError` for a sensitive or insensitive column, or a weight, that looks like a direct
    identifier.

    Columns that the list of the preset decides about (``judged``) are left to it.
    """
    for name in policy.identifying:
        table.schema.require(name, what="column under allow.identifying")
    known = {*policy.identifying, *policy.none_of_the_eighteen, *judged}
    names = [c for c in policy.beside if c not in known and table.schema[c].kind in LOOKED_AT]
    degrees = []
    for name, facts in (columns or ColumnReader(table)).of(names).items():
        why = identifying(facts)
        if why:
            raise _identifying(name, policy, why)
        if facts.kind in ("float", "decimal") and exact_degrees(facts):
            degrees.append(facts)
    pair = position_pairs(degrees)
    if pair:
        raise _identifying(pair[0], policy, f"with '{pair[1]}' its values are written like exact positions")


def _identifying(name: str, policy: Policy, why: str) -> RoleError:
    role = next((r for r in ("insensitive", "sensitive") if name in getattr(policy, r)), "the weight")
    hint = f"Move '{name}' under roles.direct or roles.quasi. If it names nobody, say why: "
    hint += f"allow: {{identifying: {{{name}: the reason}}}}"
    return RoleError(f"column '{name}' is called {role} and would be published as it is, but {why}.", hint=hint, column=name)


MOST_IDS = 1_000_000
"""Records up to which the spellings of ids are compared."""


def check_ids(columns: ColumnReader, unit: str, kind: str, records: int) -> None:
    """Refuse ids of people that differ in spaces or the form of Unicode only: one person would be counted as several."""
    if kind != "text" or records > MOST_IDS:
        return
    ids = columns[unit].values
    twins = len(ids) - len({"".join(unicodedata.normalize("NFKC", text).split()) for text in ids})
    if twins:
        raise DataError(
            f"{twins:,} ids of the person column '{unit}' differ from another id only in spaces or the form of Unicode, so that "
            "people would be counted several times.",
            hint="Give each person one spelling of the id first.",
        )


def check_insensitive(columns: ColumnReader, policy: Policy) -> None:
    """A preset that asks something of each sensitive column does not stand beside an insensitive one that looks sensitive."""
    if policy.preset is None or not policy.preset.each_sensitive:
        return
    refused = refused_as_sensitive(policy.preset, columns.of(tuple(policy.insensitive)).values())
    if refused:
        raise looks_sensitive(policy.preset.name, refused[0])


def looks_sensitive(preset: str, refusal: Refused) -> RoleError:
    """The error for an insensitive column that looks sensitive beside a preset that asks for more there."""
    what = f"column '{refusal.column}' is called insensitive, but {refusal.why}; preset '{preset}' asks for more there."
    hint = f"Move '{refusal.column}' under roles.sensitive, or leave the preset out and write what you require."
    return RoleError(what, hint=hint, column=refusal.column)


def identifying(facts: ColumnFacts) -> str:
    """Why a column looks like a direct identifier; empty where it does not.

    Whole numbers that merely all differ (amounts in a small table) are let through unless they number the rows, have the shape of
    numbers of people, or are named like an identifier.
    """
    number = facts.kind in NUMBERS
    if facts.kind in ("text", "integer") and (what := _in_one_cell(facts)):
        return f"some of its values are or hold {what}"
    if not facts.values or (facts.numbers is not None and column_names.says(facts.name, "amount")):
        return ""
    if facts.kind in ("float", "decimal") and facts.whole:
        facts = replace(facts, kind="integer", values=[v.partition(".")[0] for v in facts.values])
    if facts.kind in ("float", "decimal"):
        exact = opaque(facts.name) and exact_degrees(facts)
        named = not exact and places_share(facts, NAMED_PLACES) >= PLACED and find_column(facts).topic == "position"
        return "its values are written like exact positions" if named or exact else ""
    finding = find_column(facts)
    if number and finding.topic == "key" and rounded(facts):
        return ""
    if finding.role is Role.DIRECT and not (number and finding.topic == "all_different"):
        return finding.reason
    if number and finding.topic == "all_different" and _numbers_the_rows(facts):
        return "it numbers the rows"
    if number and long_numbers(facts):
        return "its values are long numbers of one length, like numbers of people"
    return ""


def _in_one_cell(facts: ColumnFacts) -> str:
    """The identifiers of which one cell is enough, if a cell has or holds one; whole numbers can only be those of cards."""
    for value in spread(facts.values):
        text = unicodedata.normalize("NFKC", value).translate(_SIGNS)
        if not any(c.isdigit() or c == "@" for c in text):
            continue
        if any(checksums.luhn(re.sub(r"[ -]", "", card)) for card in _CARD.findall(text)):
            return "payment card numbers"
        if facts.kind == "text":
            if any(checksums.iban(re.sub(r"[ .-]", "", account)) for account in _ACCOUNT.findall(text.upper())):
                return "bank account numbers"
            for form in ONE_IS_ENOUGH:
                if form.found(text):
                    return form.what
    return ""


def _numbers_the_rows(facts: ColumnFacts) -> bool:
    numbers = facts.numbers
    return numbers is not None and float(numbers.max() - numbers.min()) == len(numbers) - 1
