"""What stands on a page, without saying how it looks: the templates turn these blocks into HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from shoal.model.certificate.certificate import cost_of
from shoal.model.display import written
from shoal.report.charts import fish, svg
from shoal.report.charts.sizes import caption
from shoal.report.numbers import chance, number, percent
from shoal.report.pages import page, part, style

if TYPE_CHECKING:
    from shoal.measures.result.figures import Figures
    from shoal.model.certificate.certificate import Certificate


@dataclass(frozen=True)
class Tag:
    """Words in a cell with a meaning that has a colour: ``met``, ``warning``, ``quasi``, or ``code``."""

    words: str
    kind: str


Cell = str | Tag


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows; the columns in ``right`` hold numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    right: Sequence[int] = ()
    block: str = "table"


@dataclass(frozen=True)
class Words:
    """A paragraph, small where it is a note, with a command at its end if one is given."""

    text: str
    small: bool = False
    code: str = ""
    block: str = "words"


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    texts: Sequence[str]
    block: str = "items"


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption.

    ``reachable``: the keyboard stops here, because a telephone scrolls it. Pages of releases do without: ``verify`` writes them
    again and compares, those of 0.3.0 too.
    """

    drawing: Markup
    caption: str
    reachable: bool = True
    block: str = "figure"


@dataclass(frozen=True)
class Lines:
    """Lines to sign on."""

    names: Sequence[str]
    block: str = "lines"


@dataclass(frozen=True)
class Text:
    """Text whose line breaks stay."""

    text: str
    block: str = "text"


Block = Table | Words | Items | Figure | Lines | Text


@dataclass(frozen=True)
class Section:
    """A part of a page with an address; ``wide`` blocks stand below each other."""

    place: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Number:
    """A figure with the line that says what it counts; ``missed`` marks one that should be better, ``words`` is not a figure."""

    value: str
    says: str
    missed: bool = False
    words: bool = False


@dataclass(frozen=True)
class Point:
    """Something to look at, leading to a part of the page."""

    place: str
    title: str
    names: Sequence[str] = ()


FISHES = 20
THRESHOLD = 5


def shoal_figure(total: int, alone: int, *, out: int = 0, unit: str) -> Figure:
    """The members as a shoal: ``alone`` are one of a kind, ``out`` are left out."""
    words = caption(total, 50, alone=alone > 0, out=out > 0, unit=unit)
    return Figure(svg(fish(total, alone, out=out, fishes=50, unit=unit)), words, reachable=False)


def card(m: Figures) -> str:
    """The card of a measurement.

    >>> from shoal.measures.result.figures import Figures
    >>> from shoal.model.counts.classes import ClassCounts
    >>> html = card(Figures(ClassCounts((1, 4), columns=("<b>",), codes=([0, 1],))))
    >>> "<b>" in html, "&lt;b&gt;" in html
    (False, True)
    """
    blocks: list[Block] = []
    rows = [(n, f"{d.distinct}", written(d.entropy, 3), written(m.closeness[n].t, 4)) for n, d in m.diversity.items()]
    if rows:
        blocks.append(Table(("sensitive", "distinct l", "entropy l", "t"), rows, right=(1, 2, 3)))
    blocks += [Words(note, small=True) for note in m.notes]
    blocks.append(Words('Why? m.explain() · m.worst_subsets(3) · m.report("out.html")', small=True))
    total = m.crowds.n_members
    drawing = svg(fish(total, m.unique, fishes=FISHES)) if total else ""
    return card_of(m.sentence, blocks, numbers_of(m), drawing)


def numbers_of(m: Figures) -> list[Number]:
    """The three or four figures that say most."""
    mean = m.risk.prosecutor.mean
    numbers = [
        Number(f"{m.unique:,}", f"one of a kind, {percent(m.unique_share)}", missed=m.unique > 0),
        Number(f"{m.k:,}", f"in the smallest group (k); highest risk {chance(m.risk.max)}", missed=m.k < THRESHOLD),
        Number(chance(mean), "average chance to name a person known to be in the table", missed=mean > 1 / THRESHOLD, words=True),
    ]
    if m.whole_set is not None and not m.counts.adds_up:
        whole = m.whole_set
        sentence = f"one of a kind by all their records together, {percent(whole.unique_share)}"
        numbers.append(Number(f"{whole.unique:,}", sentence, missed=whole.unique > 0))
    worst = m.worst_subsets(1) if m.knows_subsets else []
    if worst:
        sentence = f"most telling columns; alone they single out {worst[0].unique:,}"
        numbers.append(Number(" + ".join(worst[0].columns), sentence, missed=worst[0].unique > 0, words=True))
    return numbers


def inspection_card(inspection: Any) -> str:
    """The card of an inspection: a letter per role, the reason, and which columns together identify."""
    rows = [
        (
            c.name,
            Tag(f"{c.role.value[0].upper()} {c.role.value}", c.role.value),
            f"{c.kind}, {c.distinct:,} values",
            c.reason if c.role.value == "undecided" else f"{c.reason} ({100 * c.confidence:.0f} %)",
        )
        for c in inspection.columns
    ]
    blocks: list[Block] = [Table(("column", "role", "what it holds", "why (how sure)"), rows)]
    if inspection.together:
        together = [(" + ".join(s.columns), f"{s.unique:,}", f"{s.k:,}") for s in inspection.together]
        blocks.append(Table(("together", "one of a kind", "smallest group"), together, right=(1, 2)))
    blocks += [Words(note, small=True) for note in inspection.notes]
    return card_of(f"{inspection.table}: {inspection.records:,} records, {len(inspection.columns)} columns", blocks, [], "")


def release_card(made: Certificate) -> str:
    """The card of a release that was made: what it cost, requirements and results, what attacks found."""
    rows = [(f.sentence, number(f.found), Tag("✓ met", "met") if f.met else Tag("✕ not met", "unmet")) for f in made.requirements]
    blocks: list[Block] = [Words(cost_of(made).sentence), Table(("asked", "found", ""), rows, right=(1,))]
    attacks = [f"{a.name}: {a.sentence}" for a in made.attacks if a.verdict in ("broken", "warning")]
    blocks += [Words(text, small=True) for text in attacks]
    blocks.append(Words("r.to_pandas() · r.report() · r.certificate · r.write(DIR)", small=True))
    who = "people" if made.unit.column else "records"
    numbers = [
        Number(f"{made.k:,}", f"{who} in the smallest class (k)", missed=made.k < THRESHOLD),
        Number(f"{made.after.records:,}", f"records published, of {made.input.records:,}"),
        Number(written(made.utility.loss, 2), "information lost (0 is nothing)"),
    ]
    out = made.utility.suppressed if made.utility.scope == "rows" else 0
    drawing = svg(fish(made.after.records + out, made.after.unique, out=out, fishes=FISHES, unit="records"))
    return card_of(made.verdict, blocks, numbers, drawing)


def report_page(title: str, *, accent: str, accent_kind: str, sections: Sequence[Section], **more: Any) -> str:
    """A report as text; sections without content are left out, and what a page does not have is empty."""
    absent: dict[str, Any] = {"subtitle": title, "rest": "", "says": "", "cost": None, "notes": [], "shoal": None, "points": []}
    shown = [section for section in sections if section.blocks]
    return page("report.html.j2", title=title, accent=accent, accent_kind=accent_kind, sections=shown, **(absent | more))


def card_of(says: str, blocks: Sequence[Block], numbers: Sequence[Number], drawing: str) -> str:
    """A card for a notebook."""
    own = Markup(style())  # noqa: S704 (our own style sheet)
    return part("card.html.j2", style=own, says=says, blocks=blocks, numbers=numbers, drawing=drawing)
