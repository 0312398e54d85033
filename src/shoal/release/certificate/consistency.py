"""Do the claims of a certificate follow from its numbers, its plan and its own page?

A forger can sign anything with a key of his own. What can be worked out again is therefore worked out again here: counts,
columns against the plan, the verdict, the chances, and the report, which is a function of the certificate.
"""

from __future__ import annotations

import re

from shoal.errors import TamperError
from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.form import plain
from shoal.model.certificate.numbers import PublishedNumbers
from shoal.model.certificate.parts import Objections
from shoal.model.plan import Plan
from shoal.model.requirement import smallest_class
from shoal.release.certificate.sentences import LIMITS, proof, verdict
from shoal.release.proof.facts import alike
from shoal.steps import Drop


def check_counts(certificate: Certificate) -> str:
    """Counts that make sense together; attacks and limits that are not left out."""
    came, suppressed = certificate.input, certificate.utility.suppressed
    if min(certificate.k, came.records, came.used, suppressed, certificate.after.records) < 0:
        raise TamperError("a count in the certificate is below 0.")
    if not 0 < came.used <= came.records or suppressed > came.used:
        raise TamperError("the certificate counts more records than came in.")
    if came.objections is not None:
        objections_fit(came.objections)
    if not certificate.attacks or not set(LIMITS) <= set(certificate.limits):
        raise TamperError("the certificate leaves out its attacks or its limits.")
    return "the certificate has every part, and counts that make sense"


def objections_fit(objections: Objections) -> None:
    """Numbers of people who objected that can be: at least a record each, no more than were listed."""
    if not (
        0 <= objections.found <= objections.listed
        and objections.listed >= 1
        and objections.found <= objections.records
        and objections.unnamed >= 0
    ):
        raise TamperError("the numbers of people who asked not to be in it do not fit each other.")
    if (objections.found == 0) != (objections.records == 0) or not re.fullmatch(r"[0-9a-f]{64}", objections.commitment):
        raise TamperError("the numbers of people who asked not to be in it do not fit each other.")


def check_columns(certificate: Certificate, plan: Plan) -> None:
    """The table of columns names what is published and nothing else, in the roles that were counted, as the plan does it."""
    data, gone = certificate.data, certificate.with_treatment("removed")
    shown = [c.name for c in certificate.columns if c.treatment != "removed"]
    dropped = [s.column for s in plan.steps if isinstance(s, Drop)]
    if sorted(shown) != sorted(data.columns) or sorted(gone) != sorted(dropped):
        raise TamperError("the certificate says of its columns what the data or the plan do not.")
    for role, counted in (("quasi", data.quasi), ("sensitive", data.sensitive)):
        if sorted(c.name for c in certificate.columns if c.role == role) != sorted(counted):
            raise TamperError("the certificate names columns in other roles than were counted.")
    left = [name for name in shown if name not in data.quasi and not plan.for_column(name)]
    local = certificate.utility.method == "local"
    if left or (not local and any(not plan.for_column(name) for name in data.quasi)):
        raise TamperError("the plan has no step for a published column.")
    if plan.suppression.scope != certificate.utility.scope:
        raise TamperError("the plan suppresses otherwise than the certificate says.")


def check_claims(certificate: Certificate) -> str:
    """The sentence, the thresholds, the chances and the headline follow from the numbers."""
    k, after, people = certificate.k, certificate.after, certificate.after_people
    if certificate.verdict != verdict(certificate):
        raise TamperError("the verdict does not follow from the numbers.")
    if k < smallest_class(certificate.asked) or k != certificate.counted.k or k > after.k:
        raise TamperError("the certificate claims another k than its numbers give.")
    if certificate.threshold.smallest_class != smallest_class(certificate.asked):
        raise TamperError("the threshold is not the one that is required.")
    if any(not f.met for f in certificate.requirements_people or ()):
        raise TamperError("a requirement over people is not met.")
    if certificate.proof != proof(certificate.unit.column, certificate.data.unit):
        raise TamperError("the certificate says something else about what is proven than follows from it.")
    if people:
        _people_fit(people, after, published=certificate.data.unit is not None)
    return f"the claims follow from the numbers. {certificate.proof.sentence}"


def _people_fit(people: PublishedNumbers, after: PublishedNumbers, *, published: bool) -> None:
    """Numbers of people that the records allow: the same classes, and in none of them more people than records."""
    if published and not alike(plain(people), plain(after)):
        raise TamperError("people are counted twice and differently.")
    if people.records != after.records or people.classes != after.classes or people.k > after.k:
        raise TamperError("the numbers of people do not fit the records.")
    once = people.smallest or {}
    if sum(once.values()) != people.people or once.get("1", 0) != people.unique or min(map(int, once), default=0) != people.k:
        raise TamperError("the numbers of people do not fit each other.")
    if people.members > after.records or sum(people.sizes.values()) != after.classes:
        raise TamperError("the numbers of people do not fit the records.")
