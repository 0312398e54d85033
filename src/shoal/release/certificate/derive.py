"""The derived half of a certificate, from the published files and the signed half: one function, for making and for verifying.

Takes    a certificate, of which the signed half is used; the facts counted again from the published data; the folder
Returns  the same certificate with every derived part worked out (:data:`~shoal.model.certificate.halves.DERIVED`)
Keeps    what the files disprove cannot stand in a certificate of any signer
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shoal.attacks import claimed
from shoal.attacks.homogeneity import background, homogeneity, skewness
from shoal.attacks.leftovers import leftovers
from shoal.errors import DataError, PolicyError, TamperError, VerificationError, refuse
from shoal.kernels import signatures as sign
from shoal.kernels.matches import width
from shoal.kernels.text import canonical_text
from shoal.measures.classes.missing import k_under_all_policies
from shoal.model.attack import AttackResult, worst_first
from shoal.model.certificate import form
from shoal.model.certificate.certificate import PLAN, Certificate
from shoal.model.certificate.form import plain
from shoal.model.certificate.halves import halves, is_derived_attack
from shoal.model.certificate.numbers import Judged, Missing, MissingK, PublishedNumbers
from shoal.model.certificate.parts import Analysis, Column, Data, Known, PresetRule, Threshold
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.display import written
from shoal.model.plan import Plan
from shoal.model.requirement import Verdict, smallest_class
from shoal.release.certificate import sentences
from shoal.release.certificate.sentences import generalized, treatment_of
from shoal.release.gate.count_facts import Drawn, estimates
from shoal.release.gate.identifying import identifying
from shoal.release.gate.safe_harbor import published
from shoal.release.plan.plan_json import parse_plan
from shoal.release.policy.policy import DEFAULT_CELLS
from shoal.release.policy.presets import Preset, preset
from shoal.release.proof.facts import Facts, Given, Inside, alike, judge
from shoal.release.proof.read import LOG, batches, header, logical
from shoal.release.proof.recount import FileColumns

if TYPE_CHECKING:
    from shoal.model.certificate.events import EventData  # forty fields that other tables have not

D = TypeVar("D", "Data", "EventData")
MOST_LOOKED_AT = 200_000
"""Published records up to which columns are looked at for identifiers."""
MOST_ANALYSED = 2_000_000
"""Records of the original up to which analyses are run."""
FORMATS = {
    "csv": "csv",
    "parquet": "parquet",
    "arrow": "arrow",
    "xlsx": "excel",
    "sav": "spss",
    "dta": "stata",
    "jsonl": "jsonl",
    "xpt": "sas",
}
"""The name of the format by the ending of the file."""


def derive(signed: Certificate, facts: Facts, place: Path, table: Any = None) -> Certificate:
    """The certificate with its derived half; ``table`` holds the data where they are in a database."""
    plan = parse_plan((place / PLAN).read_text(encoding="utf-8"))
    data = stated_data(signed.data, place, table, [column.name for column in signed.columns])
    columns = tuple(_column(one, plan, data, facts) for one in signed.columns)
    c = replace(signed, data=data, columns=columns, after=form.typed(PublishedNumbers, facts.to_json()))
    source = table if c.data.file is None else place / c.data.file
    c = replace(c, known=_known(c, source, facts))
    given = {**signed_only(c), ("known_columns",): 1.0 if c.known is None else c.known.share_at_most}
    people, behind = c.after_people, sentences.counted(c.data.unit) if c.data.unit else sentences.BEHIND
    c = replace(
        c,
        k=c.counted.k,
        requirements=_judge(c, facts, given, sentences.counted(c.data.unit)),
        requirements_people=None if people is None else _judge(c, facts_of(people), given, behind),
        threshold=_threshold(c),
        proof=sentences.proof(c.unit.column, c.data.unit),
        plan=replace(
            c.plan, sha256=sign.sha256_file(place / PLAN), steps=len(plan.steps), seed="not published", truthful=plan.truthful
        ),
        input=replace(c.input, columns=len(c.columns), note=sentences.INPUT_NOTE),
        missing=_missing(c.data, facts),
        population=sentences.population(c.population.size, facts.records),
        attackers=sentences.attackers(c.data.quasi, c.before, c.counted),
        attacks=_attacks(c, facts, source),
        utility=replace(
            c.utility,
            scope=plan.suppression.scope,
            suppressed_share=c.utility.suppressed / c.input.used,
            who_note=sentences.who_note(least_named(c)),
            analyses=tuple(_analysis(a, c, source) for a in c.utility.analyses),
        ),
        looks_identifying=_look_identifying(c, source, facts),
        triggers=sentences.TRIGGERS,
        verify=sentences.VERIFY,
    )
    c = replace(c, utility=replace(c.utility, suppressed_sentence=sentences.suppressed_sentence(c)))
    c = replace(c, wp216=sentences.questions(c.after, c.attacks), limits=sentences.limits(c))
    return replace(c, verdict=sentences.verdict(c))


def check_derived(certificate: Certificate, facts: Facts, place: Path, table: Any = None) -> str:
    """Compare the derived half with the one that follows; :class:`~shoal.errors.VerificationError` names the first difference."""
    sentence = compare_halves(derive(certificate, facts, place, table).as_read, certificate)
    _check_groups(certificate, facts)
    return sentence


def compare_halves(again: Any, stated: Any) -> str:
    """Compare the derived halves of two certificates of the same kind."""
    one, other = halves(plain(again))[0], halves(plain(stated))[0]
    if not alike(one, other):
        part = ".".join(_differs(one, other))
        raise VerificationError(f"the files give something else for '{part}' than the certificate states.")
    return "every number and sentence of the derived half follows from the files"


def _check_groups(c: Certificate, facts: Facts) -> None:
    """Groups that lost records: those that the file has under that name have the stated number of records in it."""
    known = facts.details
    if known is None or c.utility.scope != "rows":
        return
    for group in c.utility.who:
        at = c.data.quasi.index(group.column)
        code = known.values[at].get(group.group)
        if code is not None and int(known.records[known.codes[at] == code].sum()) != group.records:
            raise VerificationError("the published groups that lost records have other numbers of records in the file.")


def _differs(one: Any, other: Any) -> list[str]:
    """The path to the first difference."""
    if isinstance(one, dict) and isinstance(other, dict):
        name = next((n for n in (*one, *other) if n not in one or n not in other or not alike(one[n], other[n])), "")
        return [name, *(_differs(one[name], other[name]) if name in one and name in other else ())]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        at = next((i for i, (a, b) in enumerate(zip(one, other, strict=True)) if not alike(a, b)), 0)
        return [str(at), *_differs(one[at], other[at])]
    return []


def signed_only(c: Certificate) -> Given:
    """Numbers that only a population table or the original gives, by the place of their requirement: signed, and possible."""
    unproven = [r for r in c.asked if r.needs_population or r.needs_original]
    stated = {f.requirement: f.found for f in c.requirements} if c.given is None else c.given
    if c.given is not None and set(stated) != {r.name for r in unproven}:
        raise TamperError("the certificate states numbers of requirements that it does not have, or lacks one.")
    for r in unproven:
        stated_value = stated.get(r.name)
        if r.needs_original:
            if stated_value is None or not 0 <= stated_value <= 1:
                raise VerificationError(f"the number stated for '{r.name}' is not possible: it is a share.")
        elif stated_value is None or stated_value != round(stated_value) or stated_value < c.counted.k:
            raise VerificationError(f"the number stated for '{r.name}' is not possible: the population holds the release.")
    return {r.place: stated[r.name] for r in unproven}


def facts_of(numbers: PublishedNumbers) -> Facts:
    """Published numbers as the facts that requirements are judged by."""
    inside = {
        column: Inside(
            distinct=s.distinct,
            entropy=s.entropy,
            equal=s.t_equal,
            ordered=s.t_ordered,
            recursive={int(level): ratio for level, ratio in s.recursive.items()},
            hierarchical=s.t_hierarchical,
            alpha=s.alpha,
            delta=math.inf if s.delta is None else s.delta,
            beta=math.inf if s.beta is None else s.beta,
            enhanced_beta=math.inf if s.enhanced_beta is None else s.enhanced_beta,
        )
        for column, s in numbers.sensitive.items()
    }
    return Facts(
        records=numbers.records,
        classes=numbers.classes,
        k=numbers.k,
        unique=numbers.unique,
        sizes={int(size): n for size, n in numbers.sizes.items()},
        sensitive=inside,
        blanked=numbers.blanked,
        people=numbers.people,
        linked_k=numbers.linked_k,
        smallest=None if numbers.smallest is None else {int(size): n for size, n in numbers.smallest.items()},
    )


def preset_named(name: str) -> Preset:
    """A preset by its name; unknown ones are refused."""
    with refuse(TamperError("the certificate claims a preset that is not known."), PolicyError):
        return preset(name)


def least_named(c: Certificate) -> int:
    """The small-cell rule: the fewest records of a group that may be named."""
    rule = c.threshold.preset
    return max(smallest_class(c.asked), DEFAULT_CELLS.minimum, preset_named(rule.name).cells.minimum if rule else 0)


def _judge(c: Certificate, facts: Facts, given: Given, counted: str) -> tuple[Judged, ...]:
    """Each requirement judged, and the object that it was counted in."""
    out = []
    for v in judged(c, facts, given):
        r = v.requirement
        where = sentences.POPULATION if r.needs_population else sentences.ORIGINAL if r.needs_original else counted
        where = f"{where}{sentences.SAMPLE}" if r.needs_sample else where
        out.append(replace(form.typed(Judged, v.to_json()), counted=where))
    return tuple(out)


def judged(c: Certificate, facts: Facts, given: Given) -> tuple[Verdict, ...]:
    """The verdict on each requirement; the table before suppression is the sample of a population, from signed numbers."""
    drawn = Drawn(c.input.used, c.utility.people_before, width(one.height or 0 for one in c.columns if one.role == "quasi"))
    return tuple(judge(c.asked, facts, {**given, **estimates(c.asked, facts, drawn)}))


def same_verdicts(verdicts: Iterable[Verdict], stated: Iterable[Judged]) -> bool:
    """Whether a certificate states these verdicts."""
    return alike([v.to_json() for v in verdicts], plain(tuple(replace(f, counted=None) for f in stated)))


def _threshold(c: Certificate) -> Threshold:
    stated = c.threshold.preset
    rule = None if stated is None else form.typed(PresetRule, preset_named(stated.name).to_json())
    return Threshold(rule, smallest_class(c.asked))


def stated_data(signed: D, place: Path, table: Any, known: Collection[str]) -> D:
    """File, format and columns as they are in the folder or the table; ``known`` are columns that a file may write otherwise."""
    if signed.table is not None and table is not None:
        from shoal.release.certificate.database_table import digest

        names = tuple(table.schema.names)
        return replace(signed, file=None, format="parquet", columns=names, digest=digest(table, names))
    file = data_file(place)
    name = "delta" if (file / LOG).exists() else FORMATS[file.suffix[1:]]
    return replace(signed, file=file.name, format=name, columns=tuple(logical(header(file), known)), digest=None)


def data_file(place: Path) -> Path:
    """The published data of a folder: a file, or a folder of parts."""
    there = [p for p in place.iterdir() if p.stem == "data" and p.suffix[1:] in FORMATS]
    if len(there) != 1:
        raise TamperError("the folder has no data file, or several.")
    return there[0]


def _column(one: Column, plan: Plan, data: Data, facts: Facts) -> Column:
    if one.role != "quasi" or one.height is None or one.name not in data.quasi or facts.details is None:
        return replace(one, treatment=treatment_of(plan.for_column(one.name)), values_after=None)
    codes = facts.details.codes[data.quasi.index(one.name)]
    return replace(one, treatment=generalized(one.level, one.height), values_after=len(np.unique(codes)))


def class_counts(data: Data, facts: Facts) -> ClassCounts:
    """The published classes, as measures and attacks take them."""
    known = facts.details
    if known is None:
        raise VerificationError("the classes of the published data were not counted.")
    return ClassCounts(
        known.members,
        columns=data.quasi,
        codes=[codes - 1 for codes in known.codes],
        sensitive={c: SensitiveCounts(c, at, value - 1, n) for c, (at, value, n) in known.sensitive.items()},
        records=None if data.unit is None else known.records,
        n_people=facts.people,
        unit=data.unit,
    )


def _known(c: Certificate, source: Any, facts: Facts) -> Known | None:
    """Whom a few published columns find: quasi-identifiers, and columns that stay as they were; None for very large data."""
    from shoal.release.make.known_columns import MOST_KNOWN, count_sets, known_part

    kept = {one.name for one in c.columns if one.role in ("sensitive", "insensitive") and one.treatment == "retained"}
    names = [*c.data.quasi, *(n for n in c.data.columns if n in kept or n == c.weight)]
    if facts.details is None or facts.records > MOST_KNOWN:
        return None
    done = facts.details.done
    if ("known", *names) not in done:  # while a release is made, the same bytes are looked at twice
        done["known", *names] = known_part(count_sets(_columns(source, facts), names, c.data.unit))
    known: Known = done["known", *names]
    return known


MOST_ROWS = 200_000
"""Records of a published file up to which it is held in memory."""


def published_table(data: FileColumns, records: int, known: Collection[str]) -> Any:
    """Published data as a pyarrow table with the names of the columns as they are known, or None where they are large."""
    names = logical(header(data.source), known) if isinstance(data.source, Path) else list(known)
    return None if records > MOST_ROWS else data.table(names)


def _columns(source: Any, facts: Facts) -> FileColumns:
    """The columns of the published data: those that were read when they were written, if these facts were counted then."""
    done = {} if facts.details is None else facts.details.done
    columns: FileColumns = done.setdefault("columns", FileColumns(source))
    return columns if columns.source == source else FileColumns(source)


def _missing(data: Data, facts: Facts) -> Missing:
    """k of the published file under the three rules for missing values, side by side."""
    classes = k_under_all_policies(class_counts(data, facts))
    return Missing(*sentences.MISSING_RULE, MissingK(own=facts.k, wildcard=classes["wildcard"], drop=classes["drop"]))


def _attacks(c: Certificate, facts: Facts, source: Any) -> tuple[AttackResult, ...]:
    """The attacks of the signed half, and those that the published file alone allows."""
    flat = {"unit": {"column": c.unit.column}, "data": {"unit": c.data.unit, "file": c.data.file}}
    signed = [a for a in c.attacks if not is_derived_attack(a.name, flat)]
    if c.data.file is not None:
        done = {} if facts.details is None else facts.details.done
        if "leftovers" not in done:  # as in :func:`_known`
            table = published_table(_columns(source, facts), facts.records, c.data.columns)
            done["leftovers"] = [] if table is None else [leftovers(table, (source,))]
        signed += done["leftovers"]
    if c.unit.column is not None and c.data.unit is None:
        return tuple(worst_first(signed))
    released = class_counts(c.data, facts)
    distinct, t = claimed(c.asked)
    for column in c.data.sensitive:
        signed.append(homogeneity(released, column, distinct=distinct.get(column)))
        signed.append(background(released, column, distinct=distinct.get(column)))
        signed.append(skewness(released, column, t=t.get(column)))
    return tuple(worst_first(signed))


def _look_identifying(c: Certificate, source: Any, facts: Facts) -> tuple[str, ...]:
    """Columns that are published as they are, and whose published values or name look like an identifier."""
    names = tuple(one.name for one in c.columns if one.role in ("sensitive", "insensitive") and one.treatment == "retained")
    if facts.records > MOST_LOOKED_AT or not names:
        return ()
    done = {} if facts.details is None else facts.details.done
    if ("identifying", names) not in done:
        shown = published(source, names, _columns(source, facts)).columns
        done["identifying", names] = tuple(n for n, values in shown.items() if identifying(values))
    seen: tuple[str, ...] = done["identifying", names]
    return seen


def analysed_columns(asked: Mapping[str, Any]) -> list[str]:
    """The columns of an analysis as a policy states it."""
    if "mean" in asked:
        return [asked["mean"]]
    return list(asked["table"]) if "table" in asked else [asked["regression"]["outcome"], *asked["regression"]["on"]]


def analysis_title(asked: Mapping[str, Any]) -> str:
    if "regression" in asked:
        return f"regression of {asked['regression']['outcome']} on {', '.join(asked['regression']['on'])}"
    return f"mean of {asked['mean']}" if "mean" in asked else f"table of {', '.join(asked['table'])}"


def compared(asked: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    """An analysis on two tables; :class:`~shoal.errors.DataError` where it cannot be computed."""
    from shoal.measures.utility.analyses import compare_mean, compare_regression, compare_table

    if "mean" in asked:
        return compare_mean(asked["mean"], before, after)
    if "table" in asked:
        return compare_table(asked["table"], before, after)
    return compare_regression(asked["regression"]["outcome"], asked["regression"]["on"], before, after)


def texts_of(rows: Any, names: Sequence[str]) -> dict[str, list[str | None]]:
    """Columns as canonical texts, so that files of every format compare alike."""
    out: dict[str, list[str | None]] = {n: [] for n in names}
    for batch in rows:
        for i, name in enumerate(names):
            out[name].extend(canonical_text(batch.column(i)).to_pylist())
    return out


def _analysis(one: Analysis, c: Certificate, source: Any) -> Analysis:
    """The result on the published records; none where it cannot be computed."""
    if one.asked is None:
        raise TamperError("an analysis does not say what is computed.")
    names, after = list(dict.fromkeys(analysed_columns(one.asked))), ""
    if c.input.used <= MOST_ANALYSED and set(names) <= set(c.data.columns):
        rows = texts_of(batches(source, names) if isinstance(source, Path) else source.scan(names), names)
        try:
            analysis = compared(one.asked, rows, rows).after
            after = "" if analysis is None else written(analysis, 3)
        except DataError:
            after = ""
    return replace(one, analysis=analysis_title(one.asked), after=after)
