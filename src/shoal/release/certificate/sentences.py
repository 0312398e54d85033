"""The sentences of a certificate: its verdict, what is proven, its limits and its date."""

from __future__ import annotations

import datetime
import os

from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.parts import Proof

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
    )


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
