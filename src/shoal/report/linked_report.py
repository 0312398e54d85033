"""The report of tables that were released together: one self-contained page, a function of the certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shoal.model.certificate.form import plain
from shoal.model.certificate.halves import LINKED_FORMATS
from shoal.model.certificate.parts import NOT_STATED
from shoal.model.display import one_in
from shoal.report.blocks import Block, Cell, Figure, Items, Number, Point, Section, Table, Tag, Words, report_page, shoal_figure
from shoal.report.charts import class_sizes, svg
from shoal.report.numbers import number, percent
from shoal.report.release_report import SIGNATURES, SIGNS, file_table, headline

if TYPE_CHECKING:
    from shoal.release.linked.certificate import LinkedCertificate


def render(body: LinkedCertificate) -> str:
    """The page of a certificate that is not signed yet."""
    return report_page(
        body.title,
        subtitle=f"{body.title} · Report of {len(body.tables)} tables released together, {body.date}, made with {body.tool}",
        **headline(f"Everyone hides among at least {body.k:,}", () if body.format == LINKED_FORMATS[0] else body.attacks),
        says=body.verdict,
        shoal=shoal_figure(body.after.people + body.left_out, body.after.alone, out=body.left_out, unit="people"),
        numbers=_numbers(body),
        points=_points(body),
        sections=[
            Section("tables", "The tables", _tables(body)),
            Section("people", "How many people look alike", _histogram(body)),
            Section("columns", "What happened to each column", _columns(body)),
            Section("attacks", "Attacks that were tried", _attacks(body)),
            Section("recipient", "Who receives it", _recipient(body)),
            Section("limits", "Limits", [Items(body.limits)]),
            Section("check", "Check it yourself", _check(body)),
            Section("sign-off", "Sign-off", [SIGNATURES]),
        ],
    )


def _numbers(body: LinkedCertificate) -> list[Number]:
    return [
        Number(number(body.k), "people in the smallest group"),
        Number(one_in(1.0 / body.k), "best chance to name a person"),
        Number(number(body.after.people), f"people published, of {body.people_in:,}"),
        Number(number(body.loss), "information lost in the quasi-identifiers (0 is nothing, 1 is all)"),
    ]


def _points(body: LinkedCertificate) -> list[Point]:
    attacks = [a.name for a in body.attacks if a.verdict in ("broken", "warning")]
    blank = [f"{t.name}.{c.name}" for t in body.tables for c in t.columns if c.level is not None and c.level == c.height]
    unsaid = [n for n, value in plain(body.purpose).items() if value == NOT_STATED]
    points = [
        Point("attacks", "Attacks with a warning", attacks),
        Point("columns", "Columns that tell nothing any more", blank),
        Point("recipient", "Not stated in the policy", unsaid),
    ]
    return [p for p in points if p.names]


def _tables(body: LinkedCertificate) -> list[Block]:
    rows: list[Sequence[Cell]] = []
    for t in body.tables:
        lost = t.records_in - t.records - t.orphans - t.unnamed
        rows.append((t.name, t.key, *(number(n) for n in (t.records_in, t.records, lost, t.orphans, t.unnamed))))
    heads = ["table", "key (fresh pseudonym)", "rows that came", "published", "of people left out", "orphans", "without a key"]
    words = "The same person has the same pseudonym in every table. Its key was drawn for this release and is kept nowhere."
    return [Table(heads, rows, right=(2, 3, 4, 5, 6)), Words(words, small=True), *_states(body)]


def _states(body: LinkedCertificate) -> list[Block]:
    """Which state of each source was read, where it has a name."""
    rows: list[Sequence[Cell]] = [(t.name, t.snapshot) for t in body.tables if t.snapshot is not None]
    return [Table(["table", "state that was read"], rows)] if rows else []


def _histogram(body: LinkedCertificate) -> list[Block]:
    before, after = _members(body.before.sizes), _members(body.after.sizes)
    drawn = class_sizes(after, body.asked, before=before, title="People who look alike, before and after", unit="people")
    alone = f"{body.before.alone:,} of {body.before.people:,} people were one of a kind by all their rows before"
    return [
        Figure(
            svg(drawn),
            f"Outlined: before, all rows known. Filled: after. {alone}, {body.after.alone:,} are now.",
            reachable=False,
        )
    ]


def _members(sizes: Mapping[str, int]) -> dict[int, int]:
    return {int(size): people for size, people in sizes.items()}


def _columns(body: LinkedCertificate) -> list[Block]:
    rows: list[Sequence[Cell]] = []
    for t in body.tables:
        for c in t.columns:
            level = f"{c.level} of {c.height}" if c.level is not None else ""
            rows.append((f"{t.name}.{c.name}", Tag(f"{c.role[0].upper()} {c.role}", c.role), c.treatment, level))
    return [Table(["column", "role", "treatment", "level"], rows, right=(3,))]


def _attacks(body: LinkedCertificate) -> list[Block]:
    rows: list[Sequence[Cell]] = []
    for a in body.attacks:
        rate = "" if a.rate is None else percent(a.rate)
        rows.append((a.name, a.sentence, rate, Tag(SIGNS.get(a.verdict, a.verdict), a.verdict.replace(" ", "-"))))
    return [Table(["attack", "finding", "success", "verdict"], rows, right=(2,))]


def _recipient(body: LinkedCertificate) -> list[Block]:
    p = body.purpose
    rows = [("Kind of release", p.release), ("Recipient", p.recipient), ("Purpose", p.purpose), ("Run by", p.run_by)]
    rows += [("Approved by", p.approved_by), ("Review on", p.review), ("Contact", p.contact)]
    return [Table(["", ""], rows)]


def _check(body: LinkedCertificate) -> list[Block]:
    words = "Every number of people and every attack on this page is counted again from the files, offline, by:"
    return [Words(words, code="shoal verify FOLDER"), file_table(body.files)]
