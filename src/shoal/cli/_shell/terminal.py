"""What people read on a terminal: lines folded between words, tables that fit, numbers without exponents."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shoal.model.display import written

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

LONGEST = 32
"""Longer words may be cut to fit a table."""
ROUNDING = 1e-12
"""Sums of doubles near 1 are not known better than this."""


def console() -> Console:
    """Where people read: stdout, without colour when it is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def line(text: str) -> None:
    """One line of the result: folded between words on a terminal, as it is anywhere else."""
    console().print(printable(text), markup=False)


def printable(text: str) -> str:
    """Text without control characters: a hostile name cannot drive the terminal.

    >>> printable("age\\x1b[2J")
    'age�[2J'
    """
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def shown(x: float, digits: int = 4) -> str:
    """A counted or summed number as people read it: grouped where it is long, never with an exponent.

    What is nearer to 0 than :data:`ROUNDING` is left over from sums of numbers near 1 and is shown as 0.

    >>> shown(5000.0), shown(1234567.8), shown(0.25), shown(12.3456), shown(0.0000123), shown(3.0), shown(float("inf"))
    ('5,000', '1,234,568', '0.25', '12.35', '0.0000123', '3', '∞')
    >>> shown(3.2e-16), shown(2e-11)
    ('0', 'nearer to 0 than 0.000000001')
    """
    if not math.isfinite(x):
        return "∞" if x > 0 else "−∞" if x < 0 else "none"
    if abs(x) < ROUNDING or abs(x) >= 10 ** (digits - 1):
        return f"{x if abs(x) >= ROUNDING else 0:,.0f}"
    return written(x, digits)


def table_of(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), style: str = "bold"
) -> Any:
    """A table whose cells are inert text and that fits the terminal.

    Cells are folded between words; numbers (``right``) and words are not cut. Where that needs more room than there is, the
    columns stand closer, then below each other, each part with the first column.
    """
    from rich.console import Group
    from rich.text import Text

    room = console().width
    least = [_least([heads[i], *(row[i] for row in rows)], whole=i in right) for i in range(len(heads))]
    parts = list(_parts(least, room))
    shown = [
        _table([heads[i] for i in part], [[row[i] for i in part] for row in rows], part, right, least, room) for part in parts
    ]
    above: list[RenderableType] = [Text(printable(title), style=style)] if title else []
    return Group(*above, *shown)


def _least(texts: Sequence[str], *, whole: bool) -> int:
    """The width that a column needs: its longest word, or its longest cell where cells are not to be folded."""
    from rich.cells import cell_len

    cells = [*texts[0].split(), *texts[1:]] if whole else [word for text in texts for word in text.split()]
    longest = max(map(cell_len, cells), default=1)
    return longest if whole else min(longest, LONGEST)


def _parts(least: Sequence[int], room: int) -> Iterator[tuple[int, ...]]:
    """The columns that stand beside each other; the first column stands in every part."""
    part: list[int] = [0]
    for i in range(1, len(least)):
        if len(part) > 1 and sum(least[j] for j in (*part, i)) + len(part) + 2 > room:
            yield tuple(part)
            part = [0]
        part.append(i)
    yield tuple(part) if least else ()


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    part: Sequence[int],
    right: Sequence[int],
    least: Sequence[int],
    room: int,
) -> Any:
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    apart = 1 if sum(least[i] for i in part) + 3 * len(part) + 1 <= room else 0
    table = Table(box=box.SIMPLE_HEAD, padding=(0, apart))
    inside = room - (1 + 2 * apart) * len(part) - 1
    natural = [max([cell_len(heads[i]), *(cell_len(row[i]) for row in rows)]) for i in range(len(part))]
    widths = _widths(natural, [least[i] for i in part], inside)
    for i, head in enumerate(heads):
        side = "right" if part[i] in right else "left"
        table.add_column(Text(head), justify=side, overflow="fold", width=widths[i])  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _widths(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths that fit: the widest column gives way first, none below what it needs while another can give.

    >>> _widths([10, 40], [5, 6], 30), _widths([3, 4], [3, 4], 30), _widths([9, 9], [9, 9], 10)
    ([10, 20], [3, 4], [5, 5])
    """
    widths = [max(1, n) for n in natural]
    for floor in (least, [1] * len(least)):
        while sum(widths) > room and any(w > f for w, f in zip(widths, floor, strict=True)):
            at = max((i for i in range(len(widths)) if widths[i] > floor[i]), key=lambda i: widths[i])
            widths[at] -= 1
    return widths
