"""The report of a release: one self-contained page for people who must decide.

Takes    a certificate without signature and report (counts, names, sentences; no data value is in it)
Returns  HTML text: no script, no network, inline SVG, a content policy that allows nothing else
Keeps    every text is escaped; the same certificate gives the same bytes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import Certificate, cost_of
from shoal.model.certificate.form import plain
from shoal.model.certificate.parts import FileEntry, Purpose, Question
from shoal.model.display import one_in
from shoal.report.blocks import Block, Cell, Figure, Items, Lines, Number, Point, Section, Table, Tag, Words
from shoal.report.charts import class_sizes, fish, frontier, svg
from shoal.report.charts.sizes import caption
from shoal.report.numbers import number, percent, risk
from shoal.report.pages import page

NOT_STATED = "not stated"
NOT_SEARCHED = (
    "The loss at other sizes of the smallest group was not searched: that is done where one level per column is chosen, a k is "
    "asked for, and the table has few enough classes and levels. It is searched for a while by:"
)
FISHES = 50
SIGNS = {"holds": "✓ holds", "warning": "⚠ warning", "broken": "✕ broken"}


def render(body: Certificate) -> str:
    """The page of a certificate that is not signed yet."""
    return page(
        "report.html.j2",
        title=body.title,
        subtitle=f"{body.title} · Release report, {body.date}, made with {body.tool}",
        accent=_headline(body),
        accent_kind="met" if body.k > 1 else "risk",
        rest="",
        says=body.verdict,
        cost=_cost(body),
        notes=[],
        shoal=_shoal(body),
        numbers=_numbers(body),
        points=_points(body),
        sections=[s for s in _sections(body) if s.blocks],
    )


def _sections(body: Certificate) -> list[Section]:
    """The parts in the order of the page; those without content are left out."""
    return [
        Section("asked", "Requirements, and what the data has", _requirements(body)),
        Section("risks", "Risk before and after", _risks(body)),
        Section("classes", "How many people share a class", _histogram(body)),
        Section("detail", "Safety against detail", _frontier(body)),
        Section("columns", "What happened to each column", _columns(body)),
        Section("identifiers", "Columns held against the 18 Safe Harbor classes of identifiers", _identifiers(body)),
        Section("left-out", "Who was left out", _suppressed(body)),
        Section("results", "Results that should survive", _analyses(body)),
        Section("attacks", "Attacks that were tried", _attacks(body)),
        Section("questions", "Singling out, linking, inference", _questions(body.wp216)),
        Section("recipient", "Who receives it", _recipient(body)),
        Section("limits", "Limits", [Items(body.limits), Words(body.triggers)]),
        Section("check", "Check it yourself", _check(body)),
        Section("sign-off", "Sign-off", signoff_blocks(body.release)),
    ]


def _headline(body: Certificate) -> str:
    who = "Everyone hides" if body.unit.column else "Every record hides"
    return f"✓ {who} among at least {body.k:,}" if body.k > 1 else "✕ Some are one of a kind"


def _cost(body: Certificate) -> tuple[str, str]:
    """What the release cost, and how it is coloured: in red where a column tells nothing any more."""
    cost = cost_of(body)
    return cost.sentence, "risk" if cost.blank else ""


def _people(body: Certificate) -> str:
    return "people" if body.unit.column else "records"


def _shoal(body: Certificate) -> Figure:
    """The released records as a shoal, with dashes for those left out."""
    out = body.utility.suppressed if body.utility.scope == "rows" else 0
    total, alone = body.after.records + out, body.after.unique
    words = caption(total, FISHES, alone=alone > 0, out=out > 0, unit="records")
    return Figure(svg(fish(total, alone, out=out, fishes=FISHES, unit="records")), words)


def _numbers(body: Certificate) -> list[Number]:
    utility = body.utility
    return [
        Number(number(body.k), f"{_people(body)} in the smallest class"),
        Number(one_in(1.0 / body.k), "best chance to name the owner of a record"),
        Number(number(body.after.records), f"records published, of {body.input.records:,}"),
        Number(number(utility.loss), f"information lost (measured by {utility.optimize}; 0 is nothing)"),
    ]


def _points(body: Certificate) -> list[Point]:
    """What a person should look at before signing; each point leads to its part of the page."""
    found = [a.name for a in body.attacks if a.verdict in ("broken", "warning")]
    missed = [a.name for a in body.attacks if a.verdict == "not run"]
    guessed = [c.name for c in body.columns if c.why.startswith("guessed")]
    words = {"kind": "kind of release", "run_by": "who ran it", "approved_by": "who approved it", "review": "review date"}
    unsaid = [words.get(n, n) for n, value in plain(body.release).items() if value == NOT_STATED]
    points = [
        Point("attacks", "Attacks with a warning", found),
        Point("attacks", "Attacks that were not run", missed),
        Point("columns", "Columns whose groups were guessed from the data", guessed),
        Point("recipient", "Not stated in the policy", unsaid),
    ]
    shown = [p for p in points if p.names]
    return shown if body.unit.column else [*shown, Point("limits", "Each record is taken as one person")]


def _requirements(body: Certificate) -> list[Block]:
    rows: list[Sequence[Cell]] = []
    for judged, counted in ((body.requirements, "records"), (body.requirements_people or (), "people")):
        for f in judged:
            result = Tag("✓ met", "met") if f.met else Tag("✕ not met", "unmet")
            by = f" (counted by {counted})" if body.unit.column else ""
            rows.append((f.sentence + by, number(f.asked), number(f.found), result))
    out: list[Block] = [Table(["requirement", "asked", "found", "result"], rows, right=(1, 2)), *_missing(body)]
    preset = body.threshold.preset
    if preset:
        words = f"Preset {preset.name}: {preset.rule}. Source: {preset.source}, {preset.date} ({preset.read}). "
        out.append(Words((words + preset.note).strip(), small=True))
    return out


def _missing(body: Certificate) -> list[Block]:
    """k under the three rules for missing values, where they differ."""
    found = plain(body.missing.k)
    if len(set(found.values())) < 2:
        return []
    words = {"own": "a value of their own (the strict rule, used here)", "wildcard": "like any value", "drop": "left out"}
    told = "; ".join(f"{words.get(name, name)}: {number(k)}" for name, k in found.items())
    return [Words(f"k, if missing values are {told}.", small=True)]


def _risks(body: Certificate) -> list[Block]:
    rows = [(r.attacker, r.sentence, risk(r.before), risk(r.after)) for r in body.attackers]
    return [Table(["attacker", "what it means", "before", "after"], rows, right=(2, 3))]


def _histogram(body: Certificate) -> list[Block]:
    """Before and after in one chart."""
    asked = body.threshold.smallest_class
    k = asked if asked > 1 else body.k
    before = _members(body.before.sizes)
    after = _members(body.counted.sizes)
    drawn = class_sizes(after, k, before=before, title="Class sizes before and after", unit=_people(body))
    words = f"Outlined: before, {_under(before, k)} Filled: after, {_under(after, k)}"
    return [Figure(svg(drawn), words)]


def _members(sizes: Mapping[str, int]) -> dict[int, int]:
    """People by the size of their class, from classes by size."""
    return {int(size): int(size) * classes for size, classes in sizes.items()}


def _under(members: Mapping[int, int], k: int) -> str:
    total = sum(members.values())
    return f"{percent(sum(n for s, n in members.items() if s < k) / total)} of {total:,} in a class smaller than {k:,}."


def _frontier(body: Certificate) -> list[Block]:
    points = body.utility.frontier
    if len(points) < 2:
        return [Words(NOT_SEARCHED, code="shoal compare ORIGINAL FOLDER")]
    words = "Each dot is the best plan for that smallest group at the allowed suppression."
    return [Figure(svg(frontier(plain(points), asked=body.threshold.smallest_class)), words)]


def _columns(body: Certificate) -> list[Block]:
    rows: list[Sequence[Cell]] = []
    for c in body.columns:
        level = f"{c.level} of {c.height}" if c.level is not None and c.height is not None else ""
        values = f"{c.values_before:,} → {c.values_after:,}" if c.values_before is not None else ""
        changed = percent(c.changed) if c.changed is not None else ""
        role = Tag(f"{c.role[0].upper()} {c.role}", c.role)
        rows.append((c.name, role, c.treatment, level, values, changed, c.why))
    return [Table(["column", "role", "treatment", "level", "values", "cells changed", "why"], rows, right=(3, 4, 5))]


def _identifiers(body: Certificate) -> list[Block]:
    """What was checked under the list of the preset, column by column, and how."""
    if not body.identifiers:
        return []
    rows: list[Sequence[Cell]] = []
    for one in body.identifiers:
        now = f"{one.released}: {one.checked}" if one.checked else one.released
        rows.append((one.column, one.found, one.evidence, now, one.reason or ""))
    return [
        Table(["column", "class of the original", "evidence", "as published", "reason given by the publisher"], rows),
        Words("Classes are found by names and values. What neither points to is not found.", small=True),
    ]


def _suppressed(body: Certificate) -> list[Block]:
    utility = body.utility
    out: list[Block] = [Words(utility.suppressed_sentence)]
    who = utility.who
    if who:
        rows = [(w.column, w.group, number(w.records), number(w.suppressed), w.share) for w in who]
        out.append(Table(["column", "published group", "records published", "left out", "share"], rows, right=(2, 3, 4)))
        out.append(Words(utility.who_note, small=True))
    return out


def _analyses(body: Certificate) -> list[Block]:
    found = body.utility.analyses
    rows = [(a.analysis, a.before, a.after, a.change) for a in found]
    return [Table(["analysis", "before", "after", "change"], rows, right=(1, 2, 3))] if rows else []


def _attacks(body: Certificate) -> list[Block]:
    return [attack_table(body.attacks)] if body.attacks else [Words("No attack was run.")]


def attack_table(attacks: Sequence[AttackResult]) -> Table:
    """What each attack found."""
    rows: list[Sequence[Cell]] = []
    for a in attacks:
        rate = "" if a.rate is None else percent(a.rate)
        interval = "" if a.low is None or a.high is None else f"{percent(a.low)} to {percent(a.high)}"
        interval = "exact count" if a.low is not None and a.low == a.high else interval
        claimed = "" if a.claimed is None else percent(a.claimed)
        verdict = Tag(SIGNS.get(a.verdict, a.verdict), a.verdict.replace(" ", "-"))
        rows.append((a.name, a.sentence, rate, interval, claimed, verdict))
    return Table(["attack", "finding", "success", "95 % interval", "claimed", "verdict"], rows, right=(2, 3, 4))


def _questions(items: Sequence[Question]) -> list[Block]:
    return [Table(["question", "how it was tested", "found"], [(i.question, i.tested, i.found) for i in items])]


def _recipient(body: Certificate) -> list[Block]:
    return recipient_table(body.release, ("Population", body.population.sentence))


def recipient_table(release: Purpose, *more: tuple[str, str]) -> list[Block]:
    """Who gets the release, as the publisher states it."""
    controls = release.controls
    rows = [
        ("Kind of release", release.kind),
        ("Recipient", release.recipient),
        ("Purpose", release.purpose),
        ("Safe people", controls.people),
        ("Safe projects", controls.projects),
        ("Safe settings", controls.settings),
        ("Safe data", "measured on this page"),
        ("Safe outputs", "measured on this page"),
        *more,
    ]
    return [Table(["", ""], rows)]


def _check(body: Certificate) -> list[Block]:
    words = "Everything on this page that can be counted from the data is counted again, offline, by:"
    return [Words(body.proof.sentence), Words(words, code=body.verify), file_table(body.files)]


def file_table(files: Sequence[FileEntry]) -> Table:
    """The files of the release with their hashes."""
    rows = [(f.name, f"{f.bytes:,}", Tag(f.sha256, "code")) for f in files]
    return Table(["file", "bytes", "SHA-256"], rows, right=(1,))


def signoff_blocks(release: Purpose) -> list[Block]:
    """Who answers for it, and lines to sign on."""
    rows = [
        ("Run by", release.run_by),
        ("Approved by", release.approved_by),
        ("Review on", release.review),
        ("Contact", release.contact),
    ]
    return [Table(["", ""], rows), Lines(["Data protection officer, date", "Data owner, date"])]
