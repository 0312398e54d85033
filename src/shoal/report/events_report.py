"""Report, card and plot of an event table. No data value, no script."""

from __future__ import annotations

from shoal.measures.events.result import THRESHOLD, EventsMeasured
from shoal.measures.events.unicity import largest_m
from shoal.report.blocks import Block, Figure, Number, Section, Table, Text, Words, card_of, report_page
from shoal.report.charts import Chart, Revealed, known_records, set_sizes, svg
from shoal.report.numbers import percent
from shoal.report.plots import renewal_curve, zipf_ranks


def curves(m: EventsMeasured) -> Chart:
    """People alone against known records, a curve per granularity."""
    lines = [
        Revealed(g.name, [(k.records, k.unique.value, k.unique.low, k.unique.high) for k in g.curve]) for g in m.grid if g.curve
    ]
    return known_records(lines, title="People that known records single out")


def sets(m: EventsMeasured, **room: int) -> Chart:
    """The sets people hide in, by known records; ``room``: ``right`` and ``width``, where it is narrow."""
    curve = {k.records: k.sets for k in m.curve}
    return set_sizes(curve, title="How many people share the known records", **room)


def card(m: EventsMeasured) -> str:
    blocks: list[Block] = [_curve_table(m), *(Words(note, small=True) for note in m.notes)]
    blocks.append(Words('Why? m.explain() · m.grid · m.report("out.html") · m.plot("out.svg")', small=True))
    return card_of(m.sentence, blocks, _numbers(m), svg(curves(m)))


def report_html(m: EventsMeasured) -> str:
    sections = [
        Section("known", "What known records reveal", _known(m)),
        Section("grid", "Coarser times and places", _grid(m)),
        Section("habits", "What is telling without knowing records", _habits(m)),
        Section("law", "Popularity of the places, and how long a pseudonym may live", _law(m)),
        Section("sets", "Sets of points (k^m-anonymity)", _shared(m)),
        Section("meaning", "What the numbers mean", [Text(m.explain()), Words(LIMITS, small=True)]),
    ]
    accent, verb, rest = m.sentence.partition(" single")
    title = f"What do a few known records reveal in {m.table}?"
    return report_page(
        title,
        accent=accent,
        accent_kind="risk" if m.curve[-1].unique.value > 0 else "met",
        rest=f"{verb}{rest}",
        notes=m.notes,
        numbers=_numbers(m),
        sections=sections,
    )


LIMITS = (
    "Known records are a random set of a person's own: somebody who chooses which records to learn needs fewer. Times and places "
    "are taken as the table has them; knowledge that is a little wrong is not measured."
)


def _numbers(m: EventsMeasured) -> list[Number]:
    last = m.curve[-1]
    n = m.needed
    after = "never" if n.median is None else f"{n.median:,}"
    return [
        Number(percent(last.unique.value), f"alone with {last.records} known records", missed=last.unique.value > 0),
        Number(after, "known records until half of the people are alone", missed=n.median is not None, words=n.median is None),
        Number(
            f"{last.sets.median:,}", f"people in the median set of {last.records} records", missed=last.sets.median < THRESHOLD
        ),
        Number(f"{m.people:,}", f"people with {m.records:,} records at {m.points:,} points"),
    ]


def _curve_table(m: EventsMeasured) -> Table:
    heads = ("known records", "people who have them", "alone", "at least", "at most", "median set", f"in sets < {THRESHOLD}")
    rows = []
    for k in m.curve:
        ends = (percent(k.unique.value), percent(k.unique.low), percent(k.unique.high))
        rows.append((f"{k.records}", f"{k.people:,}", *ends, f"{k.sets.median:,}", percent(k.sets.below[THRESHOLD])))
    return Table(heads, rows, right=range(1, 7))


def _known(m: EventsMeasured) -> list[Block]:
    methods = "; ".join(f"{k.records}: {k.unique.method}, grade {k.unique.grade}" for k in m.curve)
    return [_curve_table(m), Figure(svg(sets(m)), "Box: quartiles; line: median; dot: mean."), Words(methods, small=True)]


def _grid(m: EventsMeasured) -> list[Block]:
    asked = [k.records for k in m.curve]
    rows = []
    for g in m.grid:
        by = {k.records: percent(k.unique.value) for k in g.curve}
        rows.append((g.name, f"{g.points:,}", *(by.get(s, "") for s in asked)))
    table = Table(("granularity", "points", *(f"{s} known" for s in asked)), rows, right=range(1, len(asked) + 2))
    return [Figure(svg(curves(m)), "People alone, in percent, against the number of records that are known of them."), table]


def _habits(m: EventsMeasured) -> list[Block]:
    out: list[Block] = []
    if m.top:
        rows = [(f"{t.places}", percent(t.unique), f"{t.sets.median:,}", f"{t.tied:,}") for t in m.top]
        out.append(Table(("most frequent places", "alone", "median set", "people with ties"), rows, right=range(1, 4)))
    if m.rare:
        rows = [(f"fewer than {r.below}", f"{r.places:,} of {r.of:,}", percent(r.people), percent(r.records)) for r in m.rare]
        out.append(Table(("places visited by", "places", "people there", "records there"), rows, right=range(1, 4)))
    for name, shares in (("hour", m.hours), ("weekday", m.weekdays)):
        if shares:
            rows = [(s.name, f"{s.people:,}", f"{s.points:,}", percent(s.alone)) for s in shares]
            out.append(Table((name, "people", "points", "one person's only"), rows, right=range(1, 4)))
    return out


POOR_FIT = 0.1
"""Beyond this Kolmogorov distance the law is not that of the table."""
FEWEST_PLACES = 3
"""A law is fitted to no fewer places."""
MOST_RECORDS = 6
MOST_COUNTS = 20_000
"""Places beyond which what a pseudonym reveals is worked out by the law only."""


def _law(m: EventsMeasured) -> list[Block]:
    """Places by rank with Zipf's law fitted, and the share of people alone by the records of a pseudonym."""
    if len(m.ranks) < FEWEST_PLACES or m.people < 2:
        return []
    from shoal.prediction import Distribution, expected_share, fit_zipf  # heavy

    fitted = fit_zipf(m.ranks)
    seen = Distribution.counts(m.ranks) if len(m.ranks) <= MOST_COUNTS else None
    whole = next((g for g in m.grid if g.time in (None, "none") and g.place == "exact"), None)
    known = {k.records: k.unique.value for k in whole.curve} if whole else {}
    rows = []
    for s in range(1, MOST_RECORDS + 1):
        counted = None if seen is None else expected_share(seen, m.people, s).value
        law = expected_share(fitted.law, m.people, s).value
        rows.append({"records": s, "law": law, "counts": counted, "known_places": known.get(s)})
    by_rank = zipf_ranks(m.ranks, fitted.law, total=float(sum(m.ranks)))
    fit = f"Exponent {fitted.c:.3f}; R² {fitted.r2:.3f} on the logarithms; Kolmogorov distance {fitted.ks:.3f}"
    fit += " (above 0.1: trust the counts)." if fitted.ks > POOR_FIT else "."
    independent = "The law and the counts take the records of a person as independent; shoal predict zipf --table tests it."
    return [
        Figure(svg(by_rank), "Records per place, most frequent first, on logarithmic axes, and the fitted law."),
        Words(fit, small=True),
        Figure(svg(renewal_curve(rows)), "People alone, in percent, against the records that one pseudonym covers."),
        Words(independent, small=True),
    ]


def _shared(m: EventsMeasured) -> list[Block]:
    if not m.shared:
        return []
    rows = [(f"{s.m}", f"{s.k:,}" if s.exact else f"at most {s.k:,}") for s in m.shared]
    sentence = f"Largest m for k = {THRESHOLD}: {largest_m(m.shared, THRESHOLD)}."
    return [
        Table(("points known together (m)", "people who share every such set (k)"), rows, right=(1,)),
        Words(sentence, small=True),
    ]
