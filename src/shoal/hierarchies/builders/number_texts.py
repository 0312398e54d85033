"""Bands written as text (``[0-10)``, ``25 to 34``, ``<18``, ``85+``): where they lie, and the text of several joined."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from shoal.hierarchies.builders.numbers import Intervals, interval_labels, number_bands, number_text
from shoal.hierarchies.rule import Generalize, Rule, register_rule
from shoal.hierarchies.values import unlike
from shoal.kernels.text import Pattern, word_lists
from shoal.model.plan import Step

_NUMBER = r"-?\d+(?:[,' ]\d{3})*(?:\.\d+)?"
_MONEY = r"\s*[$€£]?\s*"
_WORDS = word_lists(Path(__file__).parents[1] / "data" / "bands.txt")


def band_words(*sections: str) -> str:
    """A pattern of the words of bands: ``under``, ``up to``, ``over``, ``from``, ``to``, ``or more``."""
    return "|".join(re.escape(word.replace("_", " ")) for section in sections for word in _WORDS[section])


_BELOW_WORDS = rf"(?:<=?|≤|{band_words('under', 'up to')})"
_FROM_WORDS = rf"(?:>=?|≥|{band_words('over', 'from')})"
_BETWEEN = Pattern(
    rf"(?P<before>[\[(]?{_MONEY})(?P<low>{_NUMBER})"
    rf"(?P<middle>\s*[^\d,.<>-]{{0,8}}(?:\s*[-–—,;:]\s*|\s(?:{band_words('to')})\s){_MONEY})"
    rf"(?P<high>{_NUMBER})(?P<after>\s*[^\d]{{0,12}})"
)
_BELOW = Pattern(rf"(?P<before>{_BELOW_WORDS}{_MONEY})(?P<high>{_NUMBER})(?P<after>[^\d]{{0,12}})", re.IGNORECASE)
_FROM = Pattern(rf"(?P<before>(?:{_FROM_WORDS})?{_MONEY})(?P<low>{_NUMBER})(?P<after>\s*[^\d]{{0,24}})", re.IGNORECASE)
_OPEN_WORDS = Pattern(rf"\+|up$|{band_words('or more')}", re.IGNORECASE)


@dataclass(frozen=True)
class Band:
    """A band as it is written: its ends (None: open) and the pieces of text around them."""

    low: float | None
    high: float | None
    text: str
    low_text: str = ""
    high_text: str = ""
    before: str = ""
    middle: str = ""
    after: str = ""


def band_of(text: str) -> Band | None:
    """The band that a text writes; None where it writes none.

    >>> band_of("[40-50)").low, band_of("<18").high, band_of("85+").low, band_of("$10,000 - $14,999").high
    (40.0, 18.0, 85.0, 14999.0)
    >>> band_of("blue") is None, band_of("42") is None
    (True, True)
    """
    plain = text.strip()
    if match := _BETWEEN.fullmatch(plain):
        low, high = _value(match["low"]), _value(match["high"])
        if low <= high:
            return Band(low, high, plain, match["low"], match["high"], match["before"], match["middle"], match["after"])
        return None
    if match := _BELOW.fullmatch(plain):
        return Band(None, _value(match["high"]), plain, "", match["high"], match["before"], "", match["after"])
    match = _FROM.fullmatch(plain)
    if match and (match["before"].strip("$€£ ") or _OPEN_WORDS.search(match["after"])):
        return Band(_value(match["low"]), None, plain, match["low"], "", match["before"], "", match["after"])
    return None


def bands_in_order(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts from low to high, where each is a band or a number, two at least are bands, and none lies across another.

    >>> bands_in_order(["[10-20)", "[0-10)", "[20-30)"]), bands_in_order(["1", "2"]), bands_in_order(["0-9", "5-20"])
    (('[0-10)', '[10-20)', '[20-30)'), (), ())
    """
    placed: list[tuple[float, float, str]] = []
    bands = 0
    for text in texts:
        band = band_of(text)
        if band is not None:
            bands += 1
            low = float("-inf") if band.low is None else band.low
            placed.append((low, float("inf") if band.high is None else band.high, text))
        elif re.fullmatch(_NUMBER, text.strip()):
            placed.append((_value(text.strip()), _value(text.strip()), text))
        else:
            return ()
    placed.sort()
    across = any(a[1] > b[0] or a[:2] == b[:2] for a, b in pairwise(placed))
    return () if bands < 2 or across else tuple(t for _, _, t in placed)


def joined(texts: Sequence[str]) -> str:
    """The text of neighbours joined, in the manner in which they are written.

    >>> joined(["[0-10)", "[10-20)"]), joined(["20-29", "30-39", "40-49"]), joined(["80-84", "85+"]), joined(["<20", "20-29"])
    ('[0-20)', '20-49', '80+', 'up to 29')
    >>> joined(["low"]), joined(["low", "medium"]), joined(["Jan", "Feb", "Mar"]), joined(["1", "2", "3"]), joined(["3", "1"])
    ('low', 'low to medium', 'Jan to Mar', '1-3', '3 to 1')
    """
    first, last = texts[0], texts[-1]
    if len(texts) == 1:
        return first
    if all(map(str.isdecimal, texts)) and all(int(a) < int(b) for a, b in pairwise(texts)):
        return f"{first}-{last}"
    a, b = band_of(first), band_of(last)
    if a is None or b is None:
        return f"{first} to {last}"
    if a.low is not None and b.high is not None:
        return f"{a.before}{a.low_text}{a.middle or b.middle}{b.high_text}{b.after}"
    if a.low is not None:
        return f"{b.before}{a.low_text}{b.after}"
    if b.high is not None:
        half_open = b.after.strip().endswith((")", "["))
        return f"{a.before}{b.high_text}{a.after}" if half_open else f"up to {b.high_text}"
    return f"{first} to {last}"


def _value(text: str) -> float:
    return float(re.sub(r"[,' ](?=\d{3})", "", text))


SHARE = 0.95
"""Share of different texts that must be numbers in one spelling."""
GROUP = 3
"""Digits between two marks of thousands."""
FAR = 2
"""How many times as large a number without a mark must be to tell that marks stand between thousands."""
_AMOUNT = re.compile(r"[$€£¥₹]|\b(?:chf|eur|usd|gbp|euros?|dollars?)\b")
_WRITTEN = re.compile(
    r"(?P<open>\()?(?P<minus>[-−])?(?P<before>[^\d\s().,−-][^\d().,−-]*)?(?P<inner>[-−])?"
    r"(?P<digits>\d[\d.,'’ \u00a0\u202f]*\d|\d)(?P<after>\s*[^\d\s()][^\d()]*)?(?P<close>\))?"
)


@dataclass(frozen=True)
class Spelling:
    """How the numbers of a column are written: what stands before and behind them, and their marks."""

    before: str = ""
    after: str = ""
    thousands: str = ""
    decimal: str = "."

    @classmethod
    def of(cls, texts: Sequence[str]) -> Spelling | None:
        """The spelling that at least :data:`SHARE` of the texts have; None where there is none or the marks are ambiguous.

        >>> Spelling.of(["$1,250.00", "$980.50", "$12,000.00"])
        Spelling(before='$', after='', thousands=',', decimal='.')
        >>> Spelling.of(["1.250 €", "980 €", "12.000 €"])
        Spelling(before='', after=' €', thousands='.', decimal=',')
        >>> Spelling.of(["3.250 kg", "4 kg"]) is None
        True
        """
        matches = [m for t in texts if (m := _WRITTEN.fullmatch(t.strip())) is not None]
        around = Counter((m["before"] or "", (m["after"] or "").rstrip()) for m in matches)
        if not around:
            return None
        (before, after), _ = around.most_common(1)[0]
        alike = [m["digits"] for m in matches if _same(m["before"], before) and _same(m["after"], after)]
        marks = _marks(alike, before + after)
        spelling = cls(before, after, *marks) if marks else None
        read = sum(spelling.number(t) is not None for t in texts) if spelling else 0
        return spelling if read >= SHARE * len(texts) else None

    def number(self, text: str) -> str | None:
        """A text as a plain number; None where it is none in this spelling.

        >>> Spelling("$", "", ",").number("($1,250.50)"), Spelling("$", "", ",").number("$12,50"), Spelling("", "%").number("-3%")
        ('-1250.50', None, '-3')
        """
        match = _WRITTEN.fullmatch(text.strip())
        if match is None or not (_same(match["before"], self.before) and _same(match["after"], self.after)):
            return None
        if bool(match["open"]) != bool(match["close"]) or sum(map(bool, (match["open"], match["minus"], match["inner"]))) > 1:
            return None
        whole, mark, part = match["digits"].partition(self.decimal)
        mark_of_thousands = re.escape(self.thousands) if self.thousands else "(?!)"
        if not re.fullmatch(rf"\d+|\d{{1,3}}(?:{mark_of_thousands}\d{{{GROUP}}})+", whole) or (mark and not part.isdigit()):
            return None
        plain = (whole.replace(self.thousands, "") if self.thousands else whole) + ("." + part if mark else "")
        negative = match["open"] or match["minus"] or match["inner"]
        return f"-{plain}" if negative and plain.strip("0.") else plain

    def text(self, number: float) -> str:
        """A number as the column writes it, without a unit that stands apart: a label has it once, at its end.

        >>> Spelling("$", "", ",").text(-1250), Spelling("", "%", "", ",").text(2.5), Spelling("", " kg").text(60)
        ('-$1,250', '2,5%', '60')
        """
        whole, _, part = number_text(abs(number)).partition(".")
        if self.thousands and whole.isdigit():
            whole = f"{int(whole):,}".replace(",", self.thousands)
        sign = "-" if number < 0 else ""
        return sign + self.before + whole + (self.decimal + part if part else "") + ("" if self.unit else self.after)

    @property
    def unit(self) -> str:
        """What stands behind the number, where it is a word or stands apart."""
        return self.after if self.after[:1].isspace() or self.after[:1].isalpha() else ""


def _same(one: str | None, other: str) -> bool:
    return (one or "").strip().lower() == other.strip().lower()


def _marks(digits: Sequence[str], sign: str) -> tuple[str, str] | None:
    """The marks of thousands and of decimals; None where they contradict one another or cannot be distinguished."""
    thousands, decimals, doubtful = set(), set(), []
    for text in digits:
        marks = re.findall(r"[^\d]", text)
        if not marks:
            continue
        parts = re.split(r"[^\d]", text)
        last = marks[-1]
        if len(set(marks)) > 1:  # 1,234.50
            thousands |= set(marks[:-1])
            decimals.add(last)
        elif len(marks) > 1 or last not in ".,":  # 1,234,567; 1'234
            thousands.add(last)
        elif len(parts[-1]) != GROUP or parts[0].startswith("0") or len(parts[0]) > GROUP:
            decimals.add(last)
        else:
            doubtful.append(text)
    unsure = {re.findall(r"[^\d]", t)[0] for t in doubtful} - thousands - decimals
    if unsure and (decimals or _thousands(doubtful, digits, sign)):
        thousands |= unsure
    elif unsure:
        return None
    if thousands & decimals or len(thousands) > 1 or len(decimals) > 1:
        return None
    mark = next(iter(thousands), "")
    return mark, next(iter(decimals), "," if mark == "." else ".")


def _thousands(doubtful: Sequence[str], digits: Sequence[str], sign: str) -> bool:
    """Whether the mark of 1,250 or 1.250 stands between thousands.

    So it is in amounts of money, which have no three decimals; where every number has the mark (a band is then true in both
    readings); and where a number without it is far larger than all of them are when the mark is read as that of decimals.
    """
    plain = [int(t) for t in digits if t.isdigit()]
    if _AMOUNT.search(sign.lower()) or not plain:
        return True
    return max(plain) > FAR * max(float(re.sub(r"[^\d]", ".", t)) for t in doubtful)


@register_rule
@dataclass(frozen=True)
class Written(Rule):
    """The levels of ``bands`` (as JSON text) for numbers written in one spelling, with labels in that spelling.

    >>> rule = Written.of("wage", [f"${n},250.00" for n in range(1, 41)], [5] * 40, 5)
    >>> rule.over("wage", ["$1,250.00", "$12,250.00", "none"]).levels[1].labels
    ('<$4,000', '$12,000-$13,999', '(other)')
    """

    bands: str = ""
    before: str = ""
    after: str = ""
    thousands: str = ""
    decimal: str = "."
    other: str = "(other)"
    kind: ClassVar[str] = "written"

    @classmethod
    def of(cls, column: str, texts: Sequence[str], counts: Any, k: int) -> Rule | None:
        """The rule of texts that are numbers in one spelling; None where they are not."""
        spelling = Spelling.of(texts)
        if spelling is None:
            return None
        read = [spelling.number(t) for t in texts]
        numbers = [n for n in read if n is not None]
        sizes = np.asarray(counts)[[n is not None for n in read]]
        plain, places = np.unique(np.array([float(n) for n in numbers]), return_inverse=True)
        rule = number_bands(column, [number_text(x) for x in plain], np.bincount(places, weights=sizes).astype(np.int64), k)
        if not isinstance(rule, Intervals):
            return None
        rest = len(texts) - len(numbers)
        why = rule.why.replace("numbers:", f"numbers written with {spelling.before}{spelling.after}".strip() + ":", 1)
        why = why if spelling.before + spelling.after else rule.why
        why += f"; {rest} texts in another form as (other)" if rest else ""
        bands = json.dumps(rule.to_json(), ensure_ascii=False, sort_keys=True)
        spelled = (spelling.before, spelling.after, spelling.thousands, spelling.decimal)
        return cls(bands, *spelled, other=unlike("(other)", texts), why=why, on_text=True)

    @cached_property
    def _bands(self) -> Intervals:
        return Intervals._from_fields(json.loads(self.bands))

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling(self.before, self.after, self.thousands, self.decimal)

    @property
    def inner(self) -> int:
        return self._bands.inner

    def labels(self, column: str, texts: Sequence[str], level: int) -> list[str | None]:
        points = self._bands.points(level)
        whole = bool(self._bands.integer) and all(float(p).is_integer() for p in points)
        spell: Callable[[float], str] = self._spelling.text
        shown = [label + self._spelling.unit for label in interval_labels(points, integer=whole, text=spell)]
        read = [self._spelling.number(t) for t in texts]
        at = np.searchsorted(np.asarray(points), [math.nan if n is None else float(n) for n in read], side="right")
        return [self.other if n is None else shown[i] for n, i in zip(read, at, strict=True)]

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Step:
        return Generalize.of(column, self, level, missing_label=missing_label)
