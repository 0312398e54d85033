"""What stands on a page, without saying how it looks: the templates turn these blocks into HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from shoal.kernels.chance import one_in
from shoal.model.certificate.cost import cost_of
from shoal.model.written import written
from shoal.report.charts import fish, svg
from shoal.report.pages import part, style

if TYPE_CHECKING:
    from shoal.measures.result.measurement import Measured
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
    """A drawing with its caption."""

    drawing: Markup
    caption: str
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
    """A figure with the line that says what it counts; ``missed`` marks one that should be better, ``words`` is no figure."""

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


def chance(value: float) -> str:
    """A chance in words and percent.

    >>> chance(0.2), chance(1.0)
    ('1 in 5 (20 %)', 'certain')
    """
    said = one_in(value)
    return said if said in ("certain", "none") else f"{said} ({percent(value)})"


def percent(share: float) -> str:
    """A share as a percentage. Only nothing is 0 % and only all is 100 %.

    >>> percent(0.5), percent(0.00321), percent(0), percent(0.99996), percent(1)
    ('50 %', '0.321 %', '0 %', 'above 99.9 %', '100 %')
    """
    if share < 1 and written(100 * share, 3) == "100":
        return "above 99.9 %"
    return f"{written(100 * share, 3)} %"


def short_percent(share: float) -> str:
    """A share in percent for the cell of a map, without the sign.

    >>> short_percent(1.0), short_percent(0.9996), short_percent(0.333), short_percent(0.0042), short_percent(0.0)
    ('100', '99.9', '33', '< 1', '0')
    """
    if share <= 0:
        return "0"
    if share < 0.01:
        return "< 1"
    if 0.995 <= share < 1:
        return f"{math.floor(1000 * share) / 10:.1f}"
    return f"{100 * share:.0f}"


def number(value: Any) -> str:
    """A count with separators, another number with four digits; text as it is.

    >>> number(20000), number(0.28279), number(None)
    ('20,000', '0.2828', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else written(value, 4)


def risk(value: float) -> str:
    """A count as it is; a chance as a number and in words.

    >>> risk(12), risk(0.2), risk(0.9999)
    ('12', '0.2 (1 in 5)', 'above 0.999 (nearly certain)')
    """
    if isinstance(value, int):
        return f"{value:,}"
    return f"{'above 0.999' if 0.9995 <= value < 1 else f'{written(value, 3)}'} ({one_in(value)})"


def compact(value: float) -> str:
    """A number at an axis.

    >>> compact(20000), compact(2_000_000), compact(0.25), compact(0.0001)
    ('20,000', '2 million', '0.25', '0.0001')
    """
    for unit, word in ((1e9, "billion"), (1e6, "million")):
        if abs(value) >= unit:
            return f"{written(value / unit, 4)} {word}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value == 0 or abs(value) >= 1e-3:
        return written(value, 3)
    return written(value, 1 if abs(value) < 1e-6 else 3)


FISHES = 20
THRESHOLD = 5


def card(m: Measured) -> str:
    """The card of a measurement.

    >>> from shoal.measures.result.measurement import Measured
    >>> from shoal.model.counts.classes import ClassCounts
    >>> html = card(Measured(ClassCounts((1, 4), columns=("<b>",), codes=([0, 1],))))
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
    return _card(m.sentence, blocks, numbers_of(m), drawing)


def numbers_of(m: Measured) -> list[Number]:
    """The three or four figures that say most."""
    mean = m.risk.prosecutor.mean
    numbers = [
        Number(f"{m.unique:,}", f"one of a kind, {percent(m.unique_share)}", missed=m.unique > 0),
        Number(f"{m.k:,}", f"in the smallest group (k); highest risk {chance(m.risk.max)}", missed=m.k < THRESHOLD),
        Number(chance(mean), "average chance to name a person known to be in the table", missed=mean > 1 / THRESHOLD, words=True),
    ]
    if m.whole_set is not None and not m.counts.adds_up:
        whole = m.whole_set
        told = f"one of a kind by all their records together, {percent(whole.unique_share)}"
        numbers.append(Number(f"{whole.unique:,}", told, missed=whole.unique > 0))
    worst = m.worst_subsets(1) if m.knows_subsets else []
    if worst:
        told = f"most telling columns; alone they single out {worst[0].unique:,}"
        numbers.append(Number(" + ".join(worst[0].columns), told, missed=worst[0].unique > 0, words=True))
    return numbers


def inspection_card(found: Any) -> str:
    """The card of an inspection: a letter per role, the reason, and which columns together identify."""
    rows = [
        (
            c.name,
            Tag(f"{c.role.value[0].upper()} {c.role.value}", c.role.value),
            f"{c.kind}, {c.distinct:,} values",
            f"{c.reason} ({100 * c.confidence:.0f} %)",
        )
        for c in found.columns
    ]
    blocks: list[Block] = [Table(("column", "role", "what it holds", "why (how sure)"), rows)]
    if found.together:
        together = [(" + ".join(s.columns), f"{s.unique:,}", f"{s.k:,}") for s in found.together]
        blocks.append(Table(("together", "one of a kind", "smallest group"), together, right=(1, 2)))
    blocks += [Words(note, small=True) for note in found.notes]
    return _card(f"{found.table}: {found.records:,} records, {len(found.columns)} columns", blocks, [], "")


def release_card(made: Certificate) -> str:
    """The card of a release that was made: what it cost, what was asked and found, what attacks found."""
    rows = [(f.sentence, number(f.found), Tag("✓ met", "met") if f.met else Tag("✕ not met", "unmet")) for f in made.requirements]
    blocks: list[Block] = [Words(cost_of(made).sentence), Table(("asked", "found", ""), rows, right=(1,))]
    found = [f"{a.name}: {a.sentence}" for a in made.attacks if a.verdict in ("broken", "warning")]
    blocks += [Words(text, small=True) for text in found]
    blocks.append(Words("r.to_pandas() · r.report() · r.certificate · r.write(DIR)", small=True))
    who = "people" if made.unit.column else "records"
    numbers = [
        Number(f"{made.k:,}", f"{who} in the smallest class (k)", missed=made.k < THRESHOLD),
        Number(f"{made.after.records:,}", f"records published, of {made.input.records:,}"),
        Number(written(made.utility.loss, 2), "information lost (0 is nothing)"),
    ]
    out = made.utility.suppressed if made.utility.scope == "rows" else 0
    drawing = svg(fish(made.after.records + out, made.after.unique, out=out, fishes=FISHES, unit="records"))
    return _card(made.verdict, blocks, numbers, drawing)


def _card(says: str, blocks: list[Block], numbers: list[Number], drawing: str) -> str:
    own = Markup(style())  # noqa: S704 (our own style sheet)
    return part("card.html.j2", style=own, says=says, blocks=blocks, numbers=numbers, drawing=drawing)
