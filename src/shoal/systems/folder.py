"""What was brought in: tables with their rows, what stayed behind, and the policy that releases them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HEAD = """# A draft made by 'shoal import'. Read every line: a role is your decision, not the system's.
# Then: shoal anonymize --policy policy.yml --out release
"""


@dataclass(frozen=True)
class Brought:
    """Rows of each table, and what was left behind: kinds of resources, or columns, with their number."""

    tables: Mapping[str, int]
    left: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"tables": dict(self.tables), "left": dict(self.left)}


@dataclass(frozen=True)
class Roles:
    """Of one table: the column that names the person, and what others may know and must not learn. The rest is left out."""

    key: str
    quasi: Sequence[str]
    sensitive: Sequence[str]

    def among(self, columns: Sequence[str]) -> Roles:
        """The same for a table that has only these columns. Where none that others may know is left, they may know the rest."""
        quasi, sensitive = ([c for c in named if c in columns] for named in (self.quasi, self.sensitive))
        return Roles(self.key, quasi, sensitive) if quasi else Roles(self.key, sensitive, [])


def draft(person: str, tables: Mapping[str, tuple[str, Roles]], k: int) -> str:
    """YAML of a policy for several tables: name → (file, roles); ``person`` is the one with a row for each person."""
    lines = [HEAD + "tables:"]
    for name, (file, roles) in tables.items():
        said = [f"quasi: [{', '.join(roles.quasi)}]"] if roles.quasi else []
        said += [f"sensitive: [{', '.join(roles.sensitive)}]"] if roles.sensitive else []
        lines.append(f"  {name}: {{table: {file}, roles: {{{', '.join([*said, 'rest: drop'])}}}}}")
    lines.append("links:   # which column of which table holds the key of which person")
    lines += [f"  {name}.{roles.key}: {person}.{tables[person][1].key}" for name, (_, roles) in tables.items() if name != person]
    lines.append(f"require: {{k: {k}, known: 2}}   # anyone who knows the person and two of the rows still finds {k} people")
    lines.append("allow: {suppress: 0.05, orphans: drop}")
    return "\n".join(lines) + "\n"
