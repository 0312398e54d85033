"""Records of people in one spelling, and the count of what was changed on the way.

A field is named by its column, and has a kind that says what it means (:data:`KINDS`). Blank cells and words that stand for
nothing ("unknown") are missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import UsageError, check_choice
from shoal.find import checksums
from shoal.find.vocabulary import tagged, word_set
from shoal.kernels.text import canonical_text
from shoal.linkage import spelling

if TYPE_CHECKING:
    from numpy.typing import NDArray


PLACEHOLDERS = word_set("records", "placeholder")
"""Cells that stand for a missing value."""
HEADERS = tagged("records", "column")
"""Names of columns whose meaning is not in doubt, with the kind of their field."""
KINDS = ("given", "family", "name", "birth", "sex", "postcode", "phone", "email", "number", "text")
"""What a field may mean; ``name`` is a whole name, which is split, and ``number:bsn`` a number with its check digit."""

Column = Sequence[str | None]


@dataclass(frozen=True)
class Field:
    """A field of a record: the name of its column, what it means, and the check digit it carries."""

    name: str
    kind: str
    check: str = ""


@dataclass
class Changes:
    """What happened to the cells of one column: numbers only.

    ``respelled`` got another spelling, ``missing`` were blank, ``placeholders`` stood for nothing, ``unreadable`` fitted no form
    and are missing now, ``impossible`` are dates that do not exist, ``ambiguous`` dates whose day and month could be either, and
    ``wrong_check_digits`` numbers with a typing error; the last three are kept.
    """

    cells: int = 0
    respelled: int = 0
    missing: int = 0
    placeholders: int = 0
    unreadable: int = 0
    impossible: int = 0
    ambiguous: int = 0
    wrong_check_digits: int = 0

    def to_json(self) -> dict[str, int]:
        return asdict(self)

    def with_those(self, other: Changes) -> Changes:
        """The sum of the two."""
        return Changes(**{name: count + getattr(other, name) for name, count in asdict(self).items()})


@dataclass(frozen=True)
class Records:
    """Normal forms by field, None where missing; and the changes by column."""

    fields: tuple[Field, ...]
    values: Mapping[str, NDArray[np.object_]]
    changes: Mapping[str, Changes]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def __repr__(self) -> str:
        return f"<Records: {len(self)} of {len(self.fields)} fields>"

    def at(self, places: NDArray[np.int64]) -> Records:
        """The records at some places."""
        return Records(self.fields, {name: values[places] for name, values in self.values.items()}, self.changes)

    def joined(self, other: Records) -> Records:
        """These records and then the other's, which have the same fields."""
        values = {f.name: np.concatenate([self.values[f.name], other.values[f.name]]) for f in self.fields}
        return Records(self.fields, values, {name: seen.with_those(other.changes[name]) for name, seen in self.changes.items()})


def fields_of(given: Mapping[str, str], columns: Sequence[str] = ()) -> dict[str, Field]:
    """Fields by column, from words like ``{"dob": "birth", "id": "number:bsn"}``; without any, by well-known names of columns."""
    if not given:
        guessed = {c: HEADERS[h] for c in columns if (h := c.strip().lower().replace(" ", "_").replace("-", "_")) in HEADERS}
        if not guessed:
            raise UsageError("no column says by its name what it means.", hint="Name them: --fields COLUMN=KIND,…")
        return fields_of(guessed)
    fields = {}
    for column, word in given.items():
        kind, _, check = word.strip().partition(":")
        check_choice("kind of field", kind, KINDS)
        if check:
            check_choice("check digit", check, tuple(CHECK_DIGITS))
            if kind != "number":
                raise UsageError(f"a field of kind '{kind}' carries no check digit.", hint="Write number:bsn, say.")
        fields[column] = Field(column, kind, check)
    return fields


def records_of(columns: Mapping[str, Column], fields: Mapping[str, Field], *, month_first: bool | None = None) -> Records:
    """Columns of text as records in normal forms.

    ``month_first`` says how dates like 3/4/1980 are meant; without it, each column tells by its other dates.
    """
    values: dict[str, NDArray[np.object_]] = {}
    made: list[Field] = []
    changes: dict[str, Changes] = {}
    for column, field in fields.items():
        present, seen = _present(columns[column])
        changes[column] = seen
        if field.kind == "name":
            both = [(None, None) if text is None else spelling.whole_name(text) for text in present]
            for place, kind in enumerate(("given", "family")):
                made.append(Field(f"{column} ({kind})", kind))
                values[made[-1].name] = _array([pair[place] for pair in both])
            seen.unreadable += sum(t is not None and p == (None, None) for t, p in zip(present, both, strict=True))
            continue
        normal = _spell(present, field, seen, month_first)
        made.append(field)
        values[field.name] = _array(normal)
    return Records(tuple(made), values, changes)


def _present(column: Column) -> tuple[list[str | None], Changes]:
    """The cells that say something."""
    seen = Changes(cells=len(column))
    kept: list[str | None] = []
    for cell in column:
        text = "" if cell is None else cell.strip()
        placeholder = text.casefold() in PLACEHOLDERS
        seen.missing += not text
        seen.placeholders += placeholder
        kept.append(None if not text or placeholder else text)
    return kept, seen


def _spell(present: list[str | None], field: Field, seen: Changes, month_first: bool | None) -> list[str | None]:
    """The normal form of each cell; different cells are looked at once."""
    distinct = {text for text in present if text is not None}
    if field.kind == "birth":
        first = days_before_months(present) < 0 if month_first is None else month_first
        forms = {text: spelling.birth(text, month_first=first) for text in distinct}
    else:
        forms = {text: spelling.SPELLINGS[field.kind](text) for text in distinct}
    doubtful = {t for t in distinct if field.kind == "birth" and spelling.ambiguous(t)}
    impossible = {t for t, f in forms.items() if field.kind == "birth" and f is not None and not spelling.is_date(f)}
    wrong = {t for t, f in forms.items() if field.check and f is not None and not CHECK_DIGITS[field.check](f)}
    normal = [None if text is None else forms[text] for text in present]
    for text, form in zip(present, normal, strict=True):
        if text is not None:
            seen.unreadable += form is None
            seen.respelled += form is not None and form != text
            seen.ambiguous += text in doubtful
            seen.impossible += text in impossible
            seen.wrong_check_digits += text in wrong
    return normal


def days_before_months(cells: Column) -> int:
    """How many more dates show the day first than the month; below 0, dates like 3/4/1980 are of March."""
    return sum(spelling.day_or_month(text) for text in _present(cells)[0] if text is not None)


def _array(values: Sequence[str | None]) -> NDArray[np.object_]:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def text_columns(batches: Iterable[Any], columns: Sequence[str]) -> dict[str, list[str | None]]:
    """Columns of Arrow batches as lists of texts; whole numbers that a frame keeps as floats lose their ``.0``.

    >>> import pyarrow as pa
    >>> text_columns([pa.record_batch({"zip": pa.array([4011.0, None])})], ["zip"])
    {'zip': ['4011', None]}
    """
    import pyarrow as pa

    out: dict[str, list[str | None]] = {name: [] for name in columns}
    for batch in batches:
        for place, name in enumerate(columns):
            column = batch.column(place)
            texts = canonical_text(column).to_pylist()
            if pa.types.is_floating(column.type):
                texts = [None if t is None else t.removesuffix(".0") for t in texts]
            out[name].extend(texts)
    return out


def ahv(digits: str) -> bool:
    """Swiss insurance number: thirteen digits that begin with 756, check digit as in EAN-13.

    >>> ahv("7569217076985"), ahv("7569217076984"), ahv("1234567890128")
    (True, False, False)
    """
    if not re.fullmatch(r"756[0-9]{10}", digits):
        return False
    return sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


def luhn(digits: str) -> bool:
    """Luhn, of any length from two: insurance and card numbers, Swedish personal numbers.

    >>> luhn("79927398713"), luhn("79927398710"), luhn("0")
    (True, False, False)
    """
    if not re.fullmatch(r"[0-9]{2,}", digits):
        return False
    return sum(int(d) if i % 2 == 0 else int(d) * 2 - 9 * (d > "4") for i, d in enumerate(reversed(digits))) % 10 == 0


def ssn(digits: str) -> bool:
    """American social security number: no check digit, but areas 000, 666 and 900 on, group 00 and serial 0000 are never given.

    >>> ssn("078051120"), ssn("666051120"), ssn("900051120"), ssn("078001120"), ssn("078050000")
    (True, False, False, False, False)
    """
    return bool(re.fullmatch(r"(?!000|666|9)[0-9]{3}(?!00)[0-9]{2}(?!0000)[0-9]{4}", digits))


CHECK_DIGITS: dict[str, Callable[[str], bool]] = {
    "ahv": ahv,
    "bsn": checksums.bsn,
    "cpf": checksums.cpf,
    "dni": checksums.dni,
    "fiscale": checksums.codice_fiscale,
    "luhn": luhn,
    "nhs": checksums.nhs,
    "nir": checksums.nir,
    "ssn": ssn,
}
