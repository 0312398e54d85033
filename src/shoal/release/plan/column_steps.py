"""``hardened``: a plan whose choice tells next to nothing.

Takes    a search that gives the plan with the least loss at or above some levels
Returns  the first plan, in order of loss, that the attacks on its choice (downcoding, minimality) do not profit from
Keeps    downcoding refines at most 1 % of the records; minimality gains on at most 5 % of the classes examined
Source   Cohen 2022 (downcoding); Wong, Fu, Wang & Pei 2007 (minimality)

The plan with the least loss tells something by being the least: a finer one was refused. Raising one column by one level gives
plans that are not the least; they are tried in order of their loss. A plan below the first one (finer, with more
suppression) is not considered.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.errors import InfeasibleError, InternalError, PolicyError
from shoal.model.attack import AttackResult
from shoal.model.display import written
from shoal.model.plan import Step
from shoal.model.requirement import DistinctDiversity
from shoal.release.gate.safe_harbor import safe_harbor_steps
from shoal.release.plan.prepare import Prepared
from shoal.release.policy.policy import Policy
from shoal.steps import Drop, Keep

if TYPE_CHECKING:
    from shoal.attacks.downcoding import Recoded
    from shoal.release.plan.published_classes import Decision


LIMITS = {"minimality": 0.05, "downcoding": 0.01}
"""What ``hardened: true`` allows: share of classes with a gain in certainty, share of records refined."""

MOST_SEARCHES = 300


def structure(prepared: Prepared, decision: Decision) -> Recoded:
    """The base classes with their published and their next finer codes."""
    from shoal.attacks.downcoding import Recoded

    return Recoded(prepared.base, decision.codes, decision.finer, decision.stays)


def tells(results: list[AttackResult]) -> AttackResult | None:
    """The first attack on the choice of the plan that does better than ``hardened`` allows."""
    for result in results:
        limit = LIMITS.get(result.name.split(":")[0])
        if limit is not None and result.rate is not None and result.rate > limit:
            return result
    return None


def on_the_choice(prepared: Prepared, decision: Decision) -> list[AttackResult]:
    """The attacks that use the choice of the plan, as they will be run on the release."""
    from shoal.attacks import choice_rng
    from shoal.attacks.downcoding import downcoding
    from shoal.attacks.minimality import minimality

    made, policy = structure(prepared, decision), prepared.policy
    out = [downcoding(made, prepared.quasi)]
    for i, column in enumerate(prepared.base.sensitive):
        asked = policy.asked_of(column, DistinctDiversity)
        rng = choice_rng(policy.seed, i)
        out.append(minimality(made, column, prepared.quasi, distinct=asked.l if asked else None, rng=rng))
    return out


def resisting(prepared: Prepared, search: Callable[[Mapping[str, int]], Decision]) -> Decision:
    """The plan with the least loss; with ``hardened`` the first in order of loss whose choice tells next to nothing."""
    first = search({})
    if not prepared.policy.hardened:
        return first
    begun, searches, passed_over, last = time.monotonic(), 1, 0, ""
    seen = {_key(first)}
    queue: list[tuple[float, int, dict[str, int], Decision]] = [(first.loss, 0, {}, first)]
    while queue:
        _, _, floor, decision = heapq.heappop(queue)
        told = tells(on_the_choice(prepared, decision))
        if told is None:
            words = f"Hardened: {passed_over:,} plans with less loss were passed over because their choice tells something."
            return replace(decision, notes=(*decision.notes, words), proven=False, gap=None)
        passed_over, last = passed_over + 1, f"{told.name} succeeds at {written(told.rate or 0.0, 3)}"
        for column, level in decision.levels.items():
            if level == _highest(prepared, column) or searches >= MOST_SEARCHES or _late(prepared, begun):
                continue
            searches += 1
            higher = {**floor, column: level + 1}
            found = _tried(search, higher)
            if found is not None and _key(found) not in seen:
                seen.add(_key(found))
                heapq.heappush(queue, (found.loss, len(seen), higher, found))
    raise InfeasibleError(
        f"no plan was found whose choice tells next to nothing: {passed_over:,} were tried; at the last of them {last}.",
        hint="Raise max_level, allow more suppression, ask for a larger k, or leave 'hardened' out.",
    )


def _key(decision: Decision) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(decision.levels.items()))


def _highest(prepared: Prepared, column: str) -> int:
    most, height = prepared.policy.quasi[column].max_level, prepared.hierarchies[column].height
    return height if most is None else most


def _tried(search: Callable[[Mapping[str, int]], Decision], floor: Mapping[str, int]) -> Decision | None:
    try:
        return search(floor)
    except InfeasibleError:
        return None


def _late(prepared: Prepared, begun: float) -> bool:
    limit = prepared.policy.time_limit
    return limit is not None and time.monotonic() - begun > limit


def other_steps(prepared: Prepared) -> tuple[Step, ...]:
    """What happens to the columns that are not quasi-identifiers; and which records there are at all."""
    policy, steps = prepared.policy, list[Step](sample_of(prepared.policy))
    by_list = safe_harbor_steps(prepared)
    changed = {c for s in policy.transform.values() for c in s.columns}
    both = sorted(changed & set(by_list))
    if both:
        raise PolicyError(
            f"column '{both[0]}' is changed by the safe-harbor list; 'transform' names it too.", hint="Leave it out there."
        )
    for name in prepared.schema.names:
        if name in policy.direct:
            steps.append(_direct(name, policy.direct[name]))
        elif name == policy.unit and name not in policy.quasi:
            steps.append(_unit(name, policy.publish_unit))
        elif name in policy.transform:
            steps.append(policy.transform[name])
        elif name in changed:
            continue  # replaced by the step of another column
        elif name in (*policy.sensitive, *policy.insensitive) or name == policy.weight:
            steps.append(by_list.get(name, Keep(name)))
        elif name not in policy.quasi:
            raise InternalError(f"column '{name}' has no step.")
    return tuple(steps)


def sample_of(policy: Policy) -> tuple[Step, ...]:
    """The step that draws the sample that the policy asks for: records, or people with all their records."""
    if policy.sample is None:
        return ()

    from shoal.techniques.perturb.sampling import Sample

    return (Sample(share=policy.sample, unit=policy.unit),)


def _direct(name: str, mask: str) -> Step:
    if mask.startswith("vault:"):
        from shoal.protector.pseudonyms.plan_step import Pseudonymize

        return Pseudonymize(name, domain=mask.removeprefix("vault:"))
    return Drop(name) if mask == "drop" else _pseudonym(name)


def _unit(name: str, publish: str) -> Step:
    if publish == "pseudonym":
        return _pseudonym(name)
    return Keep(name) if publish == "keep" else Drop(name)


def _pseudonym(name: str) -> Step:
    """A keyed hash; the key comes from the environment (``SHOAL_KEY``), never from the policy."""
    from shoal.techniques.identity.mask import KeyedHash

    return KeyedHash(name)
