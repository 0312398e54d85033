"""Spellings of "no value": words in 36 languages, what the file declares or labels so, and numbers with evidence.

A word counts by itself; what a number needs is described in :mod:`shoal.find.missing_values`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

import numpy as np

from shoal.find.bands import band_order
from shoal.find.dates import CACHED
from shoal.find.finding import ColumnFacts, remembered
from shoal.find.name_words import inflected
from shoal.find.topics import topic_of
from shoal.find.vocabulary import folded, word_pattern, word_set
from shoal.kernels.text import Pattern
from shoal.model.roles import NUMBERS

_WORDS, _SHORT = word_set("missing", "missing"), word_set("missing", "ambiguous")
"""Words that also mean something else: taken only where the column holds longer words, or the rest are numbers."""
_LABEL, _ASKED = Pattern(word_pattern("missing", "label")), Pattern(word_pattern("missing", "question"))


def asked(spellings: Iterable[str]) -> bool:
    """Whether spellings of "no value" tell of somebody who was asked: don't know, refused.

    >>> asked(["Ne sait pas"]), asked(["?", "NA"])
    (True, False)
    """
    return any(_ASKED.match(folded(s)) for s in spellings)


LONE_WORDS, NUMBERS_AROUND = 2, 20
"""Different words, and different numbers around them, from which the words mean a missing number."""
_LETTERS = re.compile(r"[^\W\d_][^\W\d_ /-]*(?:[ /-][^\W\d_]+){0,3}")
LONG_WORD = 8
"""Letters from which a word means the same in another gender or number."""
MANY = 100
"""Values from which a short word among them is more likely a name than a spelling of "missing"."""
_RESULT = re.compile(r"[<>≤≥]=?\s*\d|norm(al)?$|\[?\(?\d+\s*-", re.IGNORECASE)


def missing_spellings(
    facts: ColumnFacts, *, shared: frozenset[str] = frozenset(), own: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The values of a column that mean "no value", as they are spelled there.

    ``shared`` are number codes that several columns of the table use so (see :func:`number_codes`); ``own`` what that function
    says of the column alone, where it was asked already.
    """
    declared = [v for v in facts.values if v in facts.declared_missing] if facts.declared_missing else []
    labelled = [v for v in facts.values if v in facts.labels and _LABEL.match(folded(facts.labels[v]))] if facts.labels else []
    alone = own is not None and (not shared or _written(shared).isdisjoint(facts.values))
    numbers = own if own is not None and alone else number_codes(facts, shared)
    days = no_days(facts) if facts.kind not in NUMBERS else []
    spelled = [] if facts.kind not in ("text", "other") else _words(facts.values)
    return tuple(dict.fromkeys((*declared, *labelled, *spelled, *days, *numbers)))


@lru_cache(maxsize=1)
def _written(codes: frozenset[str]) -> frozenset[str]:
    """The codes, and as they are written in a column with fractions."""
    return frozenset((*(code for code in codes if not code.endswith(".0")), *(f"{code}.0" for code in codes)))


@remembered
def _words(values: Sequence[str]) -> list[str]:
    clear, doubtful = [], []
    for value in values:
        plain = folded(value.strip())
        if plain in _SHORT or (plain == "none" and value.strip() == "None"):
            doubtful.append(value)
        elif not plain or plain in _WORDS or (len(plain) >= LONG_WORD and any(form in _WORDS for form in inflected(plain))):
            clear.append(value)
    if len(clear) + len(doubtful) == len(values):
        return clear + doubtful
    rest = [v for v in values if v not in clear and v not in doubtful]
    among = [v for v in rest if not _is_number(v)]
    if 0 < len(among) <= LONE_WORDS < NUMBERS_AROUND <= len(rest) - len(among) and all(
        _LETTERS.fullmatch(v.strip()) for v in among
    ):
        return clear + doubtful + among  # one word among very many numbers: Exempt, Varies
    return clear + [v for v in doubtful if _stands_out(v, rest)]


def _stands_out(value: str, rest: Sequence[str]) -> bool:
    """Whether a short word is not a category of its own: NA in capitals or among numbers; None among results of tests."""
    plain = value.strip()
    if len(rest) > MANY and plain not in ("NA", "*", "-", "_"):
        return False
    numbers = sum(_is_number(v) for v in rest) > 0.9 * len(rest)
    if folded(plain) == "none":
        return numbers or (len(rest) > 1 and sum(bool(_RESULT.match(v.strip())) for v in rest) >= 0.6 * len(rest))
    if numbers or plain in ("NA", "*", "-", "_"):
        return True
    longer = sorted(len(v.strip()) for v in rest)
    return longer[len(longer) // 2] > len(plain) + 2 or len(plain) > 4


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


_REPEATED = re.compile(r"5{2,5}|6{2,6}|7{1,6}|8{1,6}|9{2,6}|9{1,5}[5-8]")
FAR, FAR_ROWS, FAR_FEW, FAR_SHARE = 3, 3, 15, 0.01
"""A code of one digit repeated is this many times the highest value, and stands in so many rows, or in this share of them where
there are more than so many different values: a single large value is one."""
NEAR, OFTEN = 2, 0.05
"""Twice the highest value is enough where this share of the rows has the code."""
_NEGATIVE = frozenset((-7, -8, -9, -66, -77, -88, -96, -97, -98, -99, -777, -888, -998, -999, -8888, -9998, -9999, -99999))
_BESIDE_99 = re.compile(r"9[5-8](\.0)?")
FEW_CODES = 4
"""Codes from 1 above which 7 and 8 are far."""
BELOW = 3
"""Columns in which the same negative number of one digit stands below codes from which it means "no value" in all of them."""
FAR_BELOW = 100
"""The smallest of the other values from which -1 below them is not an amount."""
LONE_VALUES, LONE_SHARE, LONE_GAP = 40, 0.02, 3
"""Different values, share of the rows and distance (in ranges of all others) from which one value far outside stands for none."""
_ONE_DIGIT = re.compile(r"-[1-9](\.0)?")
MOST_BELOW = 6
"""Different negative codes that a column may have."""
_NO_DAY = re.compile(
    r"9999([-/.]?)99\1?99|99([-/.])99\2(99)?99|0000([-/.])00\4?00|00([-/.])00\5(00)?00|"
    r"9999-12-31(?:[T ].*)?|(?:31[-/.]12|12[-/.]31)[-/.]9999"
)
COUNTED = ("family",)
"""Topics of columns that count people: 8 and 9 of them are real."""
_NINES = (
    (9, (7, 8)),
    (99, (77, 88, 97, 98)),
    (999, (777, 888, 997, 998)),
    (9999, (7777, 8888, 9997, 9998)),
    (99999, (99998, 88888, 77777)),
    (999999, (999998, 888888)),
    (9999999, ()),
    (99999999, ()),
)


def number_codes(facts: ColumnFacts, shared: AbstractSet[str] = frozenset()) -> list[str]:
    """Numbers that stand for "no value": negative codes below a column of amounts; nines beyond a gap.

    >>> import numpy as np
    >>> number_codes(ColumnFacts("income", "integer", ["-9", "0", "1200", "800"], np.array([5, 9, 3, 2]), 19))
    ['-9']
    >>> number_codes(ColumnFacts("read", "integer", ["0", "1", "2", "9"], np.array([5, 9, 3, 2]), 19))
    ['9']
    >>> ages = [str(age) for age in range(-1, 100)]
    >>> number_codes(ColumnFacts("age", "integer", ages, np.ones(101, dtype=np.int64), 101))
    []
    """
    if _only_amounts(facts):
        return []
    texts = {v: _number(v) for v in facts.values}
    numbers = {v: n for v, n in texts.items() if n is not None}
    if coded := _below(numbers, facts, shared):
        rest = {v: n for v, n in numbers.items() if v not in coded}
        return coded + [v for v in _nines(rest, shared, facts) or _far_repeated(rest, facts, shared) if len(v.strip()) > 1]
    if 0 < len(numbers) < 0.9 * len(facts.values):
        return _beside_bands(facts.values, numbers)
    if len(numbers) < 3:
        return []
    negative = [v for v, n in numbers.items() if n in _NEGATIVE]
    below = [n for v, n in numbers.items() if n < 0 and v not in negative]
    codes = negative if negative and all(n in (-1, -2, -3, -4, -5, -6) for n in below) else []
    if codes and below and len(codes) + len(below) >= 3:  # a survey's whole family of codes: -1 … -9
        codes = [v for v, n in numbers.items() if n < 0]
    codes = codes or _few_negative(numbers, facts)
    rest = {v: n for v, n in numbers.items() if n >= 0 and v not in codes}
    return codes + (_nines(rest, shared, facts) or _far_repeated(rest, facts, shared)) or _lone_far(numbers, facts)


_REPEATED_NUMBERS = np.array(
    sorted({int(d * n) for d in "56789" for n in range(1, 7)} | {int("9" * n + d) for n in range(1, 6) for d in "5678"}),
    dtype=np.float64,
)


def _only_amounts(facts: ColumnFacts) -> bool:
    """Whether all values are numbers from 0, and none is of nines, or far from the others: none of them is a code.

    >>> def column(*values): return ColumnFacts("x", "integer", values, np.ones(len(values), dtype=np.int64), len(values))
    >>> [_only_amounts(column(*"1234")), _only_amounts(column(*"12378")), _only_amounts(column(*"129"))]
    [True, False, False]
    """
    numbers = facts.numbers
    if facts.kind not in NUMBERS or numbers is None or len(numbers) < 3:
        return False
    ordered = np.sort(numbers)
    low, second, before, high = ordered[[0, 1, -2, -1]].tolist()
    if not (math.isfinite(low) and math.isfinite(high)):  # NaN comes last
        return False
    repeated = numbers == _REPEATED_NUMBERS[np.searchsorted(_REPEATED_NUMBERS[:-1], numbers)]
    if facts.whole and repeated.any():
        rest = numbers[~repeated]
        if len(rest) <= FEW_CODES or float(numbers[repeated].max()) >= NEAR * float(rest.max()):
            return False
    gap = max(second - low, high - before)
    return bool(low >= 0 and gap < LONE_GAP * (high - low - gap) and all(high != nines for nines, _ in _NINES))


def no_days(facts: ColumnFacts) -> list[str]:
    """Days of no calendar: 9999-99-99, 00/00/0000; and the last day of all, 9999-12-31.

    >>> import numpy as np
    >>> no_days(ColumnFacts("died", "text", ["2020-05-01", "9999-99-99"], np.array([5, 9]), 14))
    ['9999-99-99']
    """
    return [v for v in facts.values if v[:2] in ("99", "00", "31", "12") and _NO_DAY.fullmatch(v.strip())]


def below_codes(facts: ColumnFacts) -> tuple[str, ...]:
    """Negative numbers of one digit that may stand for "no value": one alone, or several with a gap below all others.

    >>> import numpy as np
    >>> alone, apart = ["-1", "0", "1"], ["-2", "-1", "1", "2"]
    >>> [below_codes(ColumnFacts("x", "integer", v, np.ones(len(v)), 9)) for v in (alone, apart)]
    [('-1',), ('-2', '-1')]
    >>> below_codes(ColumnFacts("x", "integer", ["-2", "-1", "0", "1"], np.ones(4), 9))
    ()
    """
    signed = facts.signed
    if not signed or len(signed) > MOST_BELOW or facts.distinct < len(signed) + 2:
        return ()
    if not all(_ONE_DIGIT.fullmatch(v) for v in signed):
        return ()
    above = [n for v in facts.values if v not in signed and (n := _number(v)) is not None]
    if facts.missing and len(signed) == 1 and sorted({float(signed[0]), *above}) == [-1.0, 0.0, 1.0]:
        return ()  # less, as much, more: cells without a value are empty
    apart = bool(above) and min(above) - max(map(float, signed)) >= 2
    return tuple(signed) if len(signed) == 1 or apart else ()


def _below(numbers: dict[str, float], facts: ColumnFacts, shared: AbstractSet[str]) -> list[str]:
    """Negative codes that several columns share; and -1 far below amounts that are all large."""
    codes = below_codes(facts)
    above = [n for n in numbers.values() if n >= 0]
    rows = sum(facts.rows_with[v] for v in codes)
    far = len(above) > 1 and min(above) >= FAR_BELOW and rows >= FAR_ROWS
    known = all(str(int(float(v))) in shared for v in codes)
    return list(codes) if codes and (far or known) else []


def _lone_far(numbers: dict[str, float], facts: ColumnFacts) -> list[str]:
    """One value in many rows, far outside the range of all others: 365243 above days that are all negative. 0 means something."""
    if len(numbers) <= LONE_VALUES or facts.distinct != len(facts.values):
        return []
    ordered = sorted(numbers.values())
    low_gap, high_gap = ordered[1] - ordered[0], ordered[-1] - ordered[-2]
    lone, gap = (ordered[0], low_gap) if low_gap > high_gap else (ordered[-1], high_gap)
    rest = ordered[1:] if lone == ordered[0] else ordered[:-1]
    if lone == 0 or gap < LONE_GAP * (rest[-1] - rest[0]):
        return []
    values = [v for v, n in numbers.items() if n == lone]
    rows = sum(facts.rows_with[v] for v in values)
    return values if rows >= LONE_SHARE * facts.filled else []


def _few_negative(numbers: dict[str, float], facts: ColumnFacts) -> list[str]:
    """Up to three negative codes of two digits, each in several rows, below many values of which none is negative."""
    below = [v for v, n in numbers.items() if n < 0]
    coded = all(-99 <= numbers[v] <= -10 and numbers[v] == int(numbers[v]) and facts.rows_with[v] >= FAR_ROWS for v in below)
    return below if 0 < len(below) <= MOST_NEGATIVE and coded and len(numbers) - len(below) >= LEAST_ABOVE else []


MOST_NEGATIVE, LEAST_ABOVE = 3, 10
"""Different negative numbers that may be codes, and different values above them: amounts below 0 are more, or few of few."""


def _beside_bands(values: Sequence[str], numbers: dict[str, float]) -> list[str]:
    """Codes such as 8888 among bands: <25, 25-34, 8888."""
    codes = [v for v in numbers if _REPEATED.fullmatch(v.strip()) and len(v.strip()) >= 3]
    return codes if len(codes) == len(numbers) and band_order([v for v in values if v not in numbers]) else []


def _far_repeated(numbers: dict[str, float], facts: ColumnFacts, shared: AbstractSet[str]) -> list[str]:
    """77, 88, 6666 … far above all other values and in many rows; 7 or 8 above at most four codes from 1."""
    if any(n != int(n) for n in numbers.values()):
        return []
    top = [v for v in numbers if _REPEATED.fullmatch(v.strip().removesuffix(".0"))]
    near = [v for v in top if _BESIDE_99.fullmatch(v.strip())]
    if len(numbers) - len(near) > FAR_FEW:  # 96 above many values is one of them
        top = [v for v in top if v not in near]
    top = [v for v in top if len(v.strip()) > 1] or top
    rest = [n for v, n in numbers.items() if v not in top]
    if not rest:
        return []
    high = max(rest)
    few = len(rest) <= FEW_CODES and min(rest) == 1 and high == len(rest)
    times = {v: NEAR if facts.rows_with[v] >= OFTEN * facts.filled else FAR for v in top}
    far = [v for v in top if len(v.strip()) > 1 and numbers[v] >= times[v] * high]
    far += [v for v in top if few and v in ("7", "8") and numbers[v] >= high + 4]
    rows = sum(facts.rows_with[v] for v in far)
    often = (rows >= FAR_ROWS or all(v in shared for v in far)) and (len(rest) <= FAR_FEW or rows >= FAR_SHARE * facts.filled)
    return far if often and len(far) == len([v for v in top if numbers[v] > high]) else []


def _nines(numbers: dict[str, float], shared: AbstractSet[str], facts: ColumnFacts) -> list[str]:
    """9, 99, 999 … and the codes beside them, at the top of a column and beyond a gap."""
    if len(numbers) < 3:
        return []
    top, distinct = max(numbers.values()), facts.distinct
    for nines, beside in _NINES:
        if top != nines:
            continue
        codes = {float(nines), *map(float, beside)}
        rest = sorted(n for n in set(numbers.values()) if n not in codes)
        if not rest:
            return []
        inside = sorted(n for n in set(numbers.values()) if n in codes)
        while inside and inside[0] <= rest[-1] + 1:  # touches the rest: a value like others
            inside.pop(0)
        gap = inside[0] - rest[-1] if inside else 0
        if nines == 9 and inside and (set(numbers.values()) == set(range(10)) or _counts_on(inside, rest[-1], numbers, facts)):
            return []  # 0 to 9, each of them: a count
        wide = gap >= 3 or (gap >= 2 and len(inside) > 1) if nines == 9 else gap >= 0.1 * nines
        alone = nines >= 9999 and distinct > 40 and len(inside) < 2 and not any(str(int(c)) in shared for c in inside)
        many = nines >= 99 and distinct > 40 and not any(str(int(c)) in shared for c in inside) and gap < 0.3 * nines
        picked = [v for v, n in numbers.items() if n in inside] if inside and wide and not many and not alone else []
        return picked if gap > 2 or _rare(picked, facts) else []
    return []


def _counts_on(inside: Sequence[float], last: float, numbers: dict[str, float], facts: ColumnFacts) -> bool:
    """Whether 8 and 9 go on counting: the name says how many, and each is rarer than the one before, as large families are."""
    topic = topic_of(facts.name)
    counts = {numbers[v]: int(n) for v, n in zip(facts.values, facts.counts, strict=True) if v in numbers}
    tail = [counts[n] for n in (last, *inside)]
    return topic is not None and topic.key in COUNTED and len(inside) > 1 and tail == sorted(tail, reverse=True)


def _rare(codes: Sequence[str], facts: ColumnFacts) -> bool:
    """Whether codes that nearly touch the rest are much rarer than the values there: an answer like others is not."""
    rest = sorted(n for v, n in facts.rows_with.items() if v not in codes)
    return bool(rest) and all(2 * facts.rows_with[v] < rest[len(rest) // 2] for v in codes)


@lru_cache(maxsize=CACHED)
def _number(text: str) -> float | None:
    """The number that a text says; infinite ones are none."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
