"""A column that would be published as it is must not name people by itself.

Takes    the table and the policy
Returns  nothing; a column that ``shoal inspect`` would call a direct identifier, yet is to be published as it is, stops the run
Keeps    only the kind of finding and the name of the column are reported, never a value

``allow: {identifying: {column: reason}}`` says that a person has looked and why the column names nobody; the certificate repeats
it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.errors import DataError, RoleError
from shoal.find import ColumnFacts, find_column
from shoal.find.identifiers import NAMED_PLACES, PLACED, exact_degrees, long_numbers, places_share, position_pairs, rounded
from shoal.find.name_words import opaque
from shoal.find.safe_harbor import column_names
from shoal.find.safe_harbor.spellings import certain_in, spread
from shoal.model.roles import Role
from shoal.release.gate.column_facts import ColumnReader
from shoal.release.gate.safe_harbor import Refused, refused_as_sensitive

if TYPE_CHECKING:
    from shoal.engines.table import Table
    from shoal.release.policy.policy import Policy

NUMBERS = ("integer", "float", "decimal")
LOOKED_AT = ("text", "binary", "other", *NUMBERS)
"""Kinds of column that can hold names, codes, free text or exact positions."""
ONE_IS_ENOUGH = (6, 7, 10)
"""Classes of which a single cell names somebody by its form: e-mail, social security and bank account numbers."""


def check_identifying(table: Table, policy: Policy, *, judged: Sequence[str] = (), columns: ColumnReader | None = None) -> None:
    """Raise :class:`~shoal.errors.RoleError` for a sensitive or insensitive column that looks like a direct identifier.

    Columns that the list of the preset decides about (``judged``) are left to it.
    """
    for name in policy.identifying:
        table.schema.require(name, what="column under allow.identifying")
    known = {*policy.identifying, *policy.none_of_the_eighteen, *judged}
    names = [c for c in (*policy.insensitive, *policy.sensitive) if c not in known and table.schema[c].kind in LOOKED_AT]
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
    role = "insensitive" if name in policy.insensitive else "sensitive"
    return RoleError(
        f"column '{name}' is called {role} and would be published as it is, but {why}.",
        hint=f"Move '{name}' under roles.direct or roles.quasi. If it names nobody, say why: "
        f"allow: {{identifying: {{{name}: the reason}}}}",
        column=name,
    )


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
    return RoleError(
        f"column '{refusal.column}' is called insensitive, but {refusal.why}; preset '{preset}' asks for more there.",
        hint=f"Move '{refusal.column}' under roles.sensitive, or leave the preset out and write what you require.",
        column=refusal.column,
    )


def identifying(facts: ColumnFacts) -> str:
    """Why a column looks like a direct identifier; empty where it does not.

    Whole numbers that merely all differ (amounts in a small table) are let through unless they number the rows, have the shape of
    numbers of people, or are named like an identifier.
    """
    number = facts.kind in NUMBERS
    if not facts.values or (facts.numbers is not None and column_names.says(facts.name, "amount")):
        return ""
    if facts.kind == "text":
        seen = certain_in(spread(facts.values))
        if seen is not None and seen[0].item in ONE_IS_ENOUGH:
            return f"some of its values are or hold {seen[0].what}"
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


def _numbers_the_rows(facts: ColumnFacts) -> bool:
    numbers = facts.numbers
    return numbers is not None and float(numbers.max() - numbers.min()) == len(numbers) - 1
