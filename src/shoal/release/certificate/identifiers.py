"""Columns of a release held against the rules of its preset: written into the certificate, and worked out again from the file.

What the list found in the original columns, and the reasons that a person gave, rest on the signature; the class of every
published column follows from its name and its published values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.errors import PolicyError, TamperError, VerificationError
from shoal.find.safe_harbor.classes import NONE, Classed
from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.parts import Classing
from shoal.release.gate.checklist import finer
from shoal.release.gate.identifying import looks_sensitive
from shoal.release.gate.published_columns import Published, published, refused_as_sensitive, refused_by_list
from shoal.release.plan.prepare import Prepared
from shoal.release.policy.presets import Preset, preset
from shoal.version import __version__

REMOVED, STATED = "removed", "stated by the publisher"
SIGNED = "Signed only: what the list found in the original columns, and reasons why a column is none of it"


def classings(prepared: Prepared, source: Any, names: tuple[str, ...], date: str) -> tuple[Classing, ...] | None:
    """Each column of the input under the list of the preset; what would be published against a rule of it is refused."""
    rule, policy = prepared.policy.preset, prepared.policy
    if rule is None or not (rule.checklist or rule.each_sensitive):
        return None
    found = published(source, names)
    weak = refused_as_sensitive(rule, [found.columns[c] for c in policy.insensitive if c in found.columns])
    if weak:
        raise looks_sensitive(rule.name, weak[0])
    if not rule.checklist:
        return None
    classed, refused = refused_by_list(found, date, policy.none_of_the_eighteen)
    if refused:
        raise finer(refused[0].column, refused[0].why)
    out = []
    for name, one in prepared.on_list.items():
        released, checked = _released(name, found, classed)
        out.append(Classing(name, one.classed.title, one.classed.evidence, released, checked, one.reason or None))
    return tuple(out)


def _released(name: str, found: Published, classed: dict[str, Classed]) -> tuple[str, str]:
    """What the published values of a column are under the list, and why."""
    if name not in found.columns:
        return REMOVED, ""
    if name not in classed:
        return NONE, STATED
    one = classed[name]
    return (one.title if one.item is None else f"{one.title}, as coarse as the list allows"), one.evidence


def check_preset_columns(place: Path, certificate: Certificate, table: Any) -> str:
    """The rules of the preset about columns hold for the published values; every class is the one that follows from them."""
    stated = certificate.threshold.preset
    rule = None if stated is None else _rule(stated.name)
    lines = certificate.identifiers
    if (lines is not None) != bool(rule is not None and rule.checklist):
        raise TamperError("the certificate lists classes of identifiers without a preset that asks for them, or the reverse.")
    if rule is None or not (rule.checklist or rule.each_sensitive):
        return "no preset with rules of its own about columns is named"
    data = certificate.data
    if data.file is None and table is None:
        raise VerificationError(f"the data are table '{data.table}' of a database; name it with --table ENGINE-URL::table")
    found = published(table if data.file is None else place / data.file, data.columns)
    plain = [c.name for c in certificate.columns if c.role == "insensitive" and c.name in found.columns]
    weak = refused_as_sensitive(rule, [found.columns[c] for c in plain])
    if weak:
        raise TamperError(f"the certificate claims preset '{rule.name}', but '{weak[0].column}' looks sensitive: {weak[0].why}.")
    if lines is None:
        return f"no column that is called insensitive looks sensitive, as preset '{rule.name}' asks"
    return _check_list(certificate, lines, found)


def _rule(name: str) -> Preset:
    try:
        return preset(name)
    except PolicyError:
        raise TamperError("the certificate claims a preset that is not known.") from None


def _check_list(certificate: Certificate, lines: tuple[Classing, ...], found: Published) -> str:
    if [line.column for line in lines] != [c.name for c in certificate.columns]:
        raise TamperError("the certificate does not class every column under the list of its preset.")
    reasons = {line.column: line.reason for line in lines if line.reason is not None}
    if not all(reason.strip() for reason in reasons.values()):
        raise TamperError("the certificate states that a column is none of the eighteen without a reason.")
    classed, refused = refused_by_list(found, certificate.date, {c: r for c, r in reasons.items() if c in found.columns})
    if refused:
        raise TamperError(f"the safe-harbor list does not let column '{refused[0].column}' stay: {refused[0].why}.")
    for line in lines:
        said = _released(line.column, found, classed)
        gone = said[0] == REMOVED and line.released == REMOVED
        if gone or (certificate.tool != f"shoal {__version__}" and line.released != REMOVED and said[0] != REMOVED):
            continue
        if (line.released, line.checked) != said:
            raise TamperError(f"the certificate says of column '{line.column}' what does not follow from its published values.")
    kept = len(found.columns) - len(reasons)
    return f"{kept:,} published columns classed again under the eighteen, {len(reasons):,} stated to be none. {SIGNED}"
