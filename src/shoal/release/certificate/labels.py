"""What a release is called, worked out again: its preset, the questions of WP216, its attackers, its limits, its columns.

A forger can sign any word with a key of his own. A word that follows from counted numbers is therefore made again from them and
compared; :data:`SIGNED_ONLY` names what no reader can work out from the folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.errors import PolicyError, TamperError, VerificationError
from shoal.find.safe_harbor.classes import NONE, UNKNOWN, Classed
from shoal.model.certificate import form
from shoal.model.certificate.certificate import FORMAT_1, Certificate
from shoal.model.certificate.form import plain
from shoal.model.certificate.numbers import ClassNumbers
from shoal.model.certificate.parts import Classing, PresetRule
from shoal.model.compare import equal
from shoal.model.plan import Plan
from shoal.release.certificate import sentences
from shoal.release.certificate.derive import facts_of, judged, least_named, preset_named, same_verdicts
from shoal.release.certificate.sentences import TRIGGERS, generalized, treatment_of
from shoal.release.gate.identifying import looks_sensitive
from shoal.release.gate.safe_harbor import Published, finer, published, refused_as_sensitive, refused_by_list, undecided
from shoal.release.plan.prepare import Prepared
from shoal.release.policy.presets import Preset, below, check_sensitive_named, floor_of
from shoal.release.proof.facts import Given, alike, judge
from shoal.release.proof.read import check_records

SIGNED_ONLY = (
    "title, purpose and people named",
    "roles that were given to columns",
    "attacks that need more than the published classes",
    "levels, loss and trade-off of the plan",
    "shares of cells changed",
    "numbers about the original table",
)
"""What rests on the publisher's word; of version 1 also :data:`SIGNED_IN_1`."""
SIGNED_IN_1 = ("all attacks", "k under the other rules for missing values", "values of columns and results of analyses")

SIGNED_SAMPLE = "the size of the population, and that the table is a random sample of it"


def check_labels(certificate: Certificate, plan: Plan, given: Given) -> str:
    """Every derivable label is the one that follows from the numbers; ``given`` are numbers that only a population tells."""
    named = _preset(certificate, given)
    after = certificate.after
    same = {
        "the attackers": _attackers(certificate),
        "the questions of WP216": sentences.questions(after, certificate.attacks) == certificate.wp216,
        "the population": sentences.population(certificate.population.size, after.records) == certificate.population,
        "the rule for missing values": (certificate.missing.rule, certificate.missing.sentence) == sentences.MISSING_RULE
        and certificate.missing.k.own == (certificate.k if certificate.format == FORMAT_1 else after.k),
        "the standing sentences": (certificate.triggers, certificate.verify, certificate.input.note)
        == (TRIGGERS, sentences.VERIFY, sentences.INPUT_NOTE),
        "the limits": _limits(certificate),
        "the columns": _columns(certificate, plan),
        "who was left out": _left_out(certificate),
        "the numbers before": _fit(certificate.before) and certificate.before.records == certificate.input.used,
        "the requirements over people": _people(certificate, given),
    }
    wrong = [name for name, holds in same.items() if not holds]
    if wrong:
        raise TamperError(f"the certificate says of {wrong[0]} what does not follow from its numbers.")
    more: tuple[str, ...] = SIGNED_IN_1 if certificate.format == FORMAT_1 else ()
    more += (SIGNED_SAMPLE,) if any(r.needs_sample for r in certificate.asked) else ()
    return f"{named}the labels follow from the numbers. Signed only: {'; '.join((*SIGNED_ONLY, *more))}"


def _attackers(certificate: Certificate) -> bool:
    attackers = sentences.attackers(certificate.data.quasi, certificate.before, certificate.counted)
    return alike([plain(a) for a in attackers], [plain(a) for a in certificate.attackers])


def _preset(certificate: Certificate, given: Given) -> str:
    """The preset's name stands only where every part of it is asked for and met by the counted numbers."""
    stated = certificate.threshold.preset
    if stated is None:
        return ""
    rule = _known(stated)
    sensitive, requirements = certificate.data.sensitive, certificate.asked
    try:
        check_sensitive_named(rule, sensitive)
    except PolicyError as error:
        raise TamperError(f"the certificate claims preset '{rule.name}' without being entitled to it: {error.message}") from None
    weak = below(requirements, rule, sensitive)
    if weak:
        raise TamperError(f"the certificate claims preset '{rule.name}' but asks for less: {weak[0].sentence()}.")
    for numbers in (certificate.after, certificate.after_people):
        unmet = [v for v in judge(floor_of(rule, sensitive), facts_of(numbers), given) if not v.met] if numbers else []
        if unmet:
            raise TamperError(f"the certificate claims preset '{rule.name}' but the data do not meet it: {unmet[0].sentence}.")
    return f"preset '{rule.name}' holds in every part; "


def _known(stated: PresetRule) -> Preset:
    """The preset that is named, in its own words."""
    rule = preset_named(stated.name)
    if form.typed(PresetRule, rule.to_json()) != stated:
        raise TamperError("the certificate says of its preset what the preset does not say.")
    return rule


def _limits(certificate: Certificate) -> bool:
    must = sentences.limits(certificate)
    return certificate.limits[: len(must)] == must and not any(map(sentences.contradicting, certificate.limits[len(must) :]))


def _columns(certificate: Certificate, plan: Plan) -> bool:
    """Treatments as the plan does them, and the levels that the certificate repeats."""
    for column in certificate.columns:
        if column.role == "quasi":
            if column.height is None or column.treatment != generalized(column.level, column.height):
                return False
        elif column.treatment != treatment_of(plan.for_column(column.name)):
            return False
    levels = {c.name: c.level for c in certificate.columns if c.level is not None}
    return dict(certificate.utility.levels) == levels


def _left_out(certificate: Certificate) -> bool:
    """The sentence about suppressed records; no group is named on fewer records than the small-cell rule allows."""
    utility, least = certificate.utility, least_named(certificate)
    named = all(g.suppressed >= least and (isinstance(g.records, str) or g.records >= least) for g in utility.who)
    sentence = sentences.suppressed_sentence(certificate)
    return named and utility.who_note == sentences.who_note(least) and utility.suppressed_sentence.startswith(sentence)


def _fit(numbers: ClassNumbers) -> bool:
    """Class sizes, k, uniques and risks of one table fit each other."""
    sizes = {int(size): n for size, n in numbers.sizes.items()}
    if not sizes or min(sizes) < 1 or min(sizes.values()) < 1:
        return False
    once = {int(size): n for size, n in numbers.everybody.items()}
    if min(once, default=0) != min(sizes) or any(not 0 < n <= size * sizes.get(size, 0) for size, n in once.items()):
        return False
    counted = (sum(sizes.values()), min(sizes), once.get(1, 0))
    risk = equal(numbers.risk.largest, 1 / numbers.k) and equal(numbers.risk.average, round(numbers.average_risk, 12))
    return counted == (numbers.classes, numbers.k, numbers.unique) and risk


def _people(certificate: Certificate, given: Given) -> bool:
    """Requirements over people, judged again from the numbers of people."""
    people = certificate.after_people
    if people is None:
        return certificate.requirements_people is None
    verdicts = judged(certificate, facts_of(people), given)
    return _fit(people) and same_verdicts(verdicts, certificate.requirements_people or ())


FORMER = "neither its name nor its"
"""How the evidence of a harmless column began before columns had to be recognized as harmless."""
REMOVED, STATED = "removed", "stated by the publisher"
SIGNED = "Signed only: what the list found in the original columns, and reasons why a column is none of it"


def classings(prepared: Prepared, source: Any, names: tuple[str, ...], date: str) -> tuple[Classing, ...] | None:
    """Each column of the input under the list of the preset; what would be published against a rule of it is refused."""
    rule, policy = prepared.policy.preset, prepared.policy
    if rule is None or not (rule.checklist or rule.each_sensitive):
        return None
    texts = published(source, names)
    weak = refused_as_sensitive(rule, [texts.columns[c] for c in policy.insensitive if c in texts.columns])
    if weak:
        raise looks_sensitive(rule.name, weak[0])
    if not rule.checklist:
        return None
    classed, refused = refused_by_list(texts, date, policy.none_of_the_eighteen)
    if refused:
        unknown = [one.column for one in refused if one.unknown]
        raise undecided(unknown) if refused[0].unknown else finer(refused[0].column, refused[0].why)
    out = []
    for name, one in prepared.on_list.items():
        released, checked = _judge_released(name, texts, classed)
        out.append(Classing(name, one.classed.title, one.classed.evidence, released, checked, one.reason or None))
    return tuple(out)


def _judge_released(name: str, published: Published, classed: dict[str, Classed]) -> tuple[str, str]:
    """What the published values of a column are under the list, and why."""
    if name not in published.columns:
        return REMOVED, ""
    if name not in classed:
        return NONE, STATED
    one = classed[name]
    return (one.title if one.item is None else f"{one.title}, as coarse as the list allows"), one.evidence


def check_preset_columns(place: Path, certificate: Certificate, table: Any) -> str:
    """The rules of the preset about columns hold for the published values; every class is the one that follows from them."""
    stated = certificate.threshold.preset
    rule = None if stated is None else preset_named(stated.name)
    lines = certificate.identifiers
    if (lines is not None) != bool(rule is not None and rule.checklist):
        raise TamperError("the certificate lists classes of identifiers without a preset that asks for them, or the reverse.")
    if rule is None or not (rule.checklist or rule.each_sensitive):
        return "no preset with rules of its own about columns is named"
    data = certificate.data
    if data.file is None and table is None:
        raise VerificationError(f"the data are table '{data.table}' of a database; name it with --table ENGINE-URL::table")
    if data.file is not None:
        check_records(place / data.file, certificate.after.records)
    texts = published(table if data.file is None else place / data.file, data.columns)
    plain = [c.name for c in certificate.columns if c.role == "insensitive" and c.name in texts.columns]
    weak = refused_as_sensitive(rule, [texts.columns[c] for c in plain])
    if weak:
        raise TamperError(f"the certificate claims preset '{rule.name}', but '{weak[0].column}' looks sensitive: {weak[0].why}.")
    if lines is None:
        return f"no column that is called insensitive looks sensitive, as preset '{rule.name}' asks"
    return _check_list(certificate, lines, texts)


def _check_list(certificate: Certificate, lines: tuple[Classing, ...], published: Published) -> str:
    if [line.column for line in lines] != [c.name for c in certificate.columns]:
        raise TamperError("the certificate does not class every column under the list of its preset.")
    reasons = {line.column: line.reason for line in lines if line.reason is not None}
    if not all(reason.strip() for reason in reasons.values()):
        raise TamperError("the certificate states that a column is none of the eighteen without a reason.")
    former = frozenset(line.column for line in lines if line.released == NONE and line.checked.startswith(FORMER))
    stated = {c: r for c, r in reasons.items() if c in published.columns}
    classed, refused = refused_by_list(published, certificate.date, stated, former)
    if refused:
        raise TamperError(f"the safe-harbor list does not let column '{refused[0].column}' stay: {refused[0].why}.")
    for line in lines:
        sentence = _judge_released(line.column, published, classed)
        if line.column in former and sentence[0] in (NONE, UNKNOWN):
            continue
        if (line.released, line.checked) != sentence and {line.released, sentence[0]} != {REMOVED}:
            raise TamperError(f"the certificate says of column '{line.column}' what does not follow from its published values.")
    kept = len(published.columns) - len(reasons)
    early = f"; {len(former):,} of them by the earlier rule, which took for harmless what nothing spoke against" if former else ""
    return f"{kept:,} published columns classed again under the eighteen{early}, {len(reasons):,} stated to be none. {SIGNED}"
