"""What an attacker learns from tables that were released together, counted from the published files alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from shoal.model.attack import AttackResult, worst_first
from shoal.release.proof.recount_linked import Everybody, File

MOST_KNOWN = 2
"""Known rows that are tried beyond what is claimed: more choices take long, and all rows are tried anyway."""

MANY_ROWS = 400
"""Choices of two rows are not tried where somebody has more rows than this."""


def attacks(found: Everybody, files: Sequence[File], names: Sequence[str], k: int, known: int | None) -> tuple[AttackResult, ...]:
    """Singling out by known rows, and what all people who look alike have in common; worst first."""
    out = [_singling(found, s, k, known) for s in _tried(found, known)]
    groups = _groups(found, known)
    for (table, column), values in sorted(found.sensitive.items()):
        out.append(_common(found, groups, values, f"{names[table]}.{column}"))
    return tuple(worst_first(out))


def _tried(found: Everybody, known: int | None) -> list[int | None]:
    longest = max((len(r) for r in found.rows.values()), default=0)
    most = 0 if known is None else known if longest > MANY_ROWS else max(known, MOST_KNOWN)
    return [*range(min(most, longest) + 1), None]  # where all rows are covered, every choice of them is


def _singling(found: Everybody, known: int | None, k: int, claimed: int | None) -> AttackResult:
    sharing = found.sharing(known)
    short = sum(n < k for n in sharing.values())
    covered = claimed is None or (known is not None and known <= claimed)
    rate = short / found.people
    verdict = "broken" if short and covered else "warning" if short else "holds"
    what = "all rows" if known is None else "no row" if known == 0 else f"{known} row{'s' if known > 1 else ''}"
    beyond = "" if covered else " The release claims nothing about an attacker who knows so much."
    return AttackResult(
        name=f"known records: {what}",
        question=f"Who is among fewer than {k} for someone who knows a person's attributes and {what} of the other tables?",
        rate=rate,
        low=rate,
        high=rate,
        claimed=0.0 if covered else None,
        worst=f"smallest group {min(sharing.values()):,}",
        verdict=verdict,  # type: ignore[arg-type]
        sentence=f"{short:,} of {found.people:,} people are among fewer than {k}; the smallest group holds "
        f"{min(sharing.values()):,}.{beyond}",
    )


def _groups(found: Everybody, known: int | None) -> dict[Any, list[Any]]:
    """People who look alike for the attacker of the claim: by all their rows, or by their own attributes."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for person, what in found.whole().items():
        groups[what if known is None else what[0]].append(person)
    return groups


def _common(found: Everybody, groups: dict[Any, list[Any]], values: dict[Any, set[Any]], name: str) -> AttackResult:
    """People of groups in which everybody has a value in common: it is known of each of them."""
    exposed = 0
    for members in groups.values():
        shared = set.intersection(*(values.get(p, set()) for p in members)) - {None}
        exposed += len(members) if shared else 0
    rate = exposed / found.people
    return AttackResult(
        name=f"homogeneity: {name}",
        question=f"Whose value of '{name}' is known as soon as the group is known?",
        rate=rate,
        low=rate,
        high=rate,
        claimed=None,
        worst="",
        verdict="warning" if exposed else "holds",
        sentence=f"{exposed:,} of {found.people:,} people are in groups where everybody has a value of '{name}' in common."
        if exposed
        else f"No group has a value of '{name}' that everybody in it has.",
    )
