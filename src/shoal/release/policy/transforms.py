"""What a policy asks to be done to columns that are not quasi-identifiers: noise, swaps, rounding, shifted dates, and the like.

The steps are those of :mod:`shoal.transform`. Random ones draw from a seed; anyone who has it can undo them, so a release never
publishes it (:mod:`shoal.release.make.seed`), and one that could be guessed is refused (:mod:`shoal.model.seed`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from shoal.errors import PolicyError
from shoal.model.plan import Step, step_from_json

KINDS = (
    "clamp", "correlated_noise", "cut", "date_shift", "fake", "keyed_hash", "microaggregate", "noise", "permute", "pram",
    "prefix", "rank_swap", "round",
)  # fmt: skip
"""Steps that a policy may name; removal, generalization and sampling are specified elsewhere."""


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


def check_transforms(
    transform: Mapping[str, Step], *, free: Collection[str], fixed: Collection[str] | None, asked: Collection[str]
) -> None:
    """Refuse steps on columns that are not ``free`` (only on those in ``fixed``, where given), on columns that something is
    ``asked`` of, and two steps on one column."""
    for place, step in transform.items():
        for column in step.columns:
            if column not in free and (fixed is None or column in fixed):
                raise PolicyError(
                    f"'transform.{place}' changes column '{column}', which is not sensitive or insensitive.",
                    hint="Quasi-identifiers are generalized by their hierarchy; direct identifiers have a mask.",
                )
            if column in asked:
                raise PolicyError(
                    f"'transform.{place}' changes column '{column}', for which diversity or closeness is required.",
                    hint="Counted on changed values it would say nothing about the people. Drop one of the two.",
                )
        own = [p for p, s in transform.items() if p != place and set(s.columns) & set(step.columns)]
        if own:
            raise PolicyError(
                f"'transform.{place}' and 'transform.{own[0]}' change the same column.", hint="Name it in one of them."
            )
