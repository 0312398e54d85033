"""The certificate: every claim about a release as one frozen value.

A certificate holds counts, column names, thresholds and sentences, never a data value. Its bytes are canonical, its signature
covers every other byte of it, and it names the SHA-256 of every other file of the release.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from shoal.errors import PolicyError, TamperError, UsageError
from shoal.model.attack import AttackResult
from shoal.model.certificate import form
from shoal.model.certificate.form import LEFT_OUT
from shoal.model.certificate.halves import document, flat_form
from shoal.model.certificate.numbers import Attacker, ClassNumbers, Judged, Missing, Population, PublishedNumbers
from shoal.model.certificate.parts import (
    Classing,
    Column,
    Data,
    FileEntry,
    Input,
    Key,
    Known,
    OtherMethod,
    PlanEntry,
    Proof,
    Purpose,
    Question,
    Threshold,
    Unit,
    Utility,
)
from shoal.model.display import written
from shoal.model.requirement import Requirement, requirements_of

ACCEPTED = "Accepted by the publisher: "
"""How a note begins that gives the reason of an accepted finding."""
FORMAT: Literal["shoal-certificate/2"] = "shoal-certificate/2"
FORMAT_1: Literal["shoal-certificate/1"] = "shoal-certificate/1"
"""The version that 0.3.0 wrote: in one piece, without the parts from which the derived half follows."""
EVENT_FORMAT: Literal["shoal-event-certificate/2"] = "shoal-event-certificate/2"
EVENT_FORMAT_1: Literal["shoal-event-certificate/1"] = "shoal-event-certificate/1"
NAME, PLAN, REPORT = "certificate.json", "plan.json", "report.html"
"""Files that every release folder holds, beside the data."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SignedCertificate:
    """What the certificates of all kinds of releases have in common. ``key`` and ``signature`` are None until it is signed."""

    format: str
    title: str
    date: str
    tool: str
    verdict: str
    files: tuple[FileEntry, ...]
    key: Key | None = field(default=None, metadata=LEFT_OUT)
    signature: str | None = field(default=None, metadata=LEFT_OUT)

    @property
    def as_read(self) -> Self:
        """The same certificate as its file gives it back: groups in the order of their names."""
        written = json.dumps(document(self), sort_keys=True, allow_nan=False)
        return form.typed(type(self), flat_form(json.loads(written)))

    @property
    def without_report(self) -> Self:
        """What the report is made from: the certificate before it was signed, without the report among its files."""
        files = tuple(f for f in self.files if f.name != REPORT)
        return replace(self, files=files, key=None, signature=None)

    @property
    def key_shown(self) -> dict[str, str] | None:
        """What answers of commands say of the key; None until it is signed."""
        return None if self.key is None else {"fingerprint": self.key.fingerprint, "origin": self.key.origin}

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain values in one piece; its file has two halves (:mod:`shoal.model.certificate.halves`)."""
        out: dict[str, Any] = form.plain(self)
        return out

    def to_bytes(self) -> bytes:
        """The one form in which a certificate is written: sorted, indented by one, UTF-8, a line feed at the end."""
        text = json.dumps(document(self), sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode("utf-8")

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """A signed certificate from plain values in one piece; parts that are missing, unknown or mistyped are refused."""
        made = form.typed(cls, data)
        if made.key is None or made.signature is None:
            raise TamperError("the certificate carries no signature.", hint=form.HINT)
        return made


def check_require(require: Mapping[str, Any]) -> None:
    """Refuse a ``require`` part of a certificate that does not state requirements."""
    try:
        requirements_of(require)
    except (UsageError, PolicyError, KeyError, TypeError):
        raise TamperError("'require' of the certificate asks for what Shoal does not know.", hint=form.HINT) from None


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(SignedCertificate):
    """All that is claimed of a release.

    ``after`` counts records (people, where the person column is published); ``after_people`` and ``requirements_people`` count
    people where the policy names a person column.

    The parts after ``identifiers`` are there from version 2 on: numbers that only a population table or the original gives, by
    requirement; columns that the policy lets stay although they look like identifiers, with reasons, and those that do look so in
    the published file; and notes that become limits.
    """

    format: Literal["shoal-certificate/1", "shoal-certificate/2"] = FORMAT
    k: int
    require: Mapping[str, Any]
    requirements: tuple[Judged, ...]
    threshold: Threshold
    release: Purpose
    proof: Proof
    data: Data
    plan: PlanEntry
    input: Input
    columns: tuple[Column, ...]
    unit: Unit
    weight: str | None
    missing: Missing
    population: Population
    before: ClassNumbers
    after: PublishedNumbers
    attackers: tuple[Attacker, ...]
    wp216: tuple[Question, ...]
    attacks: tuple[AttackResult, ...]
    utility: Utility
    limits: tuple[str, ...]
    triggers: str
    verify: str
    after_people: PublishedNumbers | None = field(default=None, metadata=LEFT_OUT)
    requirements_people: tuple[Judged, ...] | None = field(default=None, metadata=LEFT_OUT)
    identifiers: tuple[Classing, ...] | None = field(default=None, metadata=LEFT_OUT)
    known: Known | None = field(default=None, metadata=LEFT_OUT)
    given: Mapping[str, float | None] | None = field(default=None, metadata=LEFT_OUT)
    identifying: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT)
    looks_identifying: tuple[str, ...] | None = field(default=None, metadata=LEFT_OUT)
    notes: tuple[str, ...] | None = field(default=None, metadata=LEFT_OUT)

    def __repr__(self) -> str:
        signed = f"signed with key {self.key.fingerprint}" if self.key else "not signed"
        return (
            f"<Certificate: k = {self.k:,}, {self.after.records:,} records in {self.after.classes:,} classes, "
            f"{self.utility.suppressed:,} suppressed, {signed}>"
        )

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """The requirements that the release was made for."""
        return requirements_of(self.require)

    @property
    def counted(self) -> PublishedNumbers:
        """The numbers that k is one of: of people, where they are the unit."""
        return self.after_people or self.after

    @property
    def singled_out(self) -> float | None:
        """The share of the records that all published columns together single out; None if it was not counted."""
        return None if self.known is None else self.known.all_columns / max(self.known.records, 1)

    def with_treatment(self, treatment: str, *roles: str) -> list[str]:
        """Names of the columns with this treatment, in these roles (in any, where none is given)."""
        return [c.name for c in self.columns if c.treatment == treatment and (not roles or c.role in roles)]

    @classmethod
    def from_json(cls, data: Any) -> Self:
        version = data.get("format") if isinstance(data, dict) else None
        if version not in (FORMAT, FORMAT_1):
            other = isinstance(version, str) and version.startswith("shoal-certificate/")
            raise TamperError(
                f"the certificate is of another version than '{FORMAT}'."
                if other
                else f"this is not a certificate ('{FORMAT}').",
                hint="Use the version of Shoal that is named in it under 'tool'." if other else form.HINT,
            )
        made = super().from_json(data)
        later = (made.given, made.identifying, made.looks_identifying, made.notes, made.utility.allowed)
        if {part is None for part in later} != {version == FORMAT_1} or (made.known is not None and version == FORMAT_1):
            raise TamperError("the certificate has parts of another version than its own.", hint=form.HINT)
        if (made.after_people is None or made.requirements_people is None) != (made.unit.column is None):
            raise TamperError("the certificate counts people without a person column, or the reverse.", hint=form.HINT)
        check_require(made.require)
        return made


ONE_LEVEL = "with one level per column"
METHODS = {
    "lattice": "one level per column",
    "local": "local recoding",
    "values": "local recoding with hierarchy values",
    "sets": "local recoding with sets of values",
    "ranges": "local recoding with ranges of numbers",
    "mixed": "local recoding with one level for some columns",
    "given plan": "a plan made earlier",
    "probabilistic": "values allotted by the size of the population",
}
"""Methods in words."""


def in_words(one: OtherMethod) -> str:
    """What another method would have cost, or why it was not tried."""
    name = METHODS.get(one.method, one.method)
    if one.loss is None:
        return f"{name} {one.reason}"
    out = f"{one.suppressed:,} records" if one.suppressed else "nobody"
    return f"{name} would lose {written(one.loss, 2)} and leave {out} out"


@dataclass(frozen=True)
class Cost:
    """``blank`` names the quasi-identifiers of which one group or nothing is left, ``of`` counts those with several before."""

    blank: tuple[str, ...]
    of: int
    loss: float
    measure: str
    suppressed: int
    suppressed_share: float
    proven: bool
    gap: float | None
    method: str = "lattice"
    plans: int | None = None
    others: tuple[OtherMethod, ...] | None = None
    first: bool = False

    @property
    def sentence(self) -> str:
        """The cost in words, the worst first.

        >>> print(Cost(("zip",), 3, 0.41, "loss", 0, 0.0, True, 0.0, plans=24, others=()).sentence)
        1 of 3 quasi-identifiers tells nothing any more: zip. Loss 0.41 of 1; the best of all 24 plans with one level per column.
        """
        parts = []
        if self.blank:
            verb = "tells" if len(self.blank) == 1 else "tell"
            parts.append(f"{len(self.blank)} of {self.of} quasi-identifiers {verb} nothing any more: {', '.join(self.blank)}.")
        else:
            parts.append("Every quasi-identifier still tells something.")
        if self.suppressed:
            share = written(100 * self.suppressed_share, 2 if self.suppressed_share < 0.995 else 4)
            parts.append(f"{self.suppressed:,} records ({share} %) were left out.")
        parts.append(f"Loss {written(self.loss, 2)}{' of 1' if self.measure in ('loss', 'ncp') else ''}; {self.distance}.")
        return " ".join(parts)

    @property
    def distance(self) -> str:
        """How far the plan may be from the best, and what is known of other methods.

        >>> Cost((), 3, 0.1, "loss", 0, 0.0, False, None, "local", others=(OtherMethod("lattice", 0.4, 0),)).distance
        'local recoding (whether a better one exists is not known); one level per column would lose 0.4 and leave nobody out'
        """
        return self._in_version_1 if self.first else "; ".join((self._scope, *self._compared))

    @property
    def _in_version_1(self) -> str:
        """The same in the words of certificates of version 1, whose reports ``verify`` makes again byte for byte."""
        if self.proven:
            return "no plan loses less"
        if self.gap is None:
            return "not proven to lose least; how far it is from the best is not known"
        return f"not proven to lose least; a better plan could save at most {written(self.gap, 2)}"

    @property
    def _scope(self) -> str:
        """Among which plans this one is the best, as far as that is known."""
        if self.proven:
            return f"the best of all {self.plans:,} plans {ONE_LEVEL}" if self.plans else f"the best plan {ONE_LEVEL}"
        if self.method != "lattice":
            return f"{METHODS.get(self.method, self.method)} (whether a better one exists is not known)"
        least = 0.0 if self.gap is None else self.loss - self.gap
        if least <= 0.005 * self.loss:  # a bound this low says nothing
            return f"the best plan {ONE_LEVEL} found so far; how far it is from the best is not known"
        return f"the best plan {ONE_LEVEL} found so far; none of them loses less than {written(least, 2)}"

    @property
    def _compared(self) -> tuple[str, ...]:
        """What each other method would have lost."""
        if self.others is None:
            return ("other methods were not tried",)
        return tuple(in_words(one) for one in self.others)

    def to_json(self) -> dict[str, Any]:
        same = ("loss", "suppressed", "suppressed_share", "proven", "gap", "sentence")
        return {"blank": list(self.blank), "quasi": self.of, **{name: getattr(self, name) for name in same}}


def cost_of(made: Certificate) -> Cost:
    """The cost that a certificate tells of."""
    had = [c for c in made.columns if (c.values_before or 0) > 1]
    blank = tuple(c.name for c in had if (c.values_after or 0) <= 1)
    u = made.utility
    how = (u.method, u.plans, u.others, made.format == FORMAT_1)
    return Cost(blank, len(had), u.loss, u.optimize, u.suppressed, u.suppressed_share, u.proven, u.gap, *how)
