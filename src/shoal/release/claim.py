"""What a release claims, and the one walk that proves it again, offline, from the folder alone.

Takes    the folder of a release; perhaps the public key that is expected
Returns  Verification: each check with a sentence, and whether all hold
Keeps    one changed, added or missing byte, number, cell or file anywhere in the folder makes a check fail
Cost     reads each file once for its hash and the data once more to count; a million records take a few seconds

A claim is a certificate and the folder it describes. Each kind of release is a subclass of :class:`Claim`: it reads its
certificate, counts its facts again from the published files, compares them with those stated, and derives its sentences and
its page again. Tables of counts (:mod:`shoal.release.counts`) are published without a certificate, so they have no claim.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from shoal.errors import ShoalError, TamperError, UnreadableError, UsageError, VerificationError
from shoal.model import strict_json
from shoal.model.certificate.certificate import EVENT_FORMAT, NAME, REPORT, Certificate
from shoal.model.certificate.file import read_bytes
from shoal.model.certificate.form import plain
from shoal.model.certificate.parts import Objections, PlanEntry
from shoal.model.display import Progress, silent
from shoal.release.certificate.signing import check_ordinary, check_signature, file_entry, signed
from shoal.release.make.private_file import check as check_seed
from shoal.release.make.private_file import check_list, private_of
from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.kernels.signatures import Signer
    from shoal.release.proof.facts import Facts

LINKED_FORMAT = "shoal-linked-certificate/1"
NOT_COUNTED = "the data were not counted: the files of the folder are not those that were signed"
Step = tuple[str, Callable[[], str]]
C = TypeVar("C", bound=Any)


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
            raise kind(
                f"the release does not verify: {first.sentence}",
                hint="Do not use it. Ask the publisher for the release again.",
                checks=self.failed,
            )
        return self

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"verified": self.ok, "checks": [c.to_json() for c in self.checks]}
        out |= self.told
        if self.certificate and self.certificate.key:
            after, key = self.certificate.after, self.certificate.key
            out |= {"k": self.certificate.k, "k_recounted": after.k, "records": after.records, "classes": after.classes}
            out["proof"] = plain(self.certificate.proof)
            out["key"] = {"fingerprint": key.fingerprint, "origin": key.origin}
        return out


class Claim(ABC, Generic[C]):
    """A certificate and the folder it describes; each method raises where what it looks at does not hold."""

    in_database: ClassVar[bool] = False
    """Whether the data may be a table of a database, which is then named by ``table``."""

    def __init__(self, place: Path, table: Any = None, counted: tuple[str, Facts] | None = None) -> None:
        self.place, self.table, self.known_facts = place, table, counted
        self.certificate: C = self.read(place / NAME)

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
        """The page follows from the certificate; one made by another version must contain the same verdict."""
        text = (self.place / REPORT).read_text(encoding="utf-8")
        same = self.page() == text if self.same_version else self.certificate.verdict in unescape(text)
        if not same:
            raise TamperError("the report does not say what the certificate says.")
        return "the report says what the certificate says"

    @property
    def same_version(self) -> bool:
        return bool(self.certificate.tool == f"shoal {__version__}")

    def signature(self, expected: str | None) -> str:
        """The signature fits, by the expected key if one is given."""
        key = check_signature(self.certificate)
        if expected is None:
            alone = key.origin == "made for this release"
            who = "nobody's name is proven" if alone else "compare the fingerprint with the publisher's"
            return f"the signature fits (key {key.fingerprint}, {key.origin}; {who})"
        if expected not in (key.public, key.fingerprint):
            raise TamperError("the release is signed with another key than the one expected.")
        return f"the signature fits and the key {key.fingerprint} is the one expected"

    def opt_outs(self, listed: str | Path | Iterable[Any], private: str | Path) -> str:
        """The list of people who opted out is the one that the certificate is bound to, and none of them is published."""
        if self.objections is None:
            raise TamperError("the release was made without a list of people to leave out.")
        looked = self.not_published(listed)
        return f"{check_list(self.objections, listed, private)}{looked}"


def verify(
    folder: str | Path,
    *,
    key: str | None = None,
    table: Any = None,
    private: str | Path | None = None,
    exclude: str | Path | Iterable[Any] | None = None,
    progress: Progress | None = None,
    counted: tuple[str, Facts] | None = None,
) -> Verification:
    """Check a release folder: form, signature, files, plan, and every claimed number by counting again.

    Parameters
    ----------
    folder : str or Path
        What ``shoal anonymize --out`` left.
    key : str, optional
        The public key (base64) or fingerprint that the publisher announced. Without it the signature shows that nothing
        changed since signing, not who signed.
    table : Table, optional
        The published table, if the data of the release are in a database.
    private : path, optional
        The file that keeps the seed (``FOLDER.private.json``): is it the seed that the certificate is bound to?
    exclude : path or ids, optional
        The list of people who opted out: is it the list that the certificate is bound to? Needs the private file
        (``private``, or the one beside the folder).
    counted : SHA-256 and Facts, optional
        What :func:`~shoal.release.proof.recount.recount` counted a moment ago in a file with these bytes: the file is not
        counted twice while a release is made. The hash must be that of the data in the folder.
    """
    report, place = progress or silent, Path(folder)
    if key is not None and not key.strip():
        raise UsageError("The expected key is empty.", hint="Pass the public key or fingerprint that the publisher announced.")
    if not place.is_dir():
        raise UnreadableError(f"'{place.name}' is not a folder of a release.", hint="Name the folder given to --out.")
    report(0.0, "reading the certificate")
    try:
        kind = _kind_of(place)
        if table is not None and not kind.in_database:
            raise UsageError("this release is proven from its folder alone.", hint="Leave --table out.")
        claim = kind(place, table, counted)
    except TamperError as error:
        return Verification(str(folder), (Check("certificate", False, error.message),))
    whole = claim.certificate if isinstance(claim.certificate, Certificate) else None
    checks = [Check("certificate", True, "the certificate is as Shoal wrote it, and of a known version")]
    ordinary = tried("files", lambda: check_ordinary(place, len(claim.certificate.files)))
    if not ordinary.ok:
        return Verification(str(folder), (*checks, ordinary), whole, claim.summary())
    steps = _steps(claim, key, private, exclude)
    for i, (name, look) in enumerate(steps):
        report((i + 1) / (len(steps) + 1), f"checking {name}")
        changed = name in ("re-count", "columns") and not all(c.ok for c in checks if c.name == "files")
        checks.append(Check(name, False, NOT_COUNTED) if changed else tried(name, look))
    return Verification(str(folder), tuple(checks), whole, claim.summary())


def seal(body: C, page: str, stage: Path, signer: Signer, **options: Any) -> C:
    """Write the page and the signed certificate beside the data, then verify the whole folder.

    ``body`` is the certificate as its file gives it back (``as_read``), of which the page is a function.
    """
    file = stage / REPORT
    file.write_text(page, encoding="utf-8", newline="\n")
    whole: Any = signed(replace(body, files=(*body.files, file_entry(file))), signer)
    (stage / NAME).write_bytes(whole.to_bytes())
    verify(stage, **options).require()
    return cast(C, whole)


def _steps(
    claim: Claim[Any], key: str | None, private: str | Path | None, exclude: str | Path | Iterable[Any] | None
) -> list[Step]:
    steps = [
        *claim.steps_before(),
        ("signature", lambda: claim.signature(key)),
        ("files", claim.files),
        *claim.plan_steps(),
        ("re-count", claim.count),
        *claim.further_steps(),
        ("claims", claim.sentences),
        ("report", claim.report),
    ]
    plan = claim.plan
    if private is not None and plan is not None:
        steps.append(("seed", lambda: check_seed(plan, private)))
    if exclude is not None:
        salted = private_of(claim.place, private)
        steps.append(("objections", lambda: claim.opt_outs(exclude, salted)))
    return steps


def _kind_of(place: Path) -> type[Claim[Any]]:
    """The kind of release that a folder says it is; whether it is one, the reader of that kind decides."""
    try:
        found = strict_json.loads(read_bytes(place / NAME).decode("utf-8"))
    except (ValueError, RecursionError):
        found = None
    stated = found.get("format") if isinstance(found, dict) else None
    if stated == EVENT_FORMAT:  # each kind of release loads the proof of its own
        from shoal.release.events.verify import EventClaim

        return EventClaim
    if stated == LINKED_FORMAT:
        from shoal.release.linked.verify import LinkedClaim

        return LinkedClaim
    from shoal.release.certificate.verify import TableClaim

    return TableClaim


def tried(name: str, look: Callable[[], str]) -> Check:
    """The outcome of a check; nothing that a forged folder raises goes further than this."""
    try:
        return Check(name, True, look())
    except ShoalError as error:
        return Check(name, False, error.message)
    except OSError as error:
        return Check(name, False, f"a file of the release cannot be read ({type(error).__name__})")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        return Check(name, False, f"the certificate holds what cannot be worked out again ({type(error).__name__})")
