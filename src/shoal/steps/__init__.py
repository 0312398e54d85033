"""Expression steps of a plan: each replaces a value by a function of it alone. One class per step, with all that it means.

A class holds the step's fields and checks, the column that it makes, and its three forms, which must give the same answer: SQL
(where the table is), Arrow (once per distinct value, for tables that are counted by codes) and plain text (for hierarchies).
A new step is a subclass of :class:`ExpressionStep` and a line here (and a word on what it keeps in
:mod:`shoal.techniques.guarantees`); tests/engines compares its forms.
"""

from shoal.steps.expression import ExpressionStep, Labelled, evaluate
from shoal.steps.numbers import Clamp, Cut, Round
from shoal.steps.texts import Constant, Drop, Keep, Prefix
from shoal.steps.value_map import MapValues

__all__ = ["Clamp", "Constant", "Cut", "Drop", "ExpressionStep", "Keep", "Labelled", "MapValues", "Prefix", "Round", "evaluate"]
