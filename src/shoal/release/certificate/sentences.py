"""The sentences of a certificate: its verdict, what is proven, its limits and its date."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from shoal.model.attack import AttackResult, strongest_sentence
from shoal.model.certificate import form
from shoal.model.certificate.certificate import ACCEPTED, FORMAT_1, Certificate, SignedCertificate
from shoal.model.certificate.numbers import Attacker, ClassNumbers, Population, PublishedNumbers
from shoal.model.certificate.parts import Proof, Question
from shoal.model.display import written
from shoal.model.plan import Step
from shoal.steps import Drop, Keep

C = TypeVar("C", bound=SignedCertificate)

LIMITS = (
    "The numbers hold for the columns named as quasi-identifiers: an attacker who knows others may do better.",
    "Free text, images and rare events that were in the news are not examined.",
    "Whether the release is lawful and fair is for people to decide; this page is evidence, not a legal opinion.",
    "Of the Five Safes only data and outputs are measured here; people, projects and settings are as stated by the publisher.",
)

SIGNED = "the attacks, the levels of the plan, and numbers about the original table"
"""What verify does not work out again."""

TRIGGERS = "Look again when more data about the same people are published, when the table is updated, or at the review date."


def today(stated: str | None) -> str:
    """The date of a certificate: as stated, else of the clock (``SOURCE_DATE_EPOCH`` where it is set), in UTC."""
    if stated:
        return stated
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC) if epoch.isdigit() else datetime.datetime.now(datetime.UTC)
    return moment.date().isoformat()


def verdict(certificate: Certificate) -> str:
    """The one sentence at the top, made from the numbers of the certificate."""
    k, after, came = certificate.k, certificate.after, certificate.input
    quasi = ", ".join(certificate.data.quasi)
    who = "people" if certificate.unit.column else "records"
    lost = "left out" if certificate.utility.scope == "rows" else "with blanked quasi-identifiers"
    classes = "1 class" if after.classes == 1 else f"{after.classes:,} classes"
    part = "" if came.drawn is None else f" They are a sample: {came.drawn:,} of {came.records:,} records were drawn."
    part += f" {came.objections.sentence}" if came.objections else ""
    return (
        f"Everyone is alike with at least {k - 1:,} others on {quasi}: the smallest class holds {k:,} {who} "
        f"({after.records:,} records in {classes}, {certificate.utility.suppressed:,} {lost}).{part} "
        "Missing values count as values of their own."
        f"{_of_attackers(certificate)}"
    )


def _of_attackers(c: Certificate) -> str:
    """What published columns single out, and the strongest attack where it finds more."""
    if c.format == FORMAT_1:
        return ""
    people = c.data.unit is not None
    known = NOT_COUNTED if c.known is None else c.known.sentence_of(len(c.data.columns), people=people)
    return f" {known}{strongest_sentence(c.attacks, c.singled_out or 0.0)}"


def proof(unit: str | None, published: str | None) -> Proof:
    """What can be counted again from the written data alone, and what rests on the publisher's signature.

    >>> proof(None, None).signed, proof("id", None).recounted
    ('the attacks, the levels of the plan, and numbers about the original table', 'records: every number under after')
    """
    if unit is None:
        return Proof(
            unit="records",
            recounted="records: every number under after, and k",
            signed=SIGNED,
            sentence="k counts records. Anyone can count it again from the data.",
        )
    if published is not None:
        return Proof(
            unit="people",
            recounted="people: every number under after, and k",
            signed=SIGNED,
            sentence=f"k counts people by the published column '{published}'. Anyone can count it again from the data.",
        )
    return Proof(
        unit="people",
        recounted="records: every number under after",
        signed=f"people: every number under after_people, and k; {SIGNED}",
        sentence="k counts people. They were counted before the person column was left out, and rest on the publisher's "
        "signature. From the data anyone can count records again, which gives an upper bound: a class never holds more people "
        "than records.",
    )


NOT_COUNTED = "Whom other published columns single out was not counted: the table is too large."
POPULATION = "people of the population table, which is not in the folder"
ORIGINAL = "records of the published file, found with the original, which is not in the folder"
SAMPLE = ", taken for a random sample of the population stated"
BEHIND = "people behind the published file, counted before their column was left out"


def counted(unit: str | None) -> str:
    """What the numbers of the published file count, and where.

    >>> counted(None), counted("id")
    ('records of the published file', "people of the published file, by its column 'id'")
    """
    return "records of the published file" if unit is None else f"people of the published file, by its column '{unit}'"


MISSING_RULE = ("own", "a missing value is a value of its own (the strict rule)")
INPUT_NOTE = "keyed with the signing key, so that it cannot be used to test guesses"
VERIFY = "shoal verify FOLDER"
GUESSED = "guessed hierarchy: "
ONE_EACH = "Each record is taken as one person. If people have several records, name the person column (unit)."
NOTHING_SENSITIVE = "No column is named as sensitive, so nothing is claimed about what a class reveals."
POPULATION_SIGNED = "The k-map was counted against a population table that is not in the folder: signed, not counted again."
SAMPLE_SIGNED = (
    "How many people of the population match a record follows from the class sizes if the table is a random sample of as many "
    "people as stated: signed, not counted again. The levels are taken as chosen without looking at the records."
)
LINKAGE_SIGNED = "Linkage by value was tried against the original, which is not in the folder: signed, not counted again."
PROVEN = (
    "Of all plans with one level per column, none that meets the requirements loses less; that it was chosen tells a little "
    "(minimality, downcoding)."
)
NOT_PROVEN = "The plan meets the requirements; it is not known whether another one loses less."
_IDENTIFYING = "Published as they are although they look like identifiers: "
_GUESSED_FOR = "Hierarchies were guessed from the data for: "
EARLIER_WORDING = {
    "expected to be matched rightly": "expected to be matched correctly",
    "so nothing is said about what a class reveals": "so nothing is claimed about what a class reveals",
    "No plan that meets the requirements loses less;": (
        "Of all plans with one level per column, none that meets the requirements loses less;"
    ),
    "The plan meets the requirements but is not proven to lose least.": NOT_PROVEN,
    "Of whom is a value of '": "Whose value of '",
    "' known as soon as the group is known?": "' is known as soon as the group is known?",
}
"""Sentences of certificates of 0.3.0, and the same sentences today. ``verify`` compares sentences word for word."""


def in_current_wording(certificate: C) -> C:
    """A certificate of version 1 with its sentences in today's words; the signed bytes are checked before."""
    if not certificate.format.endswith("/1"):
        return certificate
    text = json.dumps(certificate.to_json())
    for earlier, today in EARLIER_WORDING.items():
        text = text.replace(earlier, today)
    return form.typed(type(certificate), json.loads(text))


def chances(counted: ClassNumbers) -> list[float | int]:
    """What the four attackers of a certificate reach: twice the largest chance, the average one, and people who are alone."""
    return [1.0 / counted.k, 1.0 / counted.k, counted.average_risk, counted.unique]


def attackers(quasi: Sequence[str], before: ClassNumbers, after: ClassNumbers) -> tuple[Attacker, ...]:
    """Three attackers, what each would do, and the chance before and after."""
    known, who = ", ".join(quasi), "records" if after.smallest is None else "people"
    sentences = [
        (
            "prosecutor (largest)",
            f"knows that a person is in the table and knows {known}: the best chance to point at the right record",
        ),
        (
            "journalist (largest)",
            "does not know who is in the table; without a population table the same bound as the prosecutor",
        ),
        ("marketer (average)", f"tries to match everybody: the share of {who} expected to be matched correctly"),
        ("anyone, one of a kind", f"{who} alone in {'at least one' if who == 'people' else 'their'} class on {known}"),
    ]
    both = zip(sentences, chances(before), chances(after), strict=True)
    return tuple(Attacker(name, sentence, first, last) for (name, sentence), first, last in both)


def questions(after: PublishedNumbers, attacks: Sequence[AttackResult]) -> tuple[Question, ...]:
    """The three questions of opinion 05/2014 (WP216): how each was tested, what was found."""
    linked = [a for a in attacks if a.name.split(":")[0] in ("linkage", "intersection") and a.verdict != "not run"]
    inside = [f"{c}: at least {i.distinct} values in each class" for c, i in sorted(after.sensitive.items())]
    return (
        Question(
            "Can a person be singled out?",
            "class sizes counted in the written file",
            f"no class on the quasi-identifiers is smaller than {after.k:,} records",
        ),
        Question(
            "Can records of a person be linked?",
            ", ".join(a.name for a in linked) or "not tested: no other table was given",
            " ".join(a.sentence for a in linked) or "k-anonymity alone does not rule it out",
        ),
        Question(
            "Can something be inferred about a person?",
            "diversity and closeness of the sensitive columns, counted in the written file",
            "; ".join(inside) or "no column is named as sensitive",
        ),
    )


def population(size: int | None, records: int) -> Population:
    """The population that was stated, and what it makes of the release."""
    if size is None:
        sentence = "none given: the published records are taken as the whole population, the most cautious reading"
        return Population(None, sentence)
    return Population(size, f"{size:,} people, as stated; {written(records / size, 3)} records per person of it")


def accepted_notes(attacks: Iterable[AttackResult], accepted: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The reasons of findings that a person accepted, if the release has the very finding that was read."""
    out = []
    for attack in attacks:
        given = accepted.get(attack.name)
        if given is not None and given.get("sentence") == attack.sentence and attack.verdict in ("broken", "warning"):
            by = f" ({given['by']})" if given.get("by") else ""
            out.append(f"{ACCEPTED}{attack.name}{by}. Reason: {given['reason']}")
    return tuple(out)


def limits(certificate: Certificate) -> tuple[str, ...]:
    """What a reader must know before relying on the numbers, as far as it follows from the rest of the certificate.

    From version 2 on this is all: columns that look like identifiers, and the notes of the signed half, are among it.
    """
    out = list(LIMITS)
    if certificate.unit.column is None:
        out.append(ONE_EACH)
    if not certificate.data.sensitive:
        out.append(NOTHING_SENSITIVE)
    guessed = [c.name for c in certificate.columns if c.why.startswith(GUESSED)]
    if guessed:
        out.append(f"{_GUESSED_FOR}{', '.join(guessed)}.")
    if any(r.needs_population for r in certificate.asked):
        out.append(POPULATION_SIGNED)
    if any(r.needs_sample for r in certificate.asked):
        out.append(SAMPLE_SIGNED)
    if any(r.needs_original for r in certificate.asked):
        out.append(LINKAGE_SIGNED)
    out.append(PROVEN if certificate.utility.proven else NOT_PROVEN)
    stated = certificate.identifying or {}
    names = sorted({*stated, *(certificate.looks_identifying or ())})
    if names:
        reasons = "; ".join(f"{name} ({stated.get(name) or 'no reason given'})" for name in names)
        out.append(f"{_IDENTIFYING}{reasons}.")
    return (*out, *(certificate.notes or ()))


def contradicting(sentence: str) -> bool:
    """Whether a further limit is one of those that :func:`limits` decides about."""
    decided = (ONE_EACH, NOTHING_SENSITIVE, POPULATION_SIGNED, SAMPLE_SIGNED, LINKAGE_SIGNED, PROVEN, NOT_PROVEN)
    return sentence in decided or sentence.startswith(_GUESSED_FOR)


def who_note(minimum: int) -> str:
    """The rule by which groups that lost records are named."""
    return f"Groups with fewer than {minimum} records published or left out are not named."


def suppressed_sentence(certificate: Certificate) -> str:
    """How many records were left out; from version 2 on with the share that the policy allows, and the people behind them."""
    utility, people = certificate.utility, certificate.after_people
    what = "left out" if utility.scope == "rows" else "published with blanked quasi-identifiers"
    out = f"{utility.suppressed:,} of {certificate.input.used:,} records were {what};"
    if utility.allowed is not None:
        out += f" the policy allows {written(100 * utility.allowed, 3)} %."
    if utility.people_before is not None and people is not None and people.people is not None:
        out += f" {utility.people_before - people.people:,} of {utility.people_before:,} people have no record in it."
        some = utility.people_with_less
        out += f" {some:,} more have lost some of their records." if some else ""
    return out


def treatment_of(steps: Sequence[Step]) -> str:
    """What the steps of a column that is not a quasi-identifier do to it, in one word."""
    if any(isinstance(s, Drop) for s in steps):
        return "removed"
    return "retained" if not steps or isinstance(steps[0], Keep) else steps[0].kind


def generalized(level: int | None, height: int) -> str:
    """What a level does to a quasi-identifier, in words; without one the groups differ from class to class."""
    if level == 0:
        return "retained"
    return "generalized" if level is None or level < height else "generalized to one group"
