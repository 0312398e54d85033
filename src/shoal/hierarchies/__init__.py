"""Generalization hierarchies: build them, check them, read and write them.

A *rule* says how values are generalized; ``rule.fit(column, values, counts)`` looks at the data where it must,
``rule.over(column, values)`` gives the concrete levels and ``rule.step(column, level)`` the step of a plan.
"""

from shoal.hierarchies.builders.categories import FrequencyMerge, Ordered
from shoal.hierarchies.builders.codes import SCHEMES, Diagnosis, Flat, Mask, PrefixCode
from shoal.hierarchies.builders.dates import Ages, Dates
from shoal.hierarchies.builders.explicit import FromFile, FromTree, read_arx, write_arx
from shoal.hierarchies.builders.infer import Apart, Infer, infer
from shoal.hierarchies.builders.numbers import Intervals, Quantiles
from shoal.hierarchies.builders.policy import from_policy
from shoal.hierarchies.builders.postcodes import SMALL_ZIP3, Postcode, small_zip3
from shoal.hierarchies.lint import Finding, LevelPreview, lint, preview
from shoal.hierarchies.rule import Generalize, Rule, rule_from_json
from shoal.steps import evaluate

__all__ = [
    "SCHEMES", "SMALL_ZIP3", "Ages", "Apart", "Dates", "Diagnosis", "Finding", "Flat", "FrequencyMerge", "FromFile", "FromTree",
    "Generalize", "Infer", "Intervals", "LevelPreview", "Mask", "Ordered", "Postcode", "PrefixCode", "Quantiles", "Rule",
    "evaluate", "from_policy", "infer", "lint", "preview", "read_arx", "rule_from_json", "small_zip3", "write_arx",
]  # fmt: skip
