"""Requirements: what every class of a release, or the release as a whole, must satisfy. The one language for it.

A requirement is a frozen value with three forms: text (``k>=5``), the ``require`` part of a policy, and a sentence.
Measuring, searching, judging a written file, attacking, certificate and verify all speak it, and a number that was found
becomes a :class:`Verdict` by one rule (:mod:`shoal.model.compare`). Each kind states

* ``scope``: ``class`` (each published class must pass; a class that fails may be suppressed), ``table``, or ``trace`` (a person's
  records together, in an event table);
* ``law``: what is proven about joining classes, which is what a search may prune by.

  ``merge``
      a class that passes still passes after any other class, passing or not, is joined to it. Then the records that
      must be suppressed never grow when values are generalized, so the requirement is monotone with and without
      suppression. Holds for sizes (k, k-map, largest risk) and for the number of distinct values.
  ``union``
      the join of two classes that *both* pass passes, because the distributions that pass form a convex set and the join's
      distribution lies between those of its parts. Monotone when nothing may be suppressed; with suppression it is not:
      a passing class may fail after a failing one is joined to it. Holds for entropy and recursive diversity, closeness,
      δ-disclosure, β-likeness and (α,k).
  ``none``
      nothing is proven; no pruning.

The distribution that closeness, δ and β compare with is that of the whole table before suppression. A missing sensitive value
is an ordinary value.
"""

from shoal.model.compare import TOLERANCE
from shoal.model.requirement.base import (
    Law,
    Requirement,
    Scope,
    ValueLimit,
    Verdict,
    kind_named,
    requirement_kinds,
    sentences,
    spellings,
)
from shoal.model.requirement.clause import Clause, Reading, pieces
from shoal.model.requirement.closeness import BasicBeta, DeltaDisclosure, Distance, EnhancedBeta, TCloseness
from shoal.model.requirement.diversity import AlphaK, DistinctDiversity, EntropyDiversity, PSensitive, RecursiveDiversity
from shoal.model.requirement.events import (
    MOST_SETS,
    InferredHome,
    InferredNext,
    InferredPlace,
    InferredWork,
    KnownAbsence,
    KnownLength,
    KnownRecords,
    NearRecords,
    Unicity,
)
from shoal.model.requirement.policy_form import ordered, require_of, require_schema, requirements_of
from shoal.model.requirement.sizes import Attacker, K, KMap, MaxRisk, PopulationK, smallest_class
from shoal.model.requirement.whole_table import AverageRisk, KnownColumns, Linkage, PopulationUniqueness, SampleUniqueness

__all__ = [
    "MOST_SETS", "TOLERANCE", "AlphaK", "Attacker", "AverageRisk", "BasicBeta", "Clause", "DeltaDisclosure", "Distance",
    "DistinctDiversity", "EnhancedBeta", "EntropyDiversity", "InferredHome", "InferredNext", "InferredPlace", "InferredWork",
    "K", "KMap", "KnownAbsence", "KnownColumns", "KnownLength", "KnownRecords", "Law", "Linkage", "MaxRisk", "NearRecords",
    "PSensitive", "PopulationK", "PopulationUniqueness", "Reading", "RecursiveDiversity", "Requirement", "SampleUniqueness",
    "Scope", "TCloseness", "Unicity", "ValueLimit", "Verdict", "kind_named", "ordered", "pieces", "require_of",
    "require_schema", "requirement_kinds", "requirements_of", "sentences", "smallest_class", "spellings",
]  # fmt: skip
