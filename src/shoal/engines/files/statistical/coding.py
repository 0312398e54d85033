"""Texts as codes with labels, for SPSS and Stata: new groups, and numbers with codes and suppressed cells among them.

Groups get codes 1, 2 … in their order. Numbers of the source stay what they were; what is not a number (``*``, a lettered
missing value) gets a code of its own behind them, with a label: in Stata a letter (``.z``), in SPSS a number declared missing.
The same holds of ``*`` and letters among groups.
A code that the source declares missing is never given to anything else; in Stata it is a letter too.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from shoal.kernels.codes import code_text, group_label, is_declared, label_texts, number_ranges
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED
from shoal.model.roles import NUMBERS, Column

Package = Literal["spss", "stata"]
MAX_LABELS = 1000
MOST_DECLARED = 3
"""Values that SPSS can declare missing one by one; beside a range, one."""
LONGEST_DECLARED = 8
"""Bytes of a text that SPSS can declare missing."""
LONGEST_LABEL = 120
"""Bytes of a value label that SPSS can show."""

_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?", re.ASCII)
_IN_LABEL = re.compile(r"[-−]?[0-9]+(?:[.,][0-9]+)?")


@dataclass(frozen=True)
class Coded:
    """The cells of a column as numbers (None: missing; a letter in Stata), their labels, and what is declared missing.

    ``texts`` are what the codes stand for in the release, where that is another text than the code.
    """

    cells: list[Any]
    labels: dict[Any, str]
    declared: tuple[object, ...] = ()
    letters: tuple[str, ...] = field(default=())
    texts: Mapping[str, str] = field(default_factory=dict)


def coded(values: Any, column: Column, package: Package) -> Coded | None:
    """A text column as codes; None where it is best left as text (no groups and no numbers, too many or too large ones)."""
    texts = canonical_text(values).to_pylist()
    there = {t for t in texts if t is not None}
    if column.coded and any(_NUMBER.fullmatch(t) and abs(float(t)) > 2.0**53 for t in there):
        return None  # whole numbers that no double has: two would become one
    if column.coded:
        codes, labels, declared = _numbers(there, column, package)
    elif column.grouped and len(there) <= MAX_LABELS:
        codes, labels, declared = _groups(there, column, package)
    else:
        return None
    letters = tuple(sorted({c for c in codes.values() if isinstance(c, str)}))
    return Coded([None if t is None else codes[t] for t in texts], labels, declared, letters, _stands_for(codes))


def _stands_for(codes: Mapping[str, Any]) -> dict[str, str]:
    """The texts by their code as readers see it: ``.a`` for a letter."""
    seen = {f".{c}" if isinstance(c, str) else code_text(c, "integer"): t for t, c in codes.items()}
    return {code: text for code, text in seen.items() if code != text}


def lettered(values: Any, column: Column, coded: Coded | None) -> Coded | None:
    """For Stata, which declares no number missing: the declared codes that occur as letters, ``.a`` for the lowest.

    A letter without a label gets the code as its label. More codes than letters stay numbers.
    """
    if not number_ranges(column.user_missing) or (coded is None and column.kind not in NUMBERS):
        return coded
    cells = coded.cells if coded is not None else values.to_pylist()
    used = set(coded.letters) if coded is not None else set[str]()
    codes = sorted({c for c in cells if c is not None and not isinstance(c, str) and is_declared(c, column.user_missing)})
    free = [letter for letter in string.ascii_lowercase if letter not in used]
    if not codes or len(codes) > len(free):
        return coded
    letters = dict(zip(codes, free, strict=False))
    labels = dict(coded.labels if coded is not None else column.labels)
    for code, letter in letters.items():
        labels[letter] = labels.pop(code, code_text(code, "integer"))
    labels = {v: label for v, label in labels.items() if isinstance(v, str) or not is_declared(v, column.user_missing)}
    texts = dict(coded.texts if coded is not None else {})
    for code, letter in letters.items():
        own = code_text(code, "integer")
        texts[f".{letter}"] = texts.pop(own, own)
    return Coded([letters.get(c, c) for c in cells], labels, (), tuple(sorted({*used, *letters.values()})), texts)


def of_texts(values: Any, column: Column, hidden: bool) -> tuple[dict[Any, str], tuple[object, ...]]:
    """For SPSS, labels and declared values of a column that stays text: numbers among them by their text, ``*`` where values
    may be ``hidden``. Texts of more than eight bytes, or more than three, cannot be declared."""
    labels: dict[Any, str] = dict(label_texts(column))
    coded = bool(labels or column.user_missing)
    there = (
        set(canonical_text(values).unique().to_pylist()) if coded and (hidden or number_ranges(column.user_missing)) else set()
    )
    declared = {d for d in column.user_missing if isinstance(d, str)}
    declared |= {t for t in there if t is not None and is_declared(t, column.user_missing)}
    if hidden and SUPPRESSED in there and len(declared) < MOST_DECLARED:
        declared.add(SUPPRESSED)
    fits = len(declared) <= MOST_DECLARED and all(len(t.encode()) <= LONGEST_DECLARED for t in declared)
    return labels, tuple(sorted(declared)) if fits else ()


def _groups(texts: set[str], column: Column, package: Package) -> tuple[dict[str, Any], dict[Any, str], tuple[object, ...]]:
    """1, 2 … in the order of the groups; codes declared missing as they were, hidden values behind all."""
    named = label_texts(column)
    codes: dict[str, Any] = {}
    labels: dict[Any, str] = {}
    number = 0
    numbered = {float(v): label for v, label in column.labels.items() if isinstance(v, int | float)}
    hidden = {t for t in texts if t == SUPPRESSED or (_is_letter(t) and t in column.user_missing)}
    for text in in_order(texts - hidden, column.order):
        if is_declared(text, column.user_missing) and _NUMBER.fullmatch(text):
            codes[text] = _plain(float(text))
            if float(text) in numbered:  # 99999.0 of a column with decimals is the code 99999
                labels[codes[text]] = numbered[float(text)]
            continue
        number += 1
        while is_declared(number, column.user_missing):
            number += 1
        codes[text], labels[number] = number, _label(text, named, package)
    twice = {label for label, n in Counter(labels.values()).items() if n > 1}
    labels |= {codes[t]: t for t in codes if t not in named and labels.get(codes[t]) in twice}
    return codes, labels, _add_others(hidden, codes, labels, column, package)


def _label(text: str, named: Mapping[str, str], package: Package) -> str:
    """The label of a group by the labels of its codes; by its codes if they have none, or if SPSS cannot hold it."""
    label = group_label(text, named)
    return label if label and (package != "spss" or len(label.encode()) <= LONGEST_LABEL) else named.get(text, text)


def _numbers(texts: set[str], column: Column, package: Package) -> tuple[dict[str, Any], dict[Any, str], tuple[object, ...]]:
    """Numbers as they were; each other text with a code of its own."""
    codes: dict[str, Any] = {t: _plain(float(t)) for t in texts if _NUMBER.fullmatch(t)}
    labels: dict[Any, str] = {v: label for v, label in column.labels.items() if not isinstance(v, str)}
    return codes, labels, _add_others(texts - set(codes), codes, labels, column, package)


def _add_others(
    texts: set[str], codes: dict[str, Any], labels: dict[Any, str], column: Column, package: Package
) -> tuple[object, ...]:
    """Codes and labels for texts that are not numbers, behind those that are; what is then declared missing."""
    others = sorted(texts, key=lambda t: (t == SUPPRESSED, _is_letter(t), t))
    named = label_texts(column)
    free = _free(codes.values(), labels, column.user_missing)
    used = {t[1:] for t in others if _is_letter(t)}
    letters = iter([c for c in reversed(string.ascii_lowercase) if c not in used])
    hidden: list[int] = []
    for text in others:
        if package == "stata" and _is_letter(text):
            code: Any = text[1:]
        elif package == "stata" and text == SUPPRESSED:
            code = next(letters)
        else:
            code, free = free, free + 1
            if text == SUPPRESSED or _is_letter(text):
                hidden.append(code)
        codes[text] = code
        if not (package == "stata" and _is_letter(text)) or text in named:
            labels[code] = named.get(text, text)
    return _declared([d for d in column.user_missing if not isinstance(d, str)], hidden)


def _declared(own: Sequence[object], hidden: Sequence[int]) -> tuple[object, ...]:
    """The codes of the source and those of hidden values, which follow each other, as far as SPSS can declare them missing.

    >>> _declared([-9], [6, 7]), _declared([-9], [6, 7, 8]), _declared([(90, 99)], [100, 101])
    ((-9, 6, 7), (-9, (6, 8)), ((90, 99), 100))
    """
    plain = not any(isinstance(d, tuple) for d in own)
    if plain and len(own) <= 1 and len(own) + len(hidden) > MOST_DECLARED:
        return (*own, (hidden[0], hidden[-1]))
    return (*own, *hidden[: room_left(own)])


def room_left(declared: Sequence[object]) -> int:
    """How many more values SPSS can declare missing one by one."""
    most = 2 if any(isinstance(d, tuple) for d in declared) else MOST_DECLARED
    return max(0, most - len(declared))


def _is_letter(text: str) -> bool:
    return len(text) == 2 and text[0] == "." and text[1] in string.ascii_lowercase


def _free(values: Iterable[Any], labels: Mapping[Any, str], declared: Sequence[object]) -> int:
    """The first whole number above every value, labelled value and declared code; never inside a declared range."""
    ends = [high for _, high in number_ranges(declared) if abs(high) < 1e15]
    free = int(max([0.0, *map(float, values), *(float(v) for v in labels if isinstance(v, int | float)), *ends])) + 1
    if any(low <= free <= high for low, high in number_ranges(declared)):  # a range without an upper end
        free = int(min([0.0, *map(float, values), *(low for low, _ in number_ranges(declared))])) - 1_000_000
    return free


def _plain(number: float) -> Any:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def in_order(texts: Iterable[str], order: Sequence[str] = ()) -> list[str]:
    """Labels of groups from low to high: in the order known, else by the first number in them; what joins the rest comes last.

    >>> in_order(["85+", "20-29", "<20", "*", "(other)", "unknown", "-9"])
    ['-9', '<20', '20-29', '85+', 'unknown', '(other)', '*']
    """
    place = {t: i for i, t in enumerate(order)}

    def key(text: str) -> tuple[int, float, int, str]:
        if text == SUPPRESSED or (text.startswith("(") and text not in place):
            return (4 if text == SUPPRESSED else 3), 0.0, 0, text
        if text in place:
            return 0, float(place[text]), 0, text
        match = _IN_LABEL.search(text)
        if match is None:
            return 2, 0.0, 0, text
        before = text[: match.start()].strip()
        side = -1 if before.endswith(("<", "≤")) else 1 if text.endswith("+") or before.endswith((">", "≥")) else 0
        return 1, float(match.group().replace("−", "-").replace(",", ".")), side, text

    return sorted(texts, key=key)
