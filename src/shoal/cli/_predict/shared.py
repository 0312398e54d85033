"""What the ``shoal predict`` commands share: reading what was given, telling an answer, writing a plot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli import _shared
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.model.estimate import Estimate
    from shoal.predict import Distribution

Text = str | None


def tell(what: str, answer: Estimate, extra: dict[str, Any] | None = None, *, as_json: bool) -> None:
    """One JSON object with everything; or the answer in a line, the rest below it under the names people use, then the notes."""
    rest = dict(extra or {})
    if as_json:
        _shared.put_json(answer.to_json() | rest)
        return
    out = _shared.console()
    out.print(f"{what}: {answer}", markup=False)
    if answer.log_value is not None and 0 <= answer.value < 1e-6:
        out.print(f"  natural logarithm: {answer.log_value:.6g}", markup=False)
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
    if isinstance(value, (int, float)) and 1e5 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.6g}" if isinstance(value, float) else _shared.printable(str(value))


def distribution(uniform: int | None, counts: Text, p: Text, cells: int | None, normalize: bool) -> Distribution:
    from shoal.api.readers.counts import read_counts
    from shoal.predict import Distribution

    if sum(x is not None for x in (uniform, counts, p)) != 1:
        raise UsageError("give exactly one of --uniform, --counts and --p.", hint="Or --kappa with --cells.")
    if uniform is not None:
        return Distribution.uniform(uniform)
    if counts is not None:
        return Distribution.counts(read_counts(None, counts), cells=cells)
    return Distribution.of(numbers(str(p)), normalize=normalize)


def values(normal: float | None, exponential: float | None, length: float | None, sample: Text) -> Any:
    from scipy import stats

    from shoal.api.readers.counts import read_counts

    if sum(x is not None for x in (normal, exponential, length, sample)) != 1:
        raise UsageError("give exactly one of --normal, --exponential, --length and --sample.")
    if sample is not None:
        return read_counts(None, sample)
    scale = next(x for x in (normal, exponential, length) if x is not None)
    if not scale > 0:
        raise UsageError(f"a spread, rate or length is positive; found {scale!r}.")
    if normal is not None:
        return stats.norm(scale=normal)
    return stats.expon(scale=1 / scale) if exponential is not None else stats.uniform(0, scale)


def numbers(text: str) -> list[float]:
    try:
        return [float(x) for x in text.split(",") if x.strip()]
    except ValueError:
        raise UsageError("numbers are given as 0.4,0.3,0.3.") from None


def exactly(values: list[float], n: int, option: str) -> list[float]:
    if len(values) != n:
        raise UsageError(f"{option} takes {n} numbers; found {len(values)}.")
    return values


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


def rounding(text: str) -> list[float]:
    """How far each number may be off, relative to it, when its last digit was rounded.

    >>> rounding("0.0105,2.5e-4")
    [0.004761904761904762, 0.02]
    """
    from decimal import Decimal

    parts = [Decimal(x.strip()) for x in text.split(",") if x.strip()]
    return [float(Decimal(5).scaleb(int(p.as_tuple().exponent) - 1) / abs(p)) if p else 0.0 for p in parts]


def alone(option: str, others: dict[str, Any]) -> None:
    """Refuse options that say nothing beside another: what is given and not used misleads."""
    unused = [name for name, value in others.items() if value not in (None, False, 0)]
    if unused:
        raise UsageError(f"{', '.join(unused)} cannot be used with {option}.", hint="Leave one of them out.")


def needed(value: Any, option: str, hint: str = "") -> Any:
    if value is None:
        raise UsageError(f"{option} is needed here.", hint=hint or "See --help.")
    return value


def singletons_plot(d: Distribution, group_size: int, path: Path) -> None:
    import numpy as np

    from shoal.report import plots
    from shoal.report.charts import save

    sizes = np.unique(np.rint(np.linspace(1, 2 * group_size, 60)).astype(int)).tolist()
    save(plots.singletons_curve(d, sizes), path)
    _shared.say(f"Plot written to {path}.")


def interval_plot(values: Any, group_size: int, origin: float, width: float | None, path: Path) -> None:
    import numpy as np

    from shoal.report import plots
    from shoal.report.charts import save

    spread = float(values.std()) if hasattr(values, "std") else float(np.std(values))
    top = 2 * width if width else 2 * spread
    figure = plots.interval_curve(values, np.linspace(top / 50, top, 50).tolist(), group_size, origin=origin)
    save(figure, path)
    _shared.say(f"Plot written to {path}.")


def zipf_plot(counts: list[float] | None, law: Any, people: int, records: int, k: int, path: Path) -> None:
    from shoal import predict
    from shoal.report import plots
    from shoal.report.charts import save

    rank = predict.threshold_rank(law, people, records, k=k) ** (1 / records) if law.c > 0 else None
    figure = plots.zipf_ranks(counts, law, threshold=rank, total=sum(counts) if counts else 1.0, records=records, k=k)
    save(figure, path)
    _shared.say(f"Plot written to {path}.")
