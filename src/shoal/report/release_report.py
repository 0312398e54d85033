"""The report of a release: one self-contained page for people who must decide.

Takes    a certificate without signature and report (counts, names, sentences; no data value is in it)
Returns  HTML text: no script, no network, inline SVG, a content policy that allows nothing else
Keeps    every text is escaped; the same certificate gives the same bytes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.model.attack import AttackResult, strongest
from shoal.model.certificate.certificate import ACCEPTED, FORMAT_1, Certificate, cost_of
from shoal.model.certificate.form import plain
from shoal.model.certificate.parts import NOT_STATED, FileEntry, Purpose
from shoal.model.display import as_percent, one_in
from shoal.report.blocks import (
    Block,
    Cell,
    Figure,
    Items,
    Lines,
    Number,
    Point,
    Section,
    Table,
    Tag,
    Words,
    report_page,
    shoal_figure,
)
from shoal.report.charts import class_sizes, frontier, svg
from shoal.report.numbers import number, percent, risk
from shoal.report.pages import title_in

if TYPE_CHECKING:
    from shoal.model.certificate.events import EventCertificate

NOT_SEARCHED = (
    "The loss at other sizes of the smallest group was not searched: that is done where one level per column is chosen, a k is "
    "asked for, and the table has few enough classes and levels. It is searched for a while by:"
)
SIGNS = {"holds": "✓ holds", "warning": "⚠ warning", "broken": "✕ broken"}


def render(body: Certificate) -> str:
    """The page of a certificate that is not signed yet."""
    return report_page(
        body.title,
        subtitle=f"{body.title} · Release report, {body.date}, made with {body.tool}",
        **_headline(body),
        says=body.verdict,
        cost=_cost(body),
        shoal=_shoal(body),
        numbers=_numbers(body),
        points=_points(body),
        sections=[replace(s, title=title_in(body.tool, s.title)) for s in _sections(body)],
    )


def _sections(body: Certificate) -> list[Section]:
    """The parts in the order of the page; those without content are left out."""
    risks = [(r.attacker, r.sentence, risk(r.before), risk(r.after)) for r in body.attackers]
    attacks = [attack_table(body.attacks)] if body.attacks else [Words("No attack was run.")]
    tested = [(i.question, i.tested, i.found) for i in body.wp216]
    questions = Table(["question", "how it was tested", "found"], tested)
    return [
        Section("asked", "Requirements, and what the data has", _requirements(body)),
        Section("risks", "Risk before and after", [Table(["attacker", "what it means", "before", "after"], risks, right=(2, 3))]),
        Section("classes", "How many people share a class", _histogram(body)),
        Section("detail", "Safety against detail", _frontier(body)),
        Section("columns", "What happened to each column", _columns(body)),
        Section("identifiers", "Columns held against the 18 Safe Harbor classes of identifiers", _identifiers(body)),
        Section("left-out", "Who was left out", _suppressed_blocks(body)),
        Section("results", "Results that should survive", _analyses(body)),
        Section("attacks", "Attacks that were tried", attacks),
        Section("questions", "Singling out, linking, inference", [questions]),
        Section("recipient", "Who receives it", recipient_table(body.release, ("Population", body.population.sentence))),
        Section("limits", "Limits", [Items(body.limits), Words(body.triggers)]),
        Section("check", "Check it yourself", check_blocks(body)),
        Section("sign-off", "Sign-off", signoff_blocks(body.release)),
    ]


def _headline(body: Certificate) -> dict[str, str]:
    if body.k == 1:
        return {"accent": "✕ Some are one of a kind", "accent_kind": "risk"}
    who = "Everyone hides" if body.unit.column else "Every record hides"
    sentence = f"{who} among at least {body.k:,}"
    return headline(sentence, ()) if body.format == FORMAT_1 else headline(sentence, body.attacks, body.singled_out, 1 / body.k)


def headline(
    claim: str, attacks: Sequence[AttackResult], singled_out: float | None = 0.0, claimed: float = 0.0
) -> dict[str, str]:
    """The head of a page: green only if no attack with a warning finds people, and columns single out no more than claimed."""
    top = strongest(attacks)
    share = max(singled_out or 0.0, (top.high or 0.0) if top else 0.0)
    if top is None and singled_out is None:
        return {"accent": claim, "accent_kind": "", "rest": "; what whoever knows more finds was not counted"}
    if top is None and share <= claimed:
        return {"accent": f"✓ {claim}", "accent_kind": "met"}
    return {"accent": claim, "accent_kind": "", "rest": f"; whoever knows more finds up to {as_percent(share)}"}


def _cost(body: Certificate) -> tuple[str, str]:
    """What the release cost, and how it is coloured: in red where a column tells nothing any more."""
    cost = cost_of(body)
    return cost.sentence, "risk" if cost.blank else ""


def _people(body: Certificate) -> str:
    return "people" if body.unit.column else "records"


def _shoal(body: Certificate) -> Figure:
    """The released records as a shoal, with dashes for those left out."""
    out = body.utility.suppressed if body.utility.scope == "rows" else 0
    return shoal_figure(body.after.records + out, body.after.unique, out=out, unit="records")


def _numbers(body: Certificate) -> list[Number]:
    utility, by = body.utility, "" if body.format == FORMAT_1 else ", by the quasi-identifiers alone"
    return [
        Number(number(body.k), f"{_people(body)} in the smallest class"),
        Number(one_in(1.0 / body.k), f"best chance to name the owner of a record{by}"),
        Number(number(body.after.records), f"records published, of {body.input.records:,}"),
        Number(number(utility.loss), f"information lost (measured by {utility.optimize}; 0 is nothing)"),
    ]


def _points(body: Certificate) -> list[Point]:
    """What a person should look at before signing; each point leads to its part of the page."""
    attacks = [a.name for a in body.attacks if a.verdict in ("broken", "warning")]
    missed = [a.name for a in body.attacks if a.verdict == "not run"]
    guessed = [c.name for c in body.columns if c.why.startswith("guessed")]
    words = {"kind": "kind of release", "run_by": "who ran it", "approved_by": "who approved it", "review": "review date"}
    unsaid = [words.get(n, n) for n, value in plain(body.release).items() if value == NOT_STATED]
    points = [
        Point("attacks", "Attacks with a warning", attacks),
        Point("attacks", "Attacks that were not run", missed),
        Point(
            "columns", "Columns whose role Shoal found and nobody changed", [c.name for c in body.columns if c.decided == "found"]
        ),
        Point("columns", "Undecided columns", [c.name for c in body.columns if (c.decided or "").startswith("rest")]),
        Point("columns", "Columns whose groups were guessed from the data", guessed),
        Point("recipient", "Not stated in the policy", unsaid),
    ]
    shown = [p for p in points if p.names]
    return shown if body.unit.column else [*shown, Point("limits", "Each record is taken as one person")]


def _requirements(body: Certificate) -> list[Block]:
    rows: list[Sequence[Cell]] = []
    for judged, counted in ((body.requirements, "records"), (body.requirements_people or (), "people")):
        for f in judged:
            by = f" (counted by {counted})" if body.unit.column and f.counted is None else ""
            where = () if f.counted is None else (f.counted,)
            rows.append((f.sentence + by, *where, number(f.asked), number(f.found), _met_tag(f.met)))
    out: list[Block] = [requirement_table(rows), *_missing(body)]
    preset = body.threshold.preset
    if preset:
        words = f"Preset {preset.name}: {preset.rule}. Source: {preset.source}, {preset.date} ({preset.read}). "
        out.append(Words((words + preset.note).strip(), small=True))
    return out


def requirement_table(rows: Sequence[Sequence[Cell]]) -> Table:
    """Requirements and results; certificates of version 1 do not state what was counted."""
    if rows and len(rows[0]) == 4:
        return Table(["requirement", "asked", "found", "result"], rows, right=(1, 2))
    return Table(["requirement", "counted", "asked", "found", "result"], rows, right=(2, 3))


def _missing(body: Certificate) -> list[Block]:
    """k under the three rules for missing values, where they differ."""
    counted = plain(body.missing.k)
    if len(set(counted.values())) < 2:
        return []
    words = {"own": "a value of their own (the strict rule, used here)", "wildcard": "like any value", "drop": "left out"}
    sentence = "; ".join(f"{words.get(name, name)}: {number(k)}" for name, k in counted.items())
    of = "" if body.format == FORMAT_1 or not body.unit.column or body.data.unit else " of records"
    return [Words(f"k{of}, if missing values are {sentence}.", small=True)]


def _histogram(body: Certificate) -> list[Block]:
    """Before and after in one chart."""
    asked = body.threshold.smallest_class
    k = asked if asked > 1 else body.k
    before = _members(body.before.sizes)
    after = _members(body.counted.sizes)
    drawn = class_sizes(after, k, before=before, title="Class sizes before and after", unit=_people(body))
    words = f"Outlined: before, {_under(before, k)} Filled: after, {_under(after, k)}"
    return [Figure(svg(drawn), words, reachable=False)]


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
    words = title_in(
        "shoal 0.3.0" if body.format == FORMAT_1 else body.tool,
        "Each dot is the least loss found for that smallest group at the allowed suppression.",
    )
    return [Figure(svg(frontier(plain(points), asked=body.threshold.smallest_class)), words, reachable=False)]


def _columns(body: Certificate) -> list[Block]:
    rows: list[Sequence[Cell]] = []
    stated = any(c.decided for c in body.columns)  # certificates of 0.3.0 do not state who decided
    for c in body.columns:
        level = f"{c.level} of {c.height}" if c.level is not None and c.height is not None else ""
        values = f"{c.values_before:,} → {c.values_after:,}" if c.values_before is not None else ""
        changed = percent(c.changed) if c.changed is not None else ""
        role = Tag(f"{c.role[0].upper()} {c.role}", c.role)
        who = (c.decided or "",) if stated else ()
        rows.append((c.name, role, *who, c.treatment, level, values, changed, c.why))
    heads = ["column", "role", *(["decided"] if stated else []), "treatment", "level", "values", "cells changed", "why"]
    return [Table(heads, rows, right=(4, 5, 6) if stated else (3, 4, 5))]


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


def _suppressed_blocks(body: Certificate) -> list[Block]:
    utility = body.utility
    out: list[Block] = [Words(utility.suppressed_sentence)]
    who = utility.who
    if who:
        rows = [(w.column, w.group, number(w.records), number(w.suppressed), w.share) for w in who]
        out.append(Table(["column", "published group", "records published", "left out", "share"], rows, right=(2, 3, 4)))
        out.append(Words(utility.who_note, small=True))
    return out


def _analyses(body: Certificate) -> list[Block]:
    analyses = body.utility.analyses
    rows = [(a.analysis, a.before, a.after, a.change) for a in analyses]
    return [Table(["analysis", "before", "after", "change"], rows, right=(1, 2, 3))] if rows else []


def attack_table(attacks: Sequence[AttackResult]) -> Table:
    rows: list[Sequence[Cell]] = []
    for a in attacks:
        rate = "" if a.rate is None else percent(a.rate)
        interval = "" if a.low is None or a.high is None else f"{percent(a.low)} to {percent(a.high)}"
        interval = "exact count" if a.low is not None and a.low == a.high else interval
        claimed = "" if a.claimed is None else percent(a.claimed)
        verdict = Tag(SIGNS.get(a.verdict, a.verdict), a.verdict.replace(" ", "-"))
        rows.append((a.name, a.sentence, rate, interval, claimed, verdict))
    return Table(["attack", "finding", "success", "95 % interval", "claimed", "verdict"], rows, right=(2, 3, 4))


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


def check_blocks(body: Certificate | EventCertificate) -> list[Block]:
    """What can be counted again, how, and the files with their hashes."""
    words = "Everything on this page that can be counted from the data is counted again, offline, by:"
    return [Words(body.proof.sentence), Words(words, code=body.verify), file_table(body.files)]


def file_table(files: Sequence[FileEntry]) -> Table:
    rows = [(f.name, f"{f.bytes:,}", Tag(f.sha256, "code")) for f in files]
    return Table(["file", "bytes", "SHA-256"], rows, right=(1,))


def signoff_blocks(release: Purpose) -> list[Block]:
    """Who answers for it, and lines to sign on."""
    return [Table(["", ""], _answering(release)), SIGNATURES]


SIGNATURES = Lines(["Data protection officer, date", "Data owner, date"])


def _answering(release: Purpose) -> list[tuple[str, str]]:
    return [
        ("Run by", release.run_by),
        ("Approved by", release.approved_by),
        ("Review on", release.review),
        ("Contact", release.contact),
    ]


SHOWN, MOST_NAMES = 2, 12


def render_signing_page(made: Certificate) -> str:
    """One page to sign: what leaves, to whom, what can still be learnt, and who decided what. The report has everything."""
    tried = sorted(made.attacks, key=lambda a: ("broken", "warning", "holds", "not run").index(a.verdict))
    worse = [f"{SIGNS[a.verdict]}: {a.name}. {a.sentence}" for a in tried if a.verdict in ("broken", "warning")]
    unseen = len(worse) - SHOWN
    rest = [f"The report has {unseen:,} more {'warning' if unseen == 1 else 'warnings'}."] if unseen > 0 else []
    counts = {sign: sum(a.verdict == sign for a in tried) for sign in ("holds", "warning", "broken", "not run")}
    counted = ", ".join(f"{verdict} {n:,}" for verdict, n in counts.items() if n)
    decided = [note for note in made.notes or () if note.startswith(ACCEPTED)]
    learnt = [made.verdict, f"Attacks: {counted}.", *worse[:SHOWN], *rest, *decided]
    people = made.requirements_people or ()
    judged = [(r.sentence, number(r.asked), number(r.found), _met_tag(r.met)) for r in (*made.requirements, *people)]
    signed = f"Signed with key {made.key.fingerprint}." if made.key else "Not signed."
    digest = next((f"{f.name}: SHA-256 {f.sha256[:32]}…" for f in made.files if f.name == made.data.file), "")
    return report_page(
        f"Signing page: {made.title}",
        subtitle=f"{made.title} · Signing page, {made.date}, made with {made.tool}",
        **_headline(made),
        numbers=[],
        sections=[
            Section("leaves", "What leaves", [Table(["", ""], _leaving(made))]),
            Section("recipient", "To whom, and who answers for it", [Table(["", ""], _to_whom(made.release))]),
            Section("learnt", "What can still be learnt", [Items(learnt)]),
            Section("asked", "Requirements", [requirement_table(judged), Words(_deciders(made), small=True)]),
            Section("sign-off", "Sign-off", [Words(f"{signed} {digest}".strip()), SIGNATURES]),
        ],
    )


def _met_tag(met: bool) -> Tag:
    return Tag("✓ met", "met") if met else Tag("✕ not met", "unmet")


def _leaving(made: Certificate) -> list[tuple[str, str]]:
    """Records, and the columns by what happened to them."""
    by_treatment: dict[str, list[str]] = {}
    for c in made.columns:
        by_treatment.setdefault(c.treatment.partition(" ")[0] if c.level is not None else c.treatment, []).append(c.name)
    rows = [(words[:1].upper() + words[1:], _names(columns)) for words, columns in by_treatment.items()]
    lost = f"{number(made.utility.loss)}, measured by {made.utility.optimize}; 0 is nothing"
    return [("Records", f"{made.after.records:,} of {made.input.records:,}"), *rows, ("Information lost", lost)]


def _to_whom(release: Purpose) -> list[tuple[str, str]]:
    stated = [("Recipient", release.recipient), ("Purpose", release.purpose), ("Kind of release", release.kind)]
    rows = [*stated, *_answering(release)]
    missing = ", ".join(name for name, words in rows if words == NOT_STATED)
    return [row for row in rows if row[1] != NOT_STATED] + ([("Not stated", missing.lower())] if missing else [])


def _deciders(made: Certificate) -> str:
    """Whose decisions the roles of the columns are."""
    words = {"found": "Roles found by Shoal and not changed", "by hand": "Roles decided by hand", None: "Roles"}
    groups: dict[str, list[str]] = {}
    for c in made.columns:
        groups.setdefault(words.get(c.decided, f"Columns that no role names ({c.decided})"), []).append(c.name)
    return " ".join(f"{who}: {_names(columns)}." for who, columns in groups.items())


def _names(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - MOST_NAMES:,} more" if len(columns) > MOST_NAMES else ""
    return ", ".join(columns[:MOST_NAMES]) + more
