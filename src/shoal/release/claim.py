"""What a release claims: the base of every kind of release that can be proven again (:mod:`shoal.release.verification`).

A claim is a certificate and the folder it describes. Each kind of release is a subclass of :class:`Claim`: it reads its
certificate, counts its facts again from the published files, compares them with those stated, and derives its sentences and
its page again. Tables of counts (:mod:`shoal.release.counts`) are published without a certificate, so they have no claim.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shoal.errors import ShoalError, TamperError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import NAME, REPORT, Certificate, SignedCertificate
from shoal.model.certificate.form import plain
from shoal.model.certificate.parts import Objections, PlanEntry
from shoal.release.certificate.signing import check_signature
from shoal.release.make.private_file import check_list
from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.release.proof.facts import Facts

RENDERED = ("shoal 0.3.0", f"shoal {__version__}")
"""What a certificate may state as its tool: the versions whose pages can be made again, byte for byte."""
NOT_COUNTED = "the data were not counted: the files of the folder are not those that were signed"
Step = tuple[str, Callable[[], str]]
C = TypeVar("C", bound=SignedCertificate)
P = TypeVar("P")


@dataclass(frozen=True)
class Certified(Generic[C, P]):
    """A signed certificate, its page, and the plan as it is published."""

    certificate: C
    page: str
    plan: P


@dataclass(frozen=True)
class Check:
    """One thing that was checked."""

    name: str
    ok: bool
    sentence: str

    def to_json(self) -> dict[str, Any]:
        return {"check": self.name, "ok": self.ok, "sentence": self.sentence}


@dataclass(frozen=True, repr=False)
class Verification:
    """The outcome: ``ok`` only when every check holds. ``told`` holds further numbers for the JSON."""

    folder: str
    checks: tuple[Check, ...]
    certificate: Certificate | None = None
    told: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        outcome = "verified" if self.ok else f"NOT verified ({', '.join(c.name for c in self.failed) or 'nothing checked'})"
        return f"<Verification of {Path(self.folder).name}: {outcome}, {len(self.checks)} checks>"

    @property
    def ok(self) -> bool:
        return bool(self.checks) and all(c.ok for c in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(c for c in self.checks if not c.ok)

    def require(self) -> Verification:
        """The verification itself; raises an error that says what does not hold."""
        if not self.ok:
            first = self.failed[0] if self.failed else Check("folder", False, "nothing could be checked")
            kind = VerificationError if first.name == "re-count" else TamperError
            hint = "Do not use it. Ask the publisher for the release again."
            raise kind(f"the release does not verify: {first.sentence}", hint=hint, checks=self.failed)
        return self

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"verified": self.ok, "checks": [c.to_json() for c in self.checks]}
        out |= self.told
        if self.certificate and self.certificate.key:
            after, key = self.certificate.after, self.certificate.key
            out |= {"k": self.certificate.k, "k_recounted": after.k, "records": after.records, "classes": after.classes}
            out["proof"] = plain(self.certificate.proof)
            out["key"] = {"fingerprint": sign.fingerprint(key.public), "origin": key.origin}
        return out


def broken_claim(broken: Sequence[AttackResult], hint: str) -> VerificationError:
    """The error that stops a release of which an attacker gets more than it would claim; the worst attack comes first."""
    worst = broken[0]
    what = f"an attack does better than the release would claim ({worst.name}): {worst.sentence} Nothing was released."
    return VerificationError(what, hint=hint, attacks=tuple(broken))


class Claim(ABC, Generic[C]):
    """A certificate and the folder it describes; each method raises where what it looks at does not hold."""

    def __init__(self, place: Path, table: Any = None, counted: tuple[str, Facts] | None = None) -> None:
        self.place, self.table, self.known_facts = place, table, counted
        self.certificate: C = self.read(place / NAME)

    @property
    def in_database(self) -> bool:
        """Whether the data are a table of a database, which is then named by ``table``."""
        return getattr(getattr(self.certificate, "data", None), "table", None) is not None

    @staticmethod
    @abstractmethod
    def read(path: Path) -> C:
        """The certificate of this kind, strictly."""

    @abstractmethod
    def files(self) -> str:
        """The folder holds the listed files with the bytes that were signed, and no others."""

    @abstractmethod
    def count(self) -> str:
        """The data, counted again, give the stated numbers and meet the requirements."""

    @abstractmethod
    def sentences(self) -> str:
        """The sentences follow from the numbers."""

    @abstractmethod
    def page(self) -> str:
        """The report as it follows from the certificate."""

    @abstractmethod
    def summary(self) -> Mapping[str, Any]:
        """Numbers for the JSON, beside those of the certificate of a table."""

    def steps_before(self) -> list[Step]:
        """Checks of the certificate alone, before its signature."""
        return []

    def plan_steps(self) -> list[Step]:
        """Checks of the plan, before the data are counted."""
        return []

    def further_steps(self) -> list[Step]:
        """Checks between the count and the sentences."""
        return []

    @property
    def plan(self) -> PlanEntry | None:
        """The entry of the plan, to which a seed is bound; None if this kind publishes no plan."""
        return None

    @property
    @abstractmethod
    def objections(self) -> Objections | None:
        """The numbers of the people who opted out."""

    def not_published(self, listed: str | Path | Iterable[Any]) -> str:
        """What follows about the ids of the list in the data, as the end of a sentence."""
        return ""

    def report(self) -> str:
        """The page is, byte for byte, the one that follows from the certificate, for any version that wrote it."""
        if self.certificate.tool not in RENDERED:
            what = "the report is not checked: it was not written by a version whose pages this version of Shoal can make again "
            what += f"({', '.join(RENDERED)}). Do not rely on it; read the certificate."
            raise TamperError(what)
        if (self.place / REPORT).read_bytes() != self.page().encode():
            raise TamperError("the report is not the page that follows from the certificate.")
        return "the report is the page that follows from the certificate"

    def signature(self, expected: str | None) -> str:
        """The signature fits, by the expected key if one is given."""
        key = check_signature(self.certificate)
        if expected is None:
            alone = key.origin == "made for this release"
            who = "nobody's name is proven" if alone else "compare the fingerprint with the publisher's"
            return f"the signature fits (key {key.fingerprint}, {key.origin}; {who})"
        if expected == sign.fingerprint(key.public, sign.SHORT_DIGITS):
            what = "the expected fingerprint is the short one of 0.3.0, for which another key can be searched. "
            what += "Ask the publisher for the public key or the fingerprint of 32 digits."
            raise TamperError(what)
        if expected not in (key.public, key.fingerprint):
            raise TamperError("the release is signed with another key than the one expected.")
        return f"the signature fits and the key {key.fingerprint} is the one expected"

    def opt_outs(self, listed: str | Path | Iterable[Any], private: str | Path) -> str:
        """The list of people who opted out is the one that the certificate is bound to, and none of them is published."""
        if self.objections is None:
            raise TamperError("the release was made without a list of people to leave out.")
        looked = self.not_published(listed)
        return f"{check_list(self.objections, listed, private)}{looked}"


def try_check(name: str, look: Callable[[], str]) -> Check:
    """The outcome of a check; nothing that a forged folder raises goes further than this."""
    try:
        return Check(name, True, look())
    except ShoalError as error:
        return Check(name, False, error.message)
    except OSError as error:
        return Check(name, False, f"a file of the release cannot be read ({type(error).__name__})")
    except Exception as error:  # a template, too, stops at what a forger left out
        return Check(name, False, f"the certificate holds what cannot be worked out again ({type(error).__name__})")
