"""What a verification finds: each check with a sentence, and whether all hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError, TamperError, VerificationError
from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.form import plain


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

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
        said = "verified" if self.ok else f"NOT verified ({', '.join(c.name for c in self.failed) or 'nothing checked'})"
        return f"<Verification of {Path(self.folder).name}: {said}, {len(self.checks)} checks>"

    @property
    def ok(self) -> bool:
        return bool(self.checks) and all(c.ok for c in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(c for c in self.checks if not c.ok)

    def require(self) -> Verification:
        """The verification itself, or the error that says what does not hold."""
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


def tried(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except ShoalError as error:
        return Check(name, False, error.message)
    except OSError as error:
        return Check(name, False, f"a file of the release cannot be read ({type(error).__name__})")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        return Check(name, False, f"the certificate holds what cannot be worked out again ({type(error).__name__})")
