"""Numbers as people read them: the same words in reports, cards and charts."""

from __future__ import annotations

import math
from typing import Any

from shoal.model.display import one_in, written


def chance(value: float) -> str:
    """A chance in words and percent.

    >>> chance(0.2), chance(1.0)
    ('1 in 5 (20 %)', 'certain')
    """
    text = one_in(value)
    return text if text in ("certain", "none") else f"{text} ({percent(value)})"


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
