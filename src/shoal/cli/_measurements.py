"""A measurement as it is shown at a terminal: the sentence, tables of numbers, notes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import texts
from shoal.errors import UsageError
from shoal.model.display import one_in

if TYPE_CHECKING:
    from shoal import Measurement


def show_measurement(m: Measurement, *, suda: bool, explain: str) -> None:
    out = _shared.console()
    out.print(_shared.printable(m.sentence), style="bold", markup=False)
    out.print(_shared.table_of("", ("", "", ""), _headline(m)))
    s = m.class_sizes
    cells = [_shared.shown(x) for x in (s.sets, s.min, s.q1, s.median, s.mean, s.q3, s.max)]
    heads = ("groups", "smallest", "q1", "median", "mean", "q3", "largest")
    out.print(_shared.table_of("Group sizes", heads, [cells], right=range(7)))
    at = [f"{n:,}" for n in m.people_at.values()]
    who = "People" if m.counts.unit is not None else "Records"
    out.print(_shared.table_of(f"{who} in groups of at most", [str(t) for t in m.people_at], [at], right=range(5)))
    told = _told_together(m)
    if told:
        out.print(_shared.table_of("What the columns tell together", ("", "", ""), told))
    if m.diversity:
        out.print(
            _shared.table_of(
                "Sensitive columns", ("", "distinct l", "entropy l", "recursive l", "t", "distance", "α", "β"), _secret(m)
            )
        )
    worst = [(" + ".join(w.columns), f"{w.unique:,}", f"{w.k:,}") for w in m.worst_subsets(3)]
    out.print(
        _shared.table_of("Columns that together identify", ("columns", "one of a kind", "smallest group"), worst, right=(1, 2))
    )
    gain = [(c.column, f"{c.unique_without:,}", f"{c.adds:,}") for c in m.contributions()[:5]]
    out.print(_shared.table_of("What leaving a column out would do", ("without", "one of a kind", "fewer"), gain, right=(1, 2)))
    if m.by is not None:
        rows = [
            (g.name or "(small group)", f"{g.members:,}", f"{g.sizes.min:,}", _shared.shown(g.sizes.median), f"{g.unique:,}")
            for g in m.by.groups[:40]
        ]
        out.print(
            _shared.table_of(f"By {m.by.column}", ("", "members", "k", "median group", "one of a kind"), rows, right=(1, 2, 3, 4))
        )
    if suda:
        from shoal.measures.subsets.suda import OVERLAP

        found = m.suda()
        rows2 = [(name, f"{100 * share:.1f} %") for name, share in sorted(found.by_column.items(), key=lambda x: -x[1])]
        out.print(_shared.table_of("Share of the SUDA score by column", ("column", "share"), rows2, right=(1,)))
        out.print(OVERLAP)
    for note in m.notes:
        out.print(_shared.printable(f"• {note}"), markup=False)
    for line in str(explain).splitlines():
        out.print(_shared.printable(line), markup=False)


def _told_together(m: Measurement) -> list[tuple[str, str, str]]:
    """Entropy, ANVC, RR, degree of anonymity and κ, each with what it says."""
    e = m.entropy_risk
    if e["entropy_bits"] is None:
        return []
    most = f"never above the average risk, {_shared.shown(e['exact_marketer'], 3)}"
    rows = [
        ("entropy", f"{_shared.shown(e['entropy_bits'], 3)} bits", "that the columns tell about a record on average"),
        ("combinations (ANVC)", _shared.shown(e["anvc"], 3), "equally common ones would tell as much"),
        ("risk by entropy (RR)", _shared.shown(e["rr"], 3), most),
        ("degree of anonymity", _shared.shown(e["degree"], 3), "of the doubt about who it is remains: 1 all, 0 none"),
    ]
    if e["kappa"] is not None:
        cells = f"nats from {e['cells']:,} equally common combinations"
        rows.append(("κ", _shared.shown(e["kappa"], 3), cells))
    return rows


def _headline(m: Measurement) -> list[tuple[str, str, str]]:
    share = f"{_shared.shown(100 * m.unique_share, 3)} % of all"
    rows = [
        ("smallest group (k)", f"{m.k:,}", f"under the rule '{m.policy.value}' for missing values"),
        ("one of a kind", f"{m.unique:,}", share),
        ("prosecutor, highest", one_in(m.risk.prosecutor.max), "knows that the person is in the table"),
        ("prosecutor, average", one_in(m.risk.prosecutor.mean), "the same, for a person at random"),
        _journalist(m),
        ("marketer", one_in(m.risk.marketer), "share of right matches when everybody is matched"),
    ]
    if m.whole_set is not None and not m.counts.adds_up:
        share = f"{_shared.shown(100 * m.whole_set.unique_share, 3)} % of all, by all records of a person together"
        rows.insert(2, ("one of a kind by the set", f"{m.whole_set.unique:,}", share))
    if m.presence is not None:
        rows.append(
            (
                "k-map",
                f"{m.presence.k_map:,}",
                f"δ-presence {_shared.shown(m.presence.delta_min, 3)} to {_shared.shown(m.presence.delta_max, 3)}",
            )
        )
    if m.individual is not None:
        rows.append(
            (
                "individual risk, mean",
                one_in(m.individual.mean),
                f"{_shared.shown(m.individual.expected)} re-identifications expected",
            )
        )
    if m.sample and m.sample.get("value") is not None:
        low, high = one_in(m.sample["low"]), one_in(m.sample["high"])
        rows.append(
            (
                "a unique match is right",
                one_in(m.sample["value"]),
                f"{low} to {high}, Skinner and Elliot; grade {m.sample['grade']}",
            )
        )
    return rows


def _journalist(m: Measurement) -> tuple[str, str, str]:
    guess = m.journalist_estimate
    if guess is None:
        return "journalist, highest", one_in(m.risk.journalist.max), f"against {m.risk.basis}"
    most = f"estimated for {m.population:,} people; {one_in(guess.low)} to {one_in(guess.high)}; grade {guess.grade}"
    return "journalist, highest", one_in(guess.value), most


def _secret(m: Measurement) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, d in m.diversity.items():
        c = m.closeness[name]
        cells = (
            f"{d.distinct}",
            _shared.shown(d.entropy, 3),
            f"{d.recursive}",
            _shared.shown(c.t, 3),
            c.distance,
            _shared.shown(d.alpha, 3),
            _shared.shown(c.beta, 3),
        )
        rows.append((name, *cells))
    return rows


def read_weights(text: str) -> dict[str, float]:
    """Columns with what they are worth, from ``diagnosis=5,income=1``."""
    out = {}
    for part in texts.names(text):
        column, separator, weight = part.rpartition("=")
        try:
            out[column.strip()] = float(weight)
        except ValueError:
            separator = ""
        if not separator:
            raise typer.BadParameter("an impact is given as column=number.")
    return out


def propose_unit(opened: Any, words: dict[str, Any]) -> dict[str, str]:
    """At a terminal: whether a row is a person, where an id repeats. Elsewhere the notes of the measurement say it."""
    from shoal.api.measure import repeating_ids

    if not sys.stdin.isatty() or opened.schema.unit is not None:
        return {}
    taken = [n for role in ("quasi", "sensitive", "direct", "insensitive") for n in words.get(role) or ()]
    found = repeating_ids(opened, taken)
    if found is None:
        return {}
    _shared.say(f"Column '{found.column}' repeats: {found.ids:,} ids in {found.rows:,} rows.")
    return {} if typer.confirm("Is this one row per person?", default=False, err=True) else {"unit": found.column}


def propose_quasi(opened: Any, *, as_json: bool) -> tuple[str, ...]:
    """Quasi-identifiers to confirm at a terminal; elsewhere nothing is guessed."""
    import shoal
    from shoal.cli.inspect import show

    if as_json or not sys.stdin.isatty():
        raise UsageError(
            f"no quasi-identifier of '{opened.name}' is named, and none is guessed.",
            hint="Name them with --quasi a,b. 'shoal inspect TABLE' suggests roles with a reason each.",
        )
    found = shoal.inspect(opened)
    show(found)
    _shared.say(f"Proposed quasi-identifiers: {', '.join(found.quasi) or 'none'}")
    if not found.quasi or not typer.confirm("Measure with these?", default=True, err=True):
        raise UsageError("no quasi-identifiers were chosen.", hint="Name them with --quasi a,b.")
    return tuple(found.quasi)
