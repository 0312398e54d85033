"""Numbers among which a few codes mean something else ("-9: refused"): the codes stay apart, the numbers get their levels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from shoal.hierarchies.rule import Generalize, Rule, register_rule, rule_from_json
from shoal.hierarchies.values import counts_of, texts_of
from shoal.kernels.codes import is_declared
from shoal.model.plan import Step
from shoal.steps import Cut, Prefix


@register_rule
@dataclass(frozen=True)
class Apart(Rule):
    """The levels of ``rule`` (as JSON text) for all values but ``codes``, which keep their own names below the top.

    >>> from shoal.hierarchies import Intervals
    >>> rule = Apart.of(Intervals((10,)).fit("age", ["17", "34"]), ["-9"])
    >>> rule.over("age", ["17", "34", "-9"]).levels[1].labels
    ('10-19', '30-39', '-9')
    """

    rule: str = ""
    codes: tuple[str, ...] = ()
    kind: ClassVar[str] = "apart"

    @classmethod
    def of(cls, rule: Rule, codes: Sequence[str]) -> Apart:
        text = json.dumps(rule.to_json(), ensure_ascii=False, sort_keys=True)
        said = "1 code for missing values stays apart" if len(codes) == 1 else f"{len(codes)} codes for missing values stay apart"
        why = f"{rule.why}; {said}".removeprefix("; ")
        return cls(text, tuple(codes), why=why)

    @classmethod
    def fitted(cls, rule: Rule, column: str, values: Any, counts: Any, declared: Sequence[object]) -> Rule:
        """``rule`` fitted to the values that are not declared missing, which stay apart where it cuts numbers or texts.

        A rule that lists its values says itself what becomes of such codes.

        >>> from shoal.hierarchies import Intervals
        >>> rule = Apart.fitted(Intervals((10,)), "age", ["17", "34", "-9"], [5, 5, 5], (-9,))
        >>> rule.over("age", ["17", "34", "-9"]).levels[1].labels
        ('10-19', '30-39', '-9')
        """
        texts = texts_of(column, values)
        codes = [t for t in texts if is_declared(t, declared)]
        rest = [t for t in texts if t not in codes]
        if not codes or not rest:
            return rule.fit(column, values, counts)
        sizes = dict(zip(texts, counts_of(texts, counts).tolist(), strict=True))
        found = rule.fit(column, rest, [sizes[t] for t in rest])
        cuts = found.inner and isinstance(found._inner_step(column, 1, None), Cut | Prefix)
        return cls.of(found, codes) if cuts else rule.fit(column, values, counts)

    @cached_property
    def _rule(self) -> Rule:
        data: dict[str, Any] = json.loads(self.rule)
        return rule_from_json(data)

    @property
    def inner(self) -> int:
        return self._rule.inner

    def labels(self, column: str, texts: Sequence[str], level: int) -> list[str | None]:
        found = iter(self._rule.labels(column, [t for t in texts if t not in self.codes], level))
        return [t if t in self.codes else next(found) for t in texts]

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Step:
        return Generalize.of(column, self, level, missing_label=missing_label)
