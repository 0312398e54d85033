"""How much memory a run may take: ``2GB`` as bytes, what the quick ways would hold, and the refusal where nothing fits.

The quick ways by codes are taken where what they hold fits; beyond it DuckDB counts and recodes inside the budget and spills to
disk. What must be in memory whole, the classes and the search over them, is refused before it is begun.
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path

from shoal.errors import MemoryBudgetError, UsageError

LEAST = 256 << 20
"""The smallest budget: the program itself, Arrow and numpy need most of it."""

PROGRAM = 200 << 20
"""What a run takes before it has read a row: Python, Arrow, DuckDB and the compiled loops."""

RELEASED, RELEASED_AT_MOST = 90 << 20, 760 << 20
"""What a release takes beside the program for any number of rows, and if there are so many that they are kept on disk."""
WRITTEN, WRITTEN_AT_MOST = 20 << 20, 360 << 20
"""The same of rows that a plan is applied to."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:i?B)?\s*", re.IGNORECASE)


def memory_of(given: str | int | None) -> int | None:
    """Bytes from ``2GB``, ``512 MiB``, ``1.5g`` or a number; None stays None. Units are powers of 1024.

    >>> memory_of("2GB"), memory_of("512 MiB"), memory_of(None)
    (2147483648, 536870912, None)
    """
    if given is None:
        return None
    match = _WRITTEN.fullmatch(str(given))
    if match is None:
        raise UsageError("the memory is invalid.", hint="For example --memory 2GB or --memory 512MB.")
    size = int(float(match.group(1)) * _UNITS[match.group(2).upper()])
    if size < LEAST:
        raise UsageError(f"a memory of {shown(size)} is too small.", hint=f"The least is {shown(LEAST)}.")
    return size


SMALL = 4 << 30
"""A limit of the container or the process up to which it is the budget of a run that was given none."""
RESERVED = 3 << 30
"""Address space that libraries reserve and do not use."""
GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")


def limit_of_process() -> int | None:
    """The bytes that the container (cgroup) or the process (``ulimit -d``, ``-v``) may take; None without a limit."""
    limits = []
    try:
        for line in OWN_GROUPS.read_text().splitlines():
            _, controllers, own = line.split(":", 2)
            if controllers in ("", "memory"):
                root, name = (GROUPS, "memory.max") if not controllers else (GROUPS / "memory", "memory.limit_in_bytes")
                inner = root / own.lstrip("/")
                limits += [_limit_in(folder / name) for folder in (inner, *inner.parents) if folder.is_relative_to(root)]
    except (OSError, ValueError):
        pass
    with suppress(ImportError):  # not on Windows
        import resource

        for kind, reserved in ((resource.RLIMIT_DATA, 0), (resource.RLIMIT_AS, RESERVED)):
            soft = resource.getrlimit(kind)[0]
            limits.append(None if soft == resource.RLIM_INFINITY else max(0, soft - reserved))
    return min((limit for limit in limits if limit is not None), default=None)


def _limit_in(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() and int(text) < 1 << 60 else None


BUDGET: ContextVar[int | None] = ContextVar("BUDGET", default=None)
"""The budget of the table that is being opened; None without one."""


def budget_of_process() -> int | None:
    """The budget of a run that was given none: nine tenths of a small limit of the container or the process, else None."""
    limit = limit_of_process()
    return None if limit is None or limit > SMALL else max(LEAST, limit // 10 * 9)


def left_for_data(budget: int) -> int:
    """What remains of a budget beside the program itself."""
    return budget - PROGRAM


def for_database(budget: int) -> int:
    """What the embedded database may take of a budget: half of what is left, for rows on their way stand beside it; 128 MB
    where that is more, as far as there is so much.

    >>> [for_database(b << 20) >> 20 for b in (256, 328, 456, 1024)]
    [56, 128, 128, 412]
    """
    left = left_for_data(budget)
    return max(left // 2, min(left, 128 << 20))


def bytes_to_count(rows: int, columns: int) -> int:
    """What counting by codes holds at most: codes of four bytes, keys of several words, room to sort them, and the rows that
    are read ahead. 2,000,000 different rows of nine columns took 182 bytes each."""
    return rows * (40 + 18 * columns)


def bytes_to_search(classes: int, columns: int, nodes: int) -> int:
    """What a search over the classes holds at most: their codes, groups at several nodes, and a bound for each listed node."""
    return classes * (8 * columns + 160) + 20 * nodes


def bytes_of_class(columns: int) -> int:
    """What one class takes from its count to the end of a search: its values three times over, then codes and groups."""
    return 3 * 24 * columns + bytes_to_search(1, columns, 0)


def bytes_to_write(rows: int, columns: int) -> int:
    """What rows take on their way from one file to the other, as far as they are held: 100,000 of ten columns took 130 MB."""
    return 130 * rows * columns


def bytes_of_columns(rows: int, columns: int) -> int:
    """What a step on whole columns holds: their values several times over.
    `microaggregate` of 3,000,000 numbers took 124 each beside the column and its order, `rank_swap` 110, `permute` 56."""
    return 150 * rows * columns


def bytes_to_measure(classes: int, columns: int, *, by_codes: bool) -> int:
    """What all numbers of so many classes take, from their count on: the classes as they are compared by each rule for missing
    values, and before that, where a database counts, their values. 2,000,000 of eight columns took 330 and 710 bytes each."""
    return classes * (24 * columns + 160 if by_codes else bytes_of_class(columns))


def bytes_to_release_events(records: int, together: int | None = None) -> int:
    """What a release of events holds at most: codes of the records, the plan that is tried, and sets of known records, which are
    counted some millions at a time. Generated commuters took 490, 870 and 1,650 MB beside the program for 300,000, 1,000,000 and
    3,000,000 records; each further record is taken as a third more than between the last two.

    >>> [bytes_to_release_events(n) >> 20 for n in (300_000, 1_000_000, 3_000_000, 10_000_000)]
    [514, 1034, 2102, 5840]

    If at most so many are searched ``together``, one group after the other, the most is taken by counting the written file: 46
    bytes for each of 100,000,000 records, where 60 are allowed.

    >>> [bytes_to_release_events(n, 3_000_000) >> 20 for n in (10_000_000, 100_000_000)]
    [2102, 5722]
    """
    held = records if together is None else min(records, together)
    searched = min(1_800 * held, (500 << 20) + 560 * held)
    return searched if together is None else max(searched, 60 * records)


def take_little() -> None:
    """From here on Arrow takes memory from the system: its own allocator keeps a tenth more than is in use."""
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())


def give_back() -> None:
    """Free memory goes back to the machine: Arrow and C keep what was freed for anyone who asks next, and the steps of a run ask
    for other sizes in other threads, so that it would add up."""
    import ctypes

    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def refused(what: str, size: int, budget: int, hint: str) -> MemoryBudgetError:
    """The error for work that would not fit; the hint names what sets the budget."""
    if budget == budget_of_process():
        hint = hint.replace("--memory", "the memory limit of the container or of the process (ulimit)")
    return MemoryBudgetError(
        f"{what} needs about {shown(size + PROGRAM)}; {shown(budget)} are allowed.", hint=hint, estimate=size, budget=budget
    )


def shown(size: int) -> str:
    """A size for people.

    >>> shown(300 << 20), shown(5 << 30)
    ('300 MB', '5.0 GB')
    """
    return f"{size / 2**30:.1f} GB" if size >= 1 << 30 else f"{size / 2**20:.0f} MB"
