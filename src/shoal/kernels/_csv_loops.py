"""Compiled loops over lines of a CSV file: fields are found, and texts copied out. What is not plainly written is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import lean_njit

ORDINARY, DELIMITER, QUOTE, END, RETURN, ODD = 0, 1, 2, 3, 4, 5
"""What a byte is to the loop; of quoted fields only the first two and quotes are plain."""
MISSING, BARE, QUOTED, DOUBLED = 0, 1, 2, 3
"""Forms of a field; the last has quotes inside, each written twice."""
LONGEST = 1 << 20
"""Bytes of a line; the database refuses lines beyond two million."""


def byte_kinds(delimiter: int, quote: int) -> Any:
    """What each of the 256 bytes is to :func:`cut_fields`."""
    kinds = np.zeros(256, np.uint8)
    kinds[[delimiter, quote, 10, 13, 0]] = DELIMITER, QUOTE, END, RETURN, ODD
    return kinds


@lean_njit
def cut_fields(
    data: Any, kinds: Any, returns: bool, wanted: Any, nulls: Any, null_ends: Any, starts: Any, ends: Any, forms: Any, sizes: Any
) -> int:
    """Where the fields of whole lines begin and end; how many lines there are, or −1 where one is not plainly written.

    ``data`` ends with a line end (``returns``: each is \\r\\n). Field ``j`` goes to row ``wanted[j]`` of the arrays, where that
    is not negative; ``sizes`` adds up its bytes. ``nulls`` holds the texts that mean missing, one after the other.
    """
    at, line, width = 0, 0, len(wanted)
    while at < len(data):
        first = at
        for j in range(width):
            start, form = at, BARE
            if kinds[data[at]] == QUOTE:
                start, form = at + 1, QUOTED
                at += 1
                while True:
                    while kinds[data[at]] <= DELIMITER:
                        at += 1
                    if kinds[data[at]] != QUOTE:
                        return -1
                    if kinds[data[at + 1]] != QUOTE:
                        break
                    form = DOUBLED
                    at += 2
                end = at
                at += 1
            else:
                while kinds[data[at]] == ORDINARY:
                    at += 1
                end = at
            if j < width - 1:
                if kinds[data[at]] != DELIMITER:
                    return -1
            else:
                if returns:
                    if data[at] != 13:
                        return -1
                    at += 1
                if data[at] != 10:
                    return -1
            at += 1
            into = wanted[j]
            if into >= 0:
                if form == BARE and (start == end or _is_null(data, start, end, nulls, null_ends)):
                    form = MISSING
                starts[into, line], ends[into, line], forms[into, line] = start, end, form
                sizes[into] += end - start
        if at - first > LONGEST:
            return -1
        line += 1
    return line


@lean_njit
def _is_null(data: Any, start: int, end: int, nulls: Any, null_ends: Any) -> bool:
    begin = 0
    for k in range(len(null_ends)):
        stop = null_ends[k]
        if stop - begin == end - start:
            same = True
            for i in range(end - start):
                if data[start + i] != nulls[begin + i]:
                    same = False
                    break
            if same:
                return True
        begin = stop
    return False


@lean_njit
def copy_texts(data: Any, starts: Any, ends: Any, forms: Any, quote: int, offsets: Any, out: Any) -> None:
    """The bytes of each text one after the other, as an Arrow string array holds them; quotes written twice once only."""
    to = 0
    offsets[0] = 0
    for i in range(len(starts)):
        form = forms[i]
        if form == DOUBLED:
            at = starts[i]
            while at < ends[i]:
                out[to] = data[at]
                to += 1
                at += 2 if data[at] == quote else 1
        elif form != MISSING:
            for at in range(starts[i], ends[i]):
                out[to] = data[at]
                to += 1
        offsets[i + 1] = to
