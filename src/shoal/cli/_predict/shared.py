"""What the ``shoal predict`` commands share: reading what was given, telling an answer, writing a plot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli import _shared
from shoal.errors import UsageError
from shoal.model.display import written

if TYPE_CHECKING:
    from shoal import Prediction

Text = str | None


def tell(found: Prediction, plot: Path | None = None, *, as_json: bool) -> None:
    """One JSON object with everything; or the answer in a line, the rest below it under the names people use, then the notes."""
    if plot is not None:
        _shared.say(f"Plot written to {found.plot(plot)}.")
    answer, rest = found.answer, dict(found.more)
    if as_json:
        _shared.put_json(found.to_json())
        return
    out = _shared.console()
    out.print(f"{found.what}: {answer}", markup=False)
    if answer.log_value is not None and 0 <= answer.value < 1e-6:
        out.print(f"  natural logarithm: {written(answer.log_value)}", markup=False)
    tables = {name: rest.pop(name) for name in list(rest) if _is_table(rest[name])}
    notes = list(answer.notes)
    for name, value in rest.items():
        if isinstance(value, dict):
            notes += value.get("notes", ())
            value = {k: v for k, v in value.items() if k != "notes"}
        out.print(f"  {SPOKEN.get(name, name.replace('_', ' '))}: {short(value)}", markup=False)
    for name, rows in tables.items():
        cells = [[short(v) for v in row.values()] for row in rows]
        out.print(_shared.table_of(SPOKEN.get(name, name), [SPOKEN.get(h, h) for h in rows[0]], cells))
    for note in notes:
        out.print(f"  note: {note}", markup=False)
    _shared.next_step("shoal measure TABLE --quasi a,b counts it where there is a table.")


SPOKEN = {
    "p_none": "chance that nobody is unique",
    "share": "share of unique people",
    "pmf": "chance of 0, 1, 2, … unique people",
    "interval": "95 % of groups have",
    "in_groups_of": "share of people in groups of",
    "best": "most unique people are expected",
    "possible": "can make that share unique",
    "needed": "combinations needed for it",
    "subsets": "Sets of columns, most identifying first",
    "bound": "at most unique",
    "allowed": "for k people per cell",
    "fit": "fitted law",
    "independence": "independence of the records of a person",
    "shares": "Share of people in cells under k, by records",
    "law": "Zipf's law",
    "chain": "Markov chain",
    "known_places": "known places",
    "group_size": "group size",
}
"""Keys of the JSON object in words."""


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(row, dict) for row in value)


def short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{_shared.printable(str(k)).replace('_', ' ')} {short(v)}" for k, v in value.items())
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(v, str) for v in value):
            return " + ".join(_shared.printable(v) for v in value)
        shown = [short(v) for v in value[:12]]
        return "; ".join(shown) + (" …" if len(value) > 12 else "")
    if isinstance(value, int) and abs(value) >= 1e5:
        return f"{value:,}"
    return written(value) if isinstance(value, float) else _shared.printable(str(value))


def numbers(text: Text) -> list[float] | None:
    """Numbers from ``0.4,0.3,0.3``; None where there is no text."""
    if text is None:
        return None
    try:
        return [float(x) for x in text.split(",") if x.strip()]
    except ValueError:
        raise UsageError("numbers are given as 0.4,0.3,0.3.") from None


def three(text: Text, option: str) -> tuple[float, float, float] | None:
    """Exactly three numbers."""
    found = numbers(text)
    if found is None:
        return None
    if len(found) != 3:
        raise UsageError(f"{option} takes 3 numbers; found {len(found)}.")
    return found[0], found[1], found[2]


def sizes(text: str) -> dict[str, int]:
    """Whole numbers by name, ``sex=2,age=100``; a number without a name gets one."""
    wrong = UsageError("sizes are given as name=number,name=number.", hint="Each name once, each number whole.")
    out: dict[str, int] = {}
    for i, part in enumerate((x for x in text.split(",") if x.strip()), start=1):
        name, separator, number = part.rpartition("=")
        key = name.strip() if separator else f"column {i}"
        if key in out:
            raise wrong
        try:
            out[key] = int(number)
        except ValueError:
            raise wrong from None
    if not out:
        raise wrong
    return out


def frequencies(text: str) -> dict[int, int]:
    """Numbers of classes by their size, ``1=120,2=25``."""
    try:
        return {int(size): number for size, number in sizes(text).items()}
    except ValueError:
        raise UsageError("classes are given as size=number,size=number.", hint="For example 1=120,2=25,3=10.") from None
