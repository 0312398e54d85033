"""``hierarchy``: the levels of a column, seen before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shoal.api.arguments import Source, opened
from shoal.engines.core.limits import refused
from shoal.engines.table import Table
from shoal.errors import UsageError
from shoal.hierarchies import FromTree, LevelPreview, Rule, from_policy, lint, preview, write_arx
from shoal.hierarchies.rule import TOP
from shoal.kernels.text import canonical_text
from shoal.model.hierarchy import Hierarchy
from shoal.release.plan.prepare import guessed_rule


@dataclass(frozen=True, repr=False, eq=False)
class ColumnLevels:
    """The levels of a hierarchy over one column.

    ``levels`` tells groups, smallest, largest and how many are below k, per level; groups of fewer than k records are counted,
    never named. ``findings`` is what lint says, ``why`` the reason of a guessed rule.
    """

    column: str
    rule: Rule
    levels: tuple[LevelPreview, ...]
    findings: tuple[str, ...]
    hierarchy: Hierarchy
    records: tuple[int, ...] = ()
    """Records with each leaf of the hierarchy; none with leaves that only the rule knows."""
    k: int = 5

    def __repr__(self) -> str:
        groups = " → ".join(f"{level.groups:,}" for level in self.levels)
        return f"<ColumnLevels of {self.column} ({self.rule.kind}): {groups} groups, {len(self.findings)} findings>"

    @property
    def why(self) -> str:
        return self.rule.why

    @property
    def rare(self) -> tuple[int, ...]:
        """Places of leaves that some, but fewer than k records have: they could tell of single people."""
        return tuple(i for i, n in enumerate(self.records) if 0 < n < self.k)

    def write(self, path: str | Path, *, public: bool = False) -> Path:
        """Write the levels as a file of ARX (``value;level 1;…``). It holds values of the column.

        Values that fewer than k records have are left out, and a line of stars stands for them: they are suppressed where the
        file is used. ``public`` says that the list of values is public knowledge, and writes them all.
        """
        target, rare = Path(path), set(() if public else self.rare)
        if not rare:
            write_arx(self.hierarchy, target)
            return target
        rows = [row for i, row in enumerate(self.hierarchy.to_rows()) if i not in rare]
        if not rows:
            what = f"every value of '{self.column}' has fewer than {self.k} records: a file would only name them."
            hint = "Use the rule itself in the policy, or pass public (--public) where the values are public knowledge."
            raise UsageError(what, hint=hint)
        stars = tuple([TOP] * len(rows[0]))
        write_arx(FromTree((*(tuple(row) for row in rows), stars)), target)
        return target

    def to_json(self) -> dict[str, object]:
        levels = [{**asdict(p), "shown": [{"label": label, "records": n} for label, n in p.shown]} for p in self.levels]
        return {
            "column": self.column,
            "rule": self.rule.kind,
            "why": self.why,
            "levels": levels,
            "lint": list(self.findings),
            "rare_values": len(self.rare),
        }


def hierarchy(
    table: Source, *, column: str, rule: Rule | Mapping[str, Any] | str | Path | None = None, k: int = 5
) -> ColumnLevels:
    """Build the levels of a column, or check given ones, and preview them.

    Parameters
    ----------
    table : Table, path, URL or frame
        Anything that :func:`shoal.open` accepts, or a table that it returned.
    column : str
        The column.
    rule : Rule, mapping, path or word, optional
        As in a policy: ``{"intervals": [5, 10]}``, a file of ARX, a rule of :mod:`shoal.hierarchies`. Guessed from the data
        where it is left out.
    k : int
        Groups of fewer records are counted, not named.

    Examples
    --------
    >>> found = hierarchy({"age": [31, 32, 45, 46]}, column="age", rule={"intervals": [10]}, k=2)
    >>> [level.groups for level in found.levels], found
    ([4, 2, 1], <ColumnLevels of age (intervals): 4 → 2 → 1 groups, 0 findings>)
    """
    source = opened(table)
    source.schema.require(column)
    if source.only_aggregates:
        source = _as_quasi(source, column)
    values, counts = source.values(column)
    there = values.is_valid().to_numpy(zero_copy_only=False)
    values, counts = values.drop_null(), counts[there]
    if rule is None:
        guessed = guessed_rule(source.schema[column], values, counts, k=k)
    else:
        guessed = from_policy(rule).fit(column, values, counts)
    rows = getattr(guessed, "rows", None)
    texts = [str(t) for t in canonical_text(values).to_pylist()]
    findings = () if rows is None else tuple(f.message for f in lint(rows, values=texts, counts=counts))
    levels = guessed.over(column, values, counts)
    seen = dict(zip(texts, counts.tolist(), strict=True))
    records = tuple(int(seen.get(leaf, 0)) for leaf in levels.leaves)
    return ColumnLevels(column, guessed, tuple(preview(levels, counts, k=k)), findings, levels, records, k)


def _as_quasi(table: Table, column: str) -> Table:
    """The table with the column named as quasi-identifying; refused where its values are identifiers by their number."""
    different, missing = table.numbers(column)
    if different > 1 and different == table.n_rows() - missing:
        raise refused(f"every record has another value in column '{column}', so they are identifiers")
    return table if column in table.schema.roles else table.with_roles(quasi=[column])
