"""The report of an event release: what known records revealed before and reveal now, what it cost, what still can be counted.

Takes    the certificate of an event release without signature and report (counts, names, sentences; no data value is in it)
Returns  HTML text: no script, no network, inline SVG
Keeps    every text is escaped; the same certificate gives the same bytes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.model.certificate.certificate import EVENT_FORMAT_1
from shoal.model.certificate.events import EventCertificate
from shoal.report.blocks import Block, Cell, Figure, Items, Number, Point, Section, Table, Tag, Words, card_of, report_page
from shoal.report.charts import Chart, Revealed, known_records, svg
from shoal.report.numbers import number, percent
from shoal.report.pages import title_in
from shoal.report.release_report import attack_table, check_blocks, headline, recipient_table, requirement_table, signoff_blocks


def render(body: EventCertificate) -> str:
    """The page of a certificate that is not signed yet."""
    return report_page(
        body.title,
        subtitle=f"{body.title} · Release report, {body.date}, made with {body.tool}",
        **headline(_headline(body), () if body.format == EVENT_FORMAT_1 else body.attacks),
        says=body.verdict,
        cost=(body.cost.sentence, "risk" if "none" in (body.steps.time, body.steps.place) else ""),
        numbers=_numbers(body),
        points=_points(body),
        sections=[replace(s, title=title_in(body.tool, s.title)) for s in _sections(body)],
    )


def card(made: EventCertificate) -> str:
    """The card of an event release that was made: what it cost, requirements and results, and the curve before and after."""
    warned = [a.name for a in made.attacks if a.verdict == "warning"]
    blocks: list[Block] = [*_requirements(made), Words(made.cost.sentence, small=True)]
    blocks += [Words(f"Attacks with a warning: {', '.join(warned)}.", small=True)] if warned else []
    blocks.append(Words('r.write("release/") · r.report() · r.to_pandas() · r.certificate.limits', small=True))
    return card_of(made.verdict, blocks, _numbers(made), svg(_curve(made)))


def _sections(body: EventCertificate) -> list[Section]:
    return [
        Section("asked", "Requirements, and what the data has", _requirements(body)),
        Section("known", "What known records reveal", _known(body)),
        Section("done", "What was done", _done_blocks(body)),
        Section("results", "Results that should survive", _uses(body)),
        Section("attacks", "Attacks that were tried", [attack_table(body.attacks)] if body.attacks else []),
        Section("recipient", "Who receives it", recipient_table(body.release)),
        Section("limits", "Limits", [Items(body.limits)]),
        Section("check", "Check it yourself", check_blocks(body)),
        Section("sign-off", "Sign-off", signoff_blocks(body.release)),
    ]


def _headline(body: EventCertificate) -> str:
    held = max(((int(s), k) for s, k in body.judged_by.smallest.items() if k > 1), default=None)
    if held is None:
        return "Known records tell as little as asked"
    what = "Every record is" if held[0] == 1 else f"Any {held[0]} known records are"
    return f"{what} shared by at least {held[1]:,} people"


def _numbers(body: EventCertificate) -> list[Number]:
    last = str(max((getattr(r, "records", 1) for r in body.asked), default=1))
    before = next((b for b in body.before if b.records == int(last)), body.before[-1])
    what = "record" if last == "1" else "records"
    return [
        Number(number(body.judged_by.smallest[last]), f"people, at least, share any {last} known {what}"),
        Number(percent(body.judged_by.alone[last]), f"alone with {last} known {what}; {percent(before.alone)} before"),
        Number(number(body.after.records), f"records published, of {body.cost.records:,}"),
        Number(number(body.cost.loss), "information lost (0 is nothing, 1 everything)"),
    ]


def _points(body: EventCertificate) -> list[Point]:
    attacks = [a.name for a in body.attacks if a.verdict == "warning"]
    gone = [w for w, level in (("time", body.steps.time), ("place", body.steps.place)) if level == "none"]
    points = [Point("attacks", "Attacks with a warning", attacks), Point("done", "Not published at all", gone)]
    return [p for p in points if p.names]


def _requirements(body: EventCertificate) -> list[Block]:
    rows: list[Sequence[Cell]] = []
    for f in body.requirements:
        result = Tag("✓ met", "met") if f.met else Tag("✕ not met", "unmet")
        where = () if f.counted is None else (f.counted,)
        rows.append((f.sentence, *where, number(f.asked), number(f.found), result))
    return [requirement_table(rows)]


def _known(body: EventCertificate) -> list[Block]:
    """Curve and table, before and after."""
    after = body.judged_by
    rows = []
    for s in sorted(after.alone, key=int):
        was = next((percent(b.alone) for b in body.before if b.records == int(s)), "")
        rows.append((s, was, percent(after.alone[s]), number(after.smallest[s])))
    heads = ["known records", "alone before", "alone after", "people who share any such set, at least"]
    return [
        Figure(svg(_curve(body)), "People alone, in percent, against the records known of them.", reachable=False),
        Table(heads, rows, right=(1, 2, 3)),
    ]


def _curve(body: EventCertificate) -> Chart:
    lines = [
        Revealed("before", [(b.records, b.alone, b.low, b.high) for b in body.before]),
        Revealed("after", [(int(s), a, a, a) for s, a in sorted(body.judged_by.alone.items(), key=lambda x: int(x[0]))]),
    ]
    return known_records(lines, title="People that known records single out, before and after")


def _done_blocks(body: EventCertificate) -> list[Block]:
    s, c = body.steps, body.cost
    rows = [
        ("Time", "not in the table" if s.time is None else s.time, percent(c.time)),
        ("Place", "not in the table" if s.place is None else s.place, percent(c.place)),
        ("Pseudonym renewed", s.renew, percent(c.links)),
        ("Most records per person", "no limit" if not s.most_records else f"{s.most_records:,}", f"{c.truncated:,} records"),
        *([("Place left blank", "in records that would be too telling", f"{c.blank:,} records")] if c.blank else []),
        *([("Trips", "consecutive records at two places", percent(c.trips))] if c.trips is not None else []),
        ("Left out", "records that would be too telling", f"{c.suppressed:,} records"),
        *([("Of these", f"all records of {c.people_away:,} people", f"{c.records_away:,} records")] if c.people_away else []),
        ("Shown once", "records at the same point under one pseudonym", f"{c.merged:,} records"),
        ("Incomplete", "records without person, time or place", f"{c.incomplete:,} records"),
    ]
    rows += [("Pseudonyms", f"of the domain '{s.vault}' of a vault", "")] if s.vault else []
    rows += [("Dates shifted", f"up to {s.shift:,} days both ways, per person", "")] if s.shift else []
    return [Table(["", "", "lost"], rows, right=(2,))]


def _uses(body: EventCertificate) -> list[Block]:
    heads = ["use", "what is counted", "before", "after", "kept"]
    rows = [[u.name, u.sentence, number(u.before), number(u.after), "" if u.kept is None else percent(u.kept)] for u in body.uses]
    if body.cost.trips is not None:  # not in the reports of version 0.3.0
        heads.append("error")
        rows = [[*row, "" if u.error is None else percent(u.error)] for row, u in zip(rows, body.uses, strict=True)]
    return [Table(heads, rows, right=tuple(range(2, len(heads))))] if rows else []
