"""Do the claims of a certificate follow from its numbers, its plan and its own page?

A forger can sign anything with a key of his own. What can be worked out again is therefore worked out again here: form, counts,
columns against the plan, the verdict, the chances, and the report, which is a function of the certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import TamperError
from shoal.model.plan import Plan
from shoal.release.certificate import document as cert
from shoal.release.policy.presets import class_for
from shoal.release.proof.recount import alike
from shoal.steps import Drop
from shoal.version import __version__

ALWAYS = {
    "after", "attackers", "attacks", "before", "columns", "data", "date", "files", "format", "input", "k", "key", "limits",
    "missing", "plan", "population", "proof", "release", "require", "requirements", "signature", "threshold", "title", "tool",
    "triggers", "unit", "utility", "verdict", "verify", "weight", "wp216",
}  # fmt: skip
PEOPLE = {"after_people", "requirements_people"}


def check_form(certificate: Mapping[str, Any]) -> None:
    """The parts that a certificate has, no others; counts are whole numbers that make sense."""
    unit = certificate["unit"]["column"]
    if set(certificate) != ALWAYS | (PEOPLE if unit is not None else set()):
        raise TamperError("the certificate lacks a part, or has one that Shoal never writes.")
    utility, came = certificate["utility"], certificate["input"]
    for number in (certificate["k"], came["records"], utility["suppressed"], certificate["after"]["records"], drawn(came)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise TamperError("a count in the certificate is not a whole number of at least 0.")
    if not 0 < drawn(came) <= came["records"] or utility["suppressed"] > drawn(came):
        raise TamperError("the certificate counts more records than came in.")
    if not certificate["attacks"] or not set(cert.LIMITS) <= set(certificate["limits"]):
        raise TamperError("the certificate leaves out its attacks or its limits.")


def drawn(came: Mapping[str, Any]) -> Any:
    """Records that the release is about: those of the sample, where one was drawn, else all that came in."""
    return came["records"] if came["drawn"] is None else came["drawn"]


def check_columns(certificate: Mapping[str, Any], plan: Plan) -> None:
    """The table of columns names what is published and nothing else, in the roles that were counted, as the plan does it."""
    data, columns = certificate["data"], certificate["columns"]
    shown = [c["name"] for c in columns if c["treatment"] != "removed"]
    gone = [c["name"] for c in columns if c["treatment"] == "removed"]
    dropped = [s.column for s in plan.steps if isinstance(s, Drop)]
    if sorted(shown) != sorted(data["columns"]) or sorted(gone) != sorted(dropped):
        raise TamperError("the certificate says of its columns what the data or the plan do not.")
    for role in ("quasi", "sensitive"):
        if sorted(c["name"] for c in columns if c["role"] == role) != sorted(data[role]):
            raise TamperError("the certificate names columns in other roles than were counted.")
    left = [name for name in shown if name not in data["quasi"] and not plan.for_column(name)]
    local = certificate["utility"]["method"] == "local"
    if left or (not local and any(not plan.for_column(name) for name in data["quasi"])):
        raise TamperError("the plan has no step for a published column.")
    if plan.suppression.scope != certificate["utility"]["scope"]:
        raise TamperError("the plan suppresses otherwise than the certificate says.")


def check_report(place: Path, certificate: Mapping[str, Any]) -> None:
    """The page is the one that follows from the certificate; one made by another version must hold the same verdict."""
    from html import unescape

    from shoal.report.release_report import render

    page = (place / cert.REPORT).read_text(encoding="utf-8")
    body = {k: v for k, v in certificate.items() if k not in ("key", "signature")}
    body["files"] = [f for f in certificate["files"] if f["name"] != cert.REPORT]
    same = render(body) == page if certificate["tool"] == f"shoal {__version__}" else certificate["verdict"] in unescape(page)
    if not same:
        raise TamperError("the report does not say what the certificate says.")


def smallest_class(require: Mapping[str, Any]) -> int:
    """The class size that k and the largest risk together ask for."""
    risk = require.get("risk", {})
    return max([int(require.get("k", 1)), *(class_for(risk[n]) for n in ("prosecutor", "journalist") if n in risk)])


def chances(counted: Mapping[str, Any]) -> list[float | int]:
    """What the four attackers of a certificate reach: twice the largest chance, the average one, and people who are alone."""
    members = sum(int(size) * n for size, n in counted["sizes"].items())
    return [1.0 / counted["k"], 1.0 / counted["k"], counted["classes"] / members, counted["unique"]]


def check_claims(certificate: Mapping[str, Any]) -> str:
    """The sentence, the thresholds, the chances and the headline follow from the numbers."""
    after, data = certificate["after"], certificate["data"]
    people = certificate.get("after_people")
    if certificate["verdict"] != cert.verdict(told(certificate)):
        raise TamperError("the verdict does not follow from the numbers.")
    if certificate["k"] < certificate["require"].get("k", 1) or certificate["k"] != (people or after)["k"]:
        raise TamperError("the certificate claims another k than its numbers give.")
    if certificate["k"] > after["k"]:
        raise TamperError("the certificate claims another k than its numbers give.")
    if certificate["threshold"]["smallest_class"] != smallest_class(certificate["require"]):
        raise TamperError("the threshold is not the one that is required.")
    if not alike([a["after"] for a in certificate["attackers"]], chances(people or after)):
        raise TamperError("the chances of the attackers do not follow from the numbers.")
    if people and any(not f["met"] for f in certificate["requirements_people"]):
        raise TamperError("a requirement over people is not met.")
    if certificate["proof"] != cert.proof(certificate["unit"]["column"], data["unit"]):
        raise TamperError("the certificate says something else about what is proven than follows from it.")
    if people:
        _people_fit(people, after, published=data["unit"] is not None)
    return f"the claims follow from the numbers. {certificate['proof']['sentence']}"


def told(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What the verdict is made of."""
    return {
        "k": certificate["k"],
        "quasi": certificate["data"]["quasi"],
        "unit": certificate["unit"]["column"],
        "records": certificate["after"]["records"],
        "classes": certificate["after"]["classes"],
        "suppressed": certificate["utility"]["suppressed"],
        "scope": certificate["utility"]["scope"],
        "input": certificate["input"]["records"],
        "drawn": certificate["input"]["drawn"],
    }


def _people_fit(people: Mapping[str, Any], after: Mapping[str, Any], *, published: bool) -> None:
    """Numbers of people that the records allow: the same classes, and in none of them more people than records."""
    if published and not alike(people, after):
        raise TamperError("people are counted twice and differently.")
    if people["records"] != after["records"] or people["classes"] != after["classes"] or people["k"] > after["k"]:
        raise TamperError("the numbers of people do not fit the records.")
    most = sum(int(size) * n for size, n in people["sizes"].items())
    if most > after["records"] or sum(people["sizes"].values()) != after["classes"]:
        raise TamperError("the numbers of people do not fit the records.")
