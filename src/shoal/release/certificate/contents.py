"""The body of a certificate: counts, names and sentences of a release, gathered in one place.

Nothing here may hold a data value. Names of published groups appear only where enough people are behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.model.attack import AttackResult
from shoal.release.certificate import document as cert
from shoal.release.certificate.consistency import chances
from shoal.release.certificate.magnitude import extent
from shoal.release.gate.check import facts_of_counts
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.release.proof.judge import Finding
from shoal.release.proof.recount import Facts
from shoal.steps import Drop, Keep
from shoal.version import __version__

NOT_STATED = "not stated"
WHO_ROWS = 8
NOT_NAMED = "(groups that are not named)"


@dataclass(frozen=True, eq=False)
class Written:
    """What is known of a release once its data are written, counted again and attacked."""

    facts: Facts
    findings: Sequence[Finding]
    people: tuple[Facts, Sequence[Finding]] | None
    suppressed: int
    records_in: int
    unsampled: int
    changed: Mapping[str, float]
    data: Mapping[str, Any]
    files: Sequence[Path]
    plan_file: Path
    commitment: str | None
    input_hash: str | None
    attacks: Sequence[AttackResult]
    frontier: Sequence[Mapping[str, Any]] = ()
    analyses: Sequence[Mapping[str, Any]] = ()

    @property
    def k(self) -> int:
        """The k that is claimed: of people where they are the unit."""
        return self.people[0].k if self.people else self.facts.k


def body(prepared: Prepared, decision: Decision, made: Written) -> dict[str, Any]:
    """Everything a certificate says: identity, purpose, columns, unit, attackers, risk, threshold, utility, limits."""
    out = {
        **_identity(prepared, made),
        **_inputs(prepared, decision, made),
        **_risks(prepared, decision, made),
        "utility": utility(prepared, decision, made),
        "limits": limits(prepared, decision),
        "triggers": cert.TRIGGERS,
        "verify": "shoal verify FOLDER",
    }
    if made.people:
        out["after_people"] = made.people[0].to_json()
        out["requirements_people"] = [f.to_json() for f in made.people[1]]
    return out


def _identity(prepared: Prepared, made: Written) -> dict[str, Any]:
    """What the release is, what it claims and who asked for it."""
    policy = prepared.policy
    told = {
        "k": made.k,
        "quasi": list(prepared.quasi),
        "unit": policy.unit,
        "records": made.facts.records,
        "classes": made.facts.classes,
        "suppressed": made.suppressed,
        "scope": policy.scope,
        "input": made.records_in + made.unsampled,
        "drawn": _drawn(prepared, made),
    }
    return {
        "format": cert.FORMAT,
        "title": policy.about.get("title", "Release"),
        "date": cert.today(policy.about.get("date")),
        "tool": f"shoal {__version__}",
        "verdict": cert.verdict(told),
        "k": made.k,
        "require": policy.require_json(),
        "requirements": [f.to_json() for f in made.findings],
        "threshold": {"preset": policy.preset.to_json() if policy.preset else None, "smallest_class": policy.smallest_class},
        "release": _release(policy.about),
        "proof": cert.proof(policy.unit, made.data["unit"]),
    }


def _inputs(prepared: Prepared, decision: Decision, made: Written) -> dict[str, Any]:
    """Files, plan, input, columns, unit and weight."""
    policy = prepared.policy
    entries = [cert.file_entry(f) for f in made.files]
    return {
        "data": dict(made.data),
        "files": entries,
        "plan": {
            "sha256": next(e["sha256"] for e in entries if e["name"] == made.plan_file.name),
            "steps": len(decision.plan.steps),
            "seed": "not published",
            "seed_commitment": made.commitment,
            "truthful": decision.plan.truthful,
        },
        "input": {
            "records": made.records_in + made.unsampled,
            "drawn": _drawn(prepared, made),
            "columns": len(prepared.schema.names),
            "keyed_hash": made.input_hash,
            "note": "keyed with the signing key, so that it cannot be used to test guesses",
        },
        "columns": columns(prepared, decision, made.changed),
        "unit": {"column": policy.unit, "published": policy.publish_unit if policy.unit else None},
        "weight": policy.weight,
    }


def _drawn(prepared: Prepared, made: Written) -> int | None:
    """Records of the sample, where the policy asks for one."""
    return None if prepared.sampled is None else made.records_in


def _risks(prepared: Prepared, decision: Decision, made: Written) -> dict[str, Any]:
    """Missing values, population, risk before and after, attackers and attacks."""
    return {
        "missing": {
            "rule": "own",
            "sentence": "a missing value is a value of its own (the strict rule)",
            "k": _missing(decision),
        },
        "population": _population(prepared.policy.population, made.facts),
        "before": before(prepared),
        "after": made.facts.to_json(),
        "attackers": attackers(prepared, made.facts, made.people[0] if made.people else None),
        "wp216": wp216(prepared, made.facts, made.attacks),
        "attacks": [a.to_json() for a in made.attacks],
    }


def _release(about: Mapping[str, Any]) -> dict[str, Any]:
    controls = about.get("controls", {})
    out = {n: about.get(n, NOT_STATED) for n in ("purpose", "recipient", "run_by", "approved_by", "contact", "review")}
    return {
        **out,
        "kind": about.get("release", NOT_STATED),
        "controls": {n: controls.get(n, NOT_STATED) for n in ("people", "projects", "settings")},
    }


def _population(size: int | None, facts: Facts) -> dict[str, Any]:
    if size is None:
        sentence = "none given: the published records are taken as the whole population, the most cautious reading"
        return {"size": None, "sentence": sentence}
    return {"size": size, "sentence": f"{size:,} people, as stated; {facts.records / size:.3g} records per person of it"}


def _missing(decision: Decision) -> dict[str, Any]:
    """k of the published classes under the three rules for missing values, side by side."""
    from shoal.measures.classes.missing import under_all_policies

    found = under_all_policies(decision.released)
    return {name: numbers.get("k") for name, numbers in found.items()}


def before(prepared: Prepared) -> dict[str, Any]:
    """The table as it came: class sizes, k, uniques, risk.

    Nothing about its sensitive values: beside the published ones it would tell those of the few who were left out.
    """
    found = facts_of_counts(prepared.base).to_json()
    return {name: value for name, value in found.items() if name not in ("blanked", "sensitive")}


def columns(prepared: Prepared, decision: Decision, changed: Mapping[str, float]) -> list[dict[str, Any]]:
    """One line per column of the input: role, treatment, level, share of cells changed."""
    policy, out = prepared.policy, []
    for column in prepared.schema.columns:
        name = column.name
        steps = decision.plan.for_column(name)
        if name in policy.quasi:
            out.append({"name": name, "role": "quasi", **_generalized(prepared, decision, name, changed)})
            continue
        role = prepared.schema.roles.get(name)
        word = role.value if role else ("unit" if name == policy.unit else "weight")
        treatment, why = "removed" if any(isinstance(s, Drop) for s in steps) else "retained", ""
        if steps and not isinstance(steps[0], Keep | Drop):
            treatment, why = steps[0].kind, extent(prepared, steps[0])
        out.append(
            {"name": name, "role": word, "kind": column.kind, "treatment": treatment, "changed": changed.get(name), "why": why}
        )
    return out


def _generalized(prepared: Prepared, decision: Decision, name: str, changed: Mapping[str, float]) -> dict[str, Any]:
    j = prepared.base.column(name)
    level, height = decision.levels.get(name), prepared.hierarchies[name].height
    treatment = "retained" if level == 0 else "generalized" if level is None or level < height else "generalized to one group"
    return {
        "kind": prepared.schema[name].kind,
        "treatment": treatment,
        "level": level,
        "height": height,
        "changed": changed.get(name),
        "values_before": len(np.unique(prepared.base.codes[j])),
        "values_after": len(np.unique(decision.released.codes[j])),
        "why": f"guessed hierarchy: {prepared.inferred[name]}" if name in prepared.inferred else "hierarchy as given",
    }


def attackers(prepared: Prepared, facts: Facts, people: Facts | None) -> list[dict[str, Any]]:
    """Three attackers, what each would do, and the chance before and after."""
    known = ", ".join(prepared.quasi)
    words = [
        (
            "prosecutor (largest)",
            f"knows that a person is in the table and knows {known}: the best chance to point at the right record",
        ),
        (
            "journalist (largest)",
            "does not know who is in the table; without a population table the same bound as the prosecutor",
        ),
        ("marketer (average)", "tries to match everybody: the share of records expected to be matched rightly"),
        ("anyone, one of a kind", f"people who are alone in their class on {known}"),
    ]
    first, last = chances(facts_of_counts(prepared.base).to_json()), chances((people or facts).to_json())
    return [
        {"attacker": name, "sentence": sentence, "before": before, "after": after}
        for (name, sentence), before, after in zip(words, first, last, strict=True)
    ]


def wp216(prepared: Prepared, facts: Facts, attacks: Sequence[AttackResult]) -> list[dict[str, str]]:
    """The three questions of opinion 05/2014 (WP216): how each was tested, what was found."""
    linked = [a for a in attacks if a.name in ("linkage", "intersection") and a.verdict != "not run"]
    inside = [f"{c}: at least {i.distinct} values in each class" for c, i in sorted(facts.sensitive.items())]
    return [
        {
            "question": "Can a person be singled out?",
            "tested": "class sizes counted in the written file",
            "found": f"no class on the quasi-identifiers is smaller than {facts.k:,} records",
        },
        {
            "question": "Can records of a person be linked?",
            "tested": ", ".join(a.name for a in linked) or "not tested: no other table was given",
            "found": " ".join(a.sentence for a in linked) or "k-anonymity alone does not rule it out",
        },
        {
            "question": "Can something be inferred about a person?",
            "tested": "diversity and closeness of the sensitive columns, counted in the written file",
            "found": "; ".join(inside) or "no column is named as sensitive",
        },
    ]


def utility(prepared: Prepared, decision: Decision, made: Written) -> dict[str, Any]:
    """What was lost, and by whom."""
    policy, suppressed, records_in = prepared.policy, made.suppressed, made.records_in
    what = "left out" if policy.scope == "rows" else "published with blanked quasi-identifiers"
    sentence = f"{suppressed:,} of {records_in:,} records were {what}; the policy allows {100 * policy.suppress:.3g} %."
    return {
        "optimize": decision.loss_name,
        "loss": float(decision.loss),
        "method": decision.method,
        "levels": dict(decision.levels),
        "proven": decision.proven,
        "gap": None if decision.gap is None else float(decision.gap),
        "suppressed": suppressed,
        "suppressed_share": suppressed / records_in,
        "suppressed_sentence": sentence,
        "scope": policy.scope,
        "who": who(prepared, decision),
        "who_note": f"Groups with fewer than {policy.cells.minimum} records published or left out are not named.",
        "frontier": [dict(p) for p in made.frontier],
        "analyses": [dict(a) for a in made.analyses],
    }


def who(prepared: Prepared, decision: Decision) -> list[dict[str, Any]]:
    """The published groups that lost the largest share of their records, under the small-cell rule.

    A group is named only where enough of its records are published and enough were left out; its records are the published ones.
    What other groups of the column lost is added up in one line, and where that is a small number, more groups are taken into it:
    no small count follows by subtraction.
    """
    if decision.stays.all() or not decision.codes:
        return []
    base, least = prepared.base, prepared.policy.cells.minimum
    records = base.sizes if base.records is None else base.records
    found: list[tuple[float, dict[str, Any]]] = []
    for j, name in enumerate(base.columns):
        codes, labels = decision.codes[j], decision.labels[j]
        named = []
        for code in np.unique(codes):
            mine = codes == code
            shown, lost = int(records[mine & decision.stays].sum()), int(records[mine & ~decision.stays].sum())
            if shown >= least and lost >= least:
                named.append((lost, shown, "missing" if code < 0 else str(labels[code])))
        rest = int(records[~decision.stays].sum()) - sum(lost for lost, _, _ in named)
        named.sort()
        while named and 0 < rest < least:
            rest += named.pop(0)[0]
        found += [(lost / (shown + lost), _group(name, label, shown, lost)) for lost, shown, label in named]
        if rest >= least:
            found.append((0.0, {"column": name, "group": NOT_NAMED, "records": "", "suppressed": rest, "share": ""}))
    found.sort(key=lambda f: (-f[0], f[1]["column"], f[1]["group"]))
    return [line for _, line in found[:WHO_ROWS]]


def _group(column: str, label: str, shown: int, lost: int) -> dict[str, Any]:
    """One line of :func:`who`."""
    share = f"{100 * lost / (shown + lost):.3g} %"
    return {"column": column, "group": label, "records": shown, "suppressed": lost, "share": share}


def limits(prepared: Prepared, decision: Decision) -> list[str]:
    """What a reader must know before relying on the numbers."""
    policy, out = prepared.policy, list(cert.LIMITS)
    if policy.unit is None:
        out.append("Each record is taken as one person. If people have several records, name the person column (unit).")
    if not policy.sensitive:
        out.append("No column is named as sensitive, so nothing is said about what a class reveals.")
    if policy.identifying:
        out.append(
            f"Published as they are although they look like identifiers, as the policy allows: {', '.join(policy.identifying)}."
        )
    if prepared.inferred:
        out.append(f"Hierarchies were guessed from the data for: {', '.join(prepared.inferred)}.")
    if decision.proven:
        out.append("No plan that meets the requirements loses less; that it was chosen tells a little (minimality, downcoding).")
    else:
        out.append("The plan meets the requirements but is not proven to lose least.")
    return [*out, *decision.notes]
