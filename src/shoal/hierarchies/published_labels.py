"""What a published label stands for: the original values under ``20-29``, ``85+``, ``12**``, ``{a, b}``, ``*`` or a level's name.

Takes    the values of a column as text (and as numbers, where they are), the labels of a release, levels that may have made them
Returns  for each label the positions of the values it stands for; None where it cannot be read
Keeps    a value stands for itself; ``*`` for every value, the missing one too; nothing is guessed from how often labels occur
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.hierarchies.builders.number_texts import band_of, band_words
from shoal.kernels.text import Pattern
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import SUPPRESSED

REST = ("(other)", "other", "others", "(rest)", "rest")
"""Labels of the values that no other label stands for, where no level says more."""
_RANGE = Pattern(r"(.+?)\.\.(.+)", re.DOTALL)
_OPEN_LOW = Pattern(r"\s*[(\]]")
_STRICT_BELOW = Pattern(rf"\s*(<(?!=)|{band_words('under')})", re.IGNORECASE)
_STRICT_ABOVE = Pattern(rf"\s*(>(?!=)|{band_words('over')})", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a column: ``texts`` in their order, ``numbers`` where they are numbers, ``years`` where they are dates.

    ``missing`` says whether some records have no value: it is then a value of its own, behind the others.
    """

    texts: Sequence[str]
    numbers: FloatArray | None = None
    years: IntArray | None = None
    missing: bool = False
    place: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", {text: i for i, text in enumerate(self.texts)})

    @property
    def everything(self) -> IntArray:
        return np.arange(len(self.texts) + self.missing)


def read_labels(values: Values, labels: Sequence[str], levels: Sequence[Hierarchy] = ()) -> list[IntArray | None]:
    """The values under each label; levels are asked first, then the way the label is written.

    >>> v = Values(["18", "25", "31", "90"], np.array([18.0, 25.0, 31.0, 90.0]))
    >>> [x.tolist() for x in read_labels(v, ["25", "20-39", "85+", "<30", "*"])]
    [[1], [1, 2], [3], [0, 1], [0, 1, 2, 3]]
    >>> read_labels(v, ["blue"])
    [None]
    """
    known = _level_labels(values, labels, levels)
    out = [known[label] if label in known else _read_written(values, label) for label in labels]
    unread = [i for i, meaning in enumerate(out) if meaning is None and labels[i].strip().lower() in REST]
    if len(unread) == 1 and sum(meaning is None for meaning in out) == 1:
        taken = np.concatenate([f for f in out if f is not None and len(f) < len(values.everything)] or [np.zeros(0, np.int64)])
        left = np.setdiff1d(np.arange(len(values.texts)), taken)
        out[unread[0]] = left if len(left) else None
    return out


def _level_labels(values: Values, labels: Sequence[str], levels: Sequence[Hierarchy]) -> dict[str, IntArray]:
    """Labels that are the value itself, everything, or the name of a group at some level.

    A name that several levels give to different groups, as ``(other)``, stands for all of them: that is true at every level.
    """
    wanted = set(labels)
    own = {label: np.array([values.place[label]]) for label in wanted if label in values.place}
    if SUPPRESSED not in values.place:
        own[SUPPRESSED] = values.everything
    out: dict[str, IntArray] = {}
    for tree in levels:
        leaf = np.array([values.place.get(text, -1) for text in tree.leaves], dtype=np.int64)
        for level in tree.levels[1:]:
            for group, label in enumerate(level.labels):
                if label in wanted and label not in own:
                    inside = leaf[level.groups == group]
                    out[label] = np.union1d(out.get(label, np.zeros(0, np.int64)), inside[inside >= 0])
        own |= {
            label: inside for label, inside in out.items() if len(inside)
        }  # the first tree that knows a label says what it is
    return own


def _read_written(values: Values, label: str) -> IntArray | None:
    """The values by the way a label is written: a number, a set, a range, a masked code, a band."""
    number = _number(values, label)
    if number is None and label.startswith("{") and label.endswith("}"):
        number = _set(values, label[1:-1])
    if number is None and (ends := _RANGE.fullmatch(label)) is not None:
        number = _range(values, *ends.groups())
    if number is None and label.rstrip("*") and label.endswith("*"):
        number = _prefix(values, label)
    if number is None:
        number = _band(values, label)
    return number if number is not None and len(number) else None


def _number(values: Values, label: str) -> IntArray | None:
    if values.numbers is None or values.years is not None:
        return None
    try:
        return np.flatnonzero(values.numbers == float(label))
    except ValueError:
        return None


def _set(values: Values, inner: str) -> IntArray | None:
    """``a, b, missing``: every part must be a value, or a range of values."""
    parts: list[IntArray] = []
    for text in inner.split(", "):
        ends = _RANGE.fullmatch(text)
        one = np.array([values.place[text]]) if text in values.place else None
        if one is None and text == "missing" and values.missing:
            one = np.array([len(values.texts)])
        if one is None and ends is not None:
            one = _range(values, *ends.groups())
        if one is None:
            return None
        parts.append(one)
    return np.unique(np.concatenate(parts))


def _range(values: Values, low: str, high: str) -> IntArray | None:
    a, b = values.place.get(low), values.place.get(high)
    return None if a is None or b is None or a > b else np.arange(a, b + 1)


def _prefix(values: Values, label: str) -> IntArray:
    """``12**``: codes of that length; ``12*``: any length from there, where no code has the length of the label."""
    stem = label.rstrip("*")
    inside = [i for i, text in enumerate(values.texts) if text.startswith(stem)]
    exact = [i for i in inside if len(values.texts[i]) == len(label)]
    return np.array(exact or inside, dtype=np.int64)


def _band(values: Values, label: str) -> IntArray | None:
    band = band_of(label)
    if band is None:
        return None
    axis = values.years.astype(np.float64) if values.years is not None else values.numbers
    if axis is None:
        return None
    low = -math.inf if band.low is None else band.low
    high = math.inf if band.high is None else band.high
    open_low = bool(_STRICT_ABOVE.match(label)) if band.high is None else bool(_OPEN_LOW.match(band.before))
    half_open = band.after.strip()[:1] in (")", "[")
    open_high = bool(_STRICT_BELOW.match(label)) if band.low is None else half_open
    inside = (axis > low if open_low else axis >= low) & (axis < high if open_high else axis <= high)
    return np.flatnonzero(inside)
