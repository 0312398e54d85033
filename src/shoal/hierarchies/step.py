"""Generalize: a level of a rule that SQL cannot express (British postcodes, the ZIP3 population rule), on Arrow batches."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from shoal.hierarchies.rule import Rule, gap_error, rule_from_json
from shoal.model.plan import SUPPRESSED, OnGap, StreamStep, register_step


@register_step
@dataclass(frozen=True)
class Generalize(StreamStep):
    """Replace each value by its label at ``level`` of ``rule`` (the rule as JSON text).

    A missing value stays missing unless ``missing_label`` is given; a value that the rule does not cover follows ``on_gap``.
    """

    rule: str = ""
    level: int = 1
    on_gap: OnGap = "error"
    missing_label: str | None = None
    kind: ClassVar[str] = "generalize"
    by_position: ClassVar[bool] = False

    @classmethod
    def of(cls, column: str, rule: Rule, level: int, *, on_gap: OnGap = "error", missing_label: str | None = None) -> Self:
        text = json.dumps(rule.to_json(), ensure_ascii=False, sort_keys=True)
        return cls(column, text, level, on_gap, missing_label)

    @cached_property
    def _rule(self) -> Rule:
        data: Mapping[str, Any] = json.loads(self.rule)
        return rule_from_json(data)

    def labels(self, texts: Sequence[str]) -> list[str]:
        """The published label of each value."""
        found = self._rule.labels(self.column, texts, self.level)
        lost = [text for text, label in zip(texts, found, strict=True) if label is None]
        if lost and self.on_gap == "error":
            raise gap_error(self.column, lost, None)
        return [SUPPRESSED if label is None else label for label in found]

    def label(self, text: str) -> str:
        """The published label of one value."""
        return self.labels([text])[0]

    def start(self, seed: int) -> Callable[[Any, int], Any]:
        known: dict[str, str] = {}

        def run(table: Any, rows_before: int) -> Any:
            import pyarrow as pa

            from shoal.kernels.text import canonical_text

            encoded = canonical_text(table.column(self.column)).dictionary_encode()
            texts = encoded.dictionary.to_pylist()
            new = [text for text in texts if text not in known]
            known.update(zip(new, self.labels(new), strict=True))
            out = pa.array([known[text] for text in texts], pa.string()).take(encoded.indices)
            if self.missing_label is not None:
                out = out.fill_null(self.missing_label)
            return table.set_column(table.schema.get_field_index(self.column), self.column, out)

        return run
