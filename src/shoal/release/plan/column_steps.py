"""The steps of the columns that are not quasi-identifiers, and of the sample; those that the list of a preset asks for, too."""

from __future__ import annotations

from shoal.errors import DataError, InternalError, PolicyError, UsageError
from shoal.find.safe_harbor import column_names
from shoal.find.safe_harbor.classes import Classed
from shoal.kernels.text import canonical_text
from shoal.model.plan import Step
from shoal.model.roles import Column
from shoal.release.certificate.sentences import today
from shoal.release.gate.safe_harbor import OnList, finer, undecided
from shoal.release.plan.prepare import Prepared
from shoal.release.policy.policy import Policy
from shoal.steps import Drop, Keep, evaluate


def other_steps(prepared: Prepared) -> tuple[Step, ...]:
    """What happens to the columns that are not quasi-identifiers; and which records there are at all."""
    policy, steps = prepared.policy, list[Step](sample_of(prepared.policy))
    by_list = safe_harbor_steps(prepared)
    changed = {c for s in policy.transform.values() for c in s.columns}
    both = sorted(changed & set(by_list))
    if both:
        hint = "Leave it out there."
        raise PolicyError(f"column '{both[0]}' is changed by the safe-harbor list; 'transform' names it too.", hint=hint)
    kept = {*policy.sensitive, *policy.insensitive, policy.weight}
    for name in prepared.schema.names:
        if name in policy.direct:
            steps.append(_direct(name, policy.direct[name]))
        elif name == policy.unit and name not in policy.quasi:
            steps.append(_unit(name, policy.publish_unit))
        elif name in policy.transform:
            steps.append(policy.transform[name])
        elif name in changed:
            continue  # replaced by the step of another column
        elif name in kept:
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


def safe_harbor_steps(prepared: Prepared) -> dict[str, Step]:
    """Steps that the list asks for, by column, for all columns that it touches and that are not removed."""
    policy, out = prepared.policy, {}
    kept = {*policy.sensitive, *policy.insensitive, policy.weight}
    unknown = [name for name, one in prepared.on_list.items() if one.classed.kind == "unknown" and one.why and name in kept]
    if unknown:
        raise undecided(unknown)
    for name, one in prepared.on_list.items():
        if policy.direct.get(name) == "drop" or (name == policy.unit and policy.publish_unit == "drop") or one.reason:
            continue
        if name in policy.direct or name == policy.unit:
            raise _derived(name)
        if not one.why:
            continue
        step = None if one.classed.kind in ("remove", "unknown") else _step(prepared, prepared.schema[name], one.classed)
        if step is None and (one.classed.kind == "remove" or name not in policy.quasi):
            raise _refusal(name, one, one.why)
        if step is not None:
            out[name] = step
    return out


def _step(prepared: Prepared, column: Column, classed: Classed) -> Step | None:
    """The list's own step for a column; None where it has none that keeps something."""
    from shoal.techniques.safe_harbor import step_for

    texts = [v for v in canonical_text(prepared.table.values(column.name)[0]).to_pylist() if v is not None]
    if classed.kind == "zip" and all(len(v) <= 3 for v in texts):
        return None  # areas already: what is too small among them only a person can join
    if classed.kind == "age" and column_names.per_year(column.name) != 1:
        return None
    try:
        step = step_for(column, classed.kind, reference=today(prepared.policy.about.get("date")))
        if isinstance(step, Drop):
            return None
        kept = any(label not in (None, "*") for label in evaluate(step, texts).texts())
    except (UsageError, DataError):
        return None
    return step if kept else None


def _refusal(name: str, one: OnList, why: str) -> PolicyError:
    asks = "removes, but it is not direct" if one.classed.kind == "remove" else "makes coarser, but not in this spelling"
    what = f"column '{name}' looks like '{one.classed.title}' ({one.classed.evidence}), which the safe-harbor list {asks}: {why}."
    hint = f"Move '{name}' under roles.direct. If it is none of the eighteen, say why: "
    hint += f"allow: {{none_of_the_eighteen: {{{name}: the reason}}}}"
    return PolicyError(what, hint=hint, column=name)


def _derived(name: str) -> PolicyError:
    return PolicyError(
        f"pseudonyms of column '{name}' would be published: the safe-harbor list allows no code that is derived from information "
        "about the person (45 CFR 164.514(c)).",
        hint=f"Publish '{name}' as 'drop'. If its values are codes that were drawn at random, say so: "
        f"allow: {{none_of_the_eighteen: {{{name}: the reason}}}}",
        column=name,
    )


def check_coarse(prepared: Prepared, steps: dict[str, Step], planned: tuple[Step, ...]) -> None:
    """Refuse a plan that tells apart values which the list joins. A local recoding has no steps: its file is looked at."""
    for name in prepared.base.columns:
        given = next((s for s in planned if s.column == name), None)
        if name not in steps or given is None:
            continue
        texts = canonical_text(prepared.values(name)).to_pylist()
        labels = evaluate(steps[name], texts).texts()
        label_of: dict[str, str] = {}
        for want, have in zip(labels, evaluate(given, texts).texts(), strict=True):
            if label_of.setdefault(want, have) != have:
                raise finer(name, "it separates what the list merges")
