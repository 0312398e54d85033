"""What a policy asks to be done to columns that are not quasi-identifiers: noise, swaps, rounding, shifted dates, and the like.

The steps are those of :mod:`shoal.transform`. Random ones draw from a seed; whoever has it can undo them, so a release never
publishes it (:mod:`shoal.release.make.seed`), and one that could be guessed is refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.errors import PolicyError
from shoal.model.plan import ColumnStep, RowStep, Step, StreamStep, step_from_json

if TYPE_CHECKING:
    from shoal.release.policy.policy import Policy

KINDS = (
    "clamp", "correlated_noise", "cut", "date_shift", "fake", "keyed_hash", "microaggregate", "noise", "permute", "pram",
    "prefix", "rank_swap", "round",
)  # fmt: skip
"""Steps that a policy may name; removal, generalization and sampling are said elsewhere."""

LEAST_SEED = 10**15
"""A stated seed below this could be found by trying."""


def transforms_of(asked: Mapping[str, Mapping[str, Any]]) -> dict[str, Step]:
    """The steps that the ``transform`` part of a policy names, by column.

    >>> transforms_of({"pay": {"round": {"base": 100}}})["pay"].base
    100
    >>> transforms_of({"pay": {"rounded": {}}})
    Traceback (most recent call last):
    shoal.errors.PolicyError: 'transform.pay.rounded' is not a transformation.
      Known: clamp, correlated_noise, ...
    """
    return {column: _step(column, *next(iter(asked[column].items()))) for column in asked}


def _step(column: str, kind: str, words: Any) -> Step:
    place = f"transform.{column}.{kind}"
    if kind not in KINDS:
        raise PolicyError(f"'{place}' is not a transformation.", hint=f"Known: {', '.join(KINDS)}.", path=place)
    try:
        return step_from_json({**(words or {}), "kind": kind, "column": column})
    except (TypeError, ValueError, KeyError) as error:
        if isinstance(error, PolicyError):
            raise
        raise PolicyError(
            f"'{place}' holds a value of the wrong type.", hint="See the page on transformations.", path=place
        ) from None


def check_transforms(policy: Policy, *, all_roles: bool = True) -> None:
    """Only columns whose values no requirement is about may be changed.

    Without ``all_roles`` a column without a role in the policy is let through: the table may have been opened with one.
    """
    named = {*policy.quasi, *policy.direct, policy.unit, policy.weight}
    free = (*policy.insensitive, *policy.sensitive)
    asked = {**policy.diversity, **policy.closeness}
    for place, step in policy.transform.items():
        for column in step.columns:
            if column not in free and (all_roles or column in named):
                raise PolicyError(
                    f"'transform.{place}' changes column '{column}', which is not sensitive or insensitive.",
                    hint="Quasi-identifiers are generalized by their hierarchy; direct identifiers have a mask.",
                )
            if column in asked:
                raise PolicyError(
                    f"'transform.{place}' changes column '{column}', for which diversity or closeness is required.",
                    hint="Counted on changed values it would say nothing about the people. Drop one of the two.",
                )
        own = [p for p, s in policy.transform.items() if p != place and set(s.columns) & set(step.columns)]
        if own:
            raise PolicyError(
                f"'transform.{place}' and 'transform.{own[0]}' change the same column.", hint="Name it in one of them."
            )


def draws(step: Step) -> bool:
    """Whether a step may use the seed; keyed steps use a key instead, which no plan holds."""
    return isinstance(step, ColumnStep | RowStep) or (isinstance(step, StreamStep) and getattr(step, "by_position", True))


def seeded(policy: Policy) -> Policy:
    """The policy with a seed that cannot be guessed, where a random step depends on it; drawn unless it is stated."""
    if policy.sample is None and not any(draws(s) for s in policy.transform.values()):
        return policy
    if policy.seed == 0:
        return replace(policy, seed=LEAST_SEED + secrets.randbelow(2**63 - LEAST_SEED))
    if policy.seed < LEAST_SEED:
        raise PolicyError(
            "the seed is short enough to be found by trying, and whoever has it can undo the random changes or knows the sample.",
            hint="Leave the seed out, so that one is drawn and kept beside the release, or state one of at least 16 digits.",
        )
    return policy
