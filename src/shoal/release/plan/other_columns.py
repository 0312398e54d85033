"""What happens to the columns that are not quasi-identifiers: removed, masked, changed as the policy asks, or kept."""

from __future__ import annotations

from shoal.errors import InternalError, PolicyError
from shoal.model.plan import Step
from shoal.release.gate.safe_harbor import safe_harbor_steps
from shoal.release.plan.prepare import Prepared
from shoal.release.policy.policy import Policy
from shoal.steps import Drop, Keep


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

    from shoal.techniques.perturb.sampling import Sample  # the room of all techniques, loaded where one is asked for

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
