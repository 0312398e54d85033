"""Values that number rows, people or things: long codes, consecutive numbers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from shoal.find.finding import ColumnFacts, Scale
from shoal.find.identifiers import rounded, spread
from shoal.find.name_words import raw_words
from shoal.find.roles.decision import FEWEST_ROWS, ColumnView, Decision
from shoal.find.topics import BY_KEY, expanded
from shoal.find.vocabulary import sections, word_set
from shoal.model.roles import Role

UNEVEN, VERY_UNEVEN, WIDE_GAP = 2.2, 0.15, 0.15
"""Distance from even spread (times the root of their number) that numbers given out in turn pass once in 8,000 tables; distance
that only amounts have; share of the range that lies empty between two blocks of numbers."""
SEVERAL = 3
"""Columns of whole numbers without a repetition from which a table holds amounts, not as many keys."""
BLOCK_FROM, BLOCK_WIDTH = 100_000, 20
"""The smallest number of a block, and its width for each number that is used: amounts are spread wider, or begin lower."""
PANEL = 50
"""Different numbers from which it is not a coincidence that all are in equally many rows."""
SHORTEST_HASH = 10_000_000
"""Size from which numbers with a sign may be hashes."""
LONG, MANY, SAME = 9, 20, 0.95
"""Signs, different values and share of one shape from which codes are keys, however often they repeat."""


def one_shape(facts: ColumnFacts) -> bool:
    """Whether nearly all values have digits and letters at the same places."""
    looked = spread(facts.values, 500)
    shapes = Counter(re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", v)) for v in looked)
    return shapes.most_common(1)[0][1] >= SAME * len(looked)


def long_key(facts: ColumnFacts) -> bool:
    """Long codes of one shape, mostly digits and not round: numbers of people, cards or telephones that repeat.

    >>> import numpy as np
    >>> calls = [f"4179{n * 7919 % 10**7:07d}" for n in range(1, 31)]
    >>> long_key(ColumnFacts("a", "integer", calls, np.full(30, 50), 1500))
    True
    """
    if facts.distinct < MANY or facts.kind not in ("text", "integer") or not one_shape(facts):
        return False
    looked = spread(facts.values, 500)
    digits = min(sum(c.isdigit() for c in v) for v in looked)
    return min(map(len, looked)) >= LONG and digits >= LONG - 3 and not rounded(facts)


def drawn_key(facts: ColumnFacts) -> bool:
    """Codes of one length with letters and digits at any place, as they are drawn for people: they repeat where people do.

    >>> import numpy as np
    >>> counted = [f"AB{1000 + n}" for n in range(30)]
    >>> drawn_key(ColumnFacts("a", "text", counted, np.full(30, 50), 1500))
    False
    >>> drawn = [f"{n * 281474976710597 * 7919 % 16**12:012x}" for n in range(1, 31)]
    >>> drawn_key(ColumnFacts("a", "text", drawn, np.full(30, 50), 1500))
    True
    """
    if facts.kind != "text" or facts.distinct < MANY:
        return False
    looked = spread(facts.values, 500)
    mixed = sum(v.isalnum() and any(map(str.isdigit, v)) and any(map(str.isalpha, v)) for v in looked)
    return (
        len(set(map(len, looked))) == 1 and len(looked[0]) >= LONG + 1 and mixed >= SAME * len(looked) and not _has_shape(looked)
    )


def _has_shape(looked: Sequence[str]) -> bool:
    """Whether letters and digits stand at the same places in more than a tenth of the codes."""
    shapes = Counter(re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", v)) for v in looked)
    return 10 * shapes.most_common(1)[0][1] > len(looked)


def equally_often(facts: ColumnFacts) -> bool:
    """Many whole numbers with gaps between them, each in equally many rows: people who were all asked as often.

    >>> import numpy as np
    >>> equally_often(ColumnFacts("nr", "integer", [str(13 + 4 * i) for i in range(60)], np.full(60, 8), 480))
    True
    >>> equally_often(ColumnFacts("item", "integer", [str(1 + i) for i in range(60)], np.full(60, 8), 480))
    False
    """
    numbers = facts.numbers
    if numbers is None or not facts.whole or not facts.distinct == len(facts.counts) >= PANEL or below_zero(facts):
        return False
    gaps = float(np.max(numbers) - np.min(numbers)) + 1 > facts.distinct
    return gaps and int(np.min(facts.counts)) == int(np.max(facts.counts)) > 1 and not rounded(facts)


def below_zero(facts: ColumnFacts) -> bool:
    """Whether some numbers lie below 0, as none does that is given to somebody; hashes with a sign are longer."""
    numbers = facts.numbers
    return numbers is not None and facts.low < 0 and float(np.max(np.abs(numbers))) < SHORTEST_HASH


def in_a_block(facts: ColumnFacts) -> bool:
    """Whole numbers of at least six digits that lie close together, far from 0: given out in turn, also where they repeat.

    >>> import numpy as np
    >>> given = [str(500_000 + 3 * i) for i in range(40)]
    >>> in_a_block(ColumnFacts("x", "integer", given, np.full(40, 2), 80))
    True
    """
    numbers = facts.numbers
    if facts.kind != "integer" or numbers is None or facts.distinct < MANY:
        return False
    low, high = facts.low, facts.high
    return low >= BLOCK_FROM and high < 2 * low and high - low < BLOCK_WIDTH * facts.distinct


def short_codes(facts: ColumnFacts) -> bool:
    """Whether nearly all values have letters and digits at the same places (AA-20), and no space.

    >>> import numpy as np
    >>> def column(*texts): return ColumnFacts("x", "text", texts, np.ones(len(texts), dtype=np.int64), len(texts))
    >>> short_codes(column("AA-20", "AA-35", "BC-07")), short_codes(column("11 a", "12 b")), short_codes(column("ab", "cd"))
    (True, False, False)
    """
    looked = spread(facts.values, 500)
    mixed = sum(any(map(str.isdigit, v)) and any(map(str.isalpha, v)) and " " not in v for v in looked)
    return facts.numbers is None and mixed >= SAME * len(looked) and one_shape(facts)


LEAST_DIGITS, OFTEN = 4, 2
"""Digits of the shortest number that may be given to people, and rows per number from which they have several rows."""


def repeated_numbers(facts: ColumnFacts) -> bool:
    """Many whole numbers with equally many digits that repeat and are not round: they may number people with several rows.

    >>> import numpy as np
    >>> given = [str(15_000 + 41 * i) for i in range(50)]
    >>> [repeated_numbers(ColumnFacts("x", "integer", given, np.full(50, n), 50 * n)) for n in (1, 2)]
    [False, True]
    """
    if facts.kind != "integer" or facts.distinct < PANEL or below_zero(facts) or facts.filled < OFTEN * facts.distinct:
        return False
    lengths = {len(v) for v in spread(facts.values, 500)}
    return len(lengths) == 1 and min(lengths) >= LEAST_DIGITS and not rounded(facts)


OWN_WORDS, OWN_ROWS, MOST_WORDS = 0.5, 100, 6
"""Share of rows with a text of their own, rows, and words of a text, from which texts may be names that no list has."""


def own_words(facts: ColumnFacts) -> bool:
    """A few words without digits, most of them in one row or two, as names of people are written in every script.

    >>> import numpy as np
    >>> names = [a + b for a in "abcdefghij" for b in "klmnopqrst"]
    >>> [own_words(ColumnFacts("x", "text", names, np.full(100, n), 100 * n)) for n in (1, 3)]
    [True, False]
    """
    if facts.kind != "text" or facts.numbers is not None or facts.filled < OWN_ROWS or facts.distinct < OWN_WORDS * facts.filled:
        return False
    looked = spread(facts.values)
    short = sum(len(v.split()) <= MOST_WORDS and not any(map(str.isdigit, v)) for v in looked)
    return short >= 0.9 * len(looked)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


@cache
def _known_scripts() -> frozenset[str]:
    """The scripts in which the lists have words of values."""
    return frozenset(_script(c) for topic in sections("values").values() for text in topic for c in set(text) if c.isalpha())


def in_unknown_script(facts: ColumnFacts) -> bool:
    """Whether most values are words in a script that no list has: they may be names of people, or anything.

    >>> import numpy as np
    >>> def column(*texts): return ColumnFacts("x", "text", texts, np.full(len(texts), 9), 9 * len(texts))
    >>> in_unknown_script(column("\u13a0\u13b5", "\u13e3\u13b3")), in_unknown_script(column("Anna", "\u0410\u043d\u043d\u0430"))
    (True, False)
    """
    if facts.kind != "text" or facts.numbers is not None:
        return False
    looked = spread(facts.values)
    first = [next((c for c in v if c.isalpha()), "") for v in looked]
    return 2 * sum(bool(c) and not c.isascii() and _script(c) not in _known_scripts() for c in first) > len(looked)


def is_key(facts: ColumnFacts) -> bool:
    """Long codes, mostly different: keys that name somebody, also where they repeat."""
    if facts.numbers is not None and not facts.whole:
        return False  # fractions number nobody
    if long_key(facts) or drawn_key(facts):
        return True
    written = facts.kind in ("text", "integer", "binary") or facts.whole
    if facts.distinct < 0.5 * facts.filled or facts.filled < FEWEST_ROWS or not written:
        return False
    looked = facts.values[:: max(1, len(facts.values) // 500)]
    lengths = {len(v.removesuffix(".0")) for v in looked}  # a program that had gaps to fill wrote 3001234567 as 3001234567.0
    if facts.kind == "integer" or facts.whole:
        return min(lengths) >= 7 and max(lengths) - min(lengths) <= 2
    mixed = sum(bool(re.fullmatch(r"(?=.*\d)[\w\-./]{6,64}", v)) for v in looked)
    return mixed >= 0.95 * len(looked) and max(lengths) - min(lengths) <= 4


def numbering(facts: ColumnFacts, *, several: bool = False) -> bool:
    """Whole numbers that number rows: close to one another, or nearly all with as many digits, and evenly spread as far as chance
    allows. Amounts lie denser in one part of their range; ``several`` says that other columns differ in every row too.

    >>> import numpy as np
    >>> pay = [str(int(v)) for v in np.exp(np.linspace(9.3, 11.4, 200))]
    >>> numbering(ColumnFacts("x", "integer", pay, np.ones(200, dtype=np.int64), 200))
    False
    >>> given = [str(10_000 + 1_471 * i) for i in range(60)]
    >>> numbering(ColumnFacts("x", "integer", given, np.ones(60, dtype=np.int64), 60))
    True
    """
    numbers = facts.numbers
    if numbers is None or not facts.whole or below_zero(facts):
        return False
    width = float(np.max(numbers) - np.min(numbers))
    if width < 2 * len(numbers):
        return True
    digits = Counter(len(v) for v in facts.values)
    alike = width < 10 * len(numbers) or digits.most_common(1)[0][1] >= 0.85 * len(facts.values)
    return alike and not _dense_in_one_part(numbers, several)


LEAST_UNEVEN = 20
"""Different numbers from which an uneven spread is not chance."""


def rarer_than_low(numbers: npt.NDArray[np.float64]) -> bool:
    """Whether high numbers lie much further apart than low ones, as those of counts and amounts do, and of people hardly.

    >>> rarer_than_low(np.array([n**3.0 for n in range(40)])), rarer_than_low(np.arange(40.0))
    (True, False)
    """
    if len(numbers) < LEAST_UNEVEN or not np.isfinite(numbers).all():
        return False
    middle = (float(numbers.min()) + float(numbers.max())) / 2
    low = float(np.mean(numbers <= middle))
    return low >= LOW_SHARE and _dense_in_one_part(numbers, several=False)


LOW_SHARE = 0.75
"""Share of the different numbers in the lower half of their range from which the high ones are rare."""


def _dense_in_one_part(numbers: npt.NDArray[np.float64], several: bool) -> bool:
    """Whether numbers are spread more unevenly than numbers given out in turn, and not because they come in blocks."""
    place = np.sort(numbers)
    place = (place - place[0]) / (place[-1] - place[0])
    n = len(place)
    steps = np.arange(n + 1) / n
    distance = max(float(np.max(steps[1:] - place)), float(np.max(place - steps[:-1])))
    middle = place[n // 20 : n - n // 20]
    blocks = float(np.max(np.diff(middle))) > WIDE_GAP
    return not blocks and distance > UNEVEN / np.sqrt(n) and (several or distance > VERY_UNEVEN)


CODED = ("postcode", "place", "country", "birth_place", "occupation", "industry", "diagnosis", "drug")
"""Topics that are written as codes: these name a place or a thing, also where every row has its own."""
CLUSTERED = 0.1
"""Clusters per record from which they are groups of a few records."""


def by_number_word(view: ColumnView) -> Decision | None:
    """A number of any thing, different in nearly every row."""
    facts = view.facts
    words = set(expanded(facts.name))
    if words.isdisjoint(NUMBER_WORDS | CODE_WORDS) or facts.kind not in ("text", "integer"):
        return None
    numbered = "id" in raw_words(facts.name) or raw_words(facts.name)[-1:] in LAST_WORDS  # partner_number, not num_visits
    harmless = view.topic is not None and view.topic.role in (Role.SENSITIVE, Role.INSENSITIVE) and numbered
    least = CLUSTERED if harmless and facts.distinct >= LEAST_NUMBERED else 0.9  # ID_Parto would be published as a birth
    if facts.distinct < least * facts.filled or facts.filled < FEWEST_ROWS or view.guess.scale is Scale.DATE or below_zero(facts):
        return None
    if view.topic is not None and view.topic.key in CODED and not words.isdisjoint(CODE_WORDS):
        return None
    topic = view.topic if view.topic is not None and view.topic.role is Role.DIRECT else BY_KEY["record_number"]
    many = "nearly every row has its own" if facts.distinct >= 0.9 * facts.filled else "it has many"
    return Decision(Role.DIRECT, f"its name says {topic.says} and {many}", 0.9, topic.key, topic.hipaa or 18, Scale.ID)


NUMBER_WORDS, CODE_WORDS = (word_set("column_names", f"word for {what}") for what in ("number", "code"))
"""Words for the number or code of a thing: a whole word of a name."""
ENDINGS = tuple(word_set("column_names", "person: number joined") - {"id", "key", "no"})
LAST_WORDS = frozenset((word,) for word in ENDINGS)
"""Words for "number" that joined words end with, and alone at the end of a name; many words end with the others."""
_JOINED_ID = re.compile(r"[a-z]{4,}(?<!pa)(?<!o)(?<!br)(?<!gr)(?<!ac)id")
"""Joined names that end with id (utilityid); words that end so by themselves are none: unpaid, thyroid, hybrid."""
OWN_NUMBERS = 0.99
"""Different numbers per row from which each row has its own, but for slips."""
LEAST_NUMBERED = 100
"""Different numbers from which a name that ends with a word for "number" (casenum) numbers people or households."""


def by_last_word(view: ColumnView) -> Decision | None:
    """A name that no topic explains and that ends with a word for "number": its many whole numbers are given to somebody.

    Such a word in front counts something (``numvisit``), as do few numbers for the rows there are.
    """
    facts, last = view.facts, raw_words(view.facts.name)[-1:]
    if view.topic is not None or not facts.whole or below_zero(facts) or view.guess.scale is Scale.DATE or not last:
        return None
    joined = bool(_JOINED_ID.fullmatch(last[0]))
    own = facts.distinct >= OWN_NUMBERS * facts.filled
    ends = (*ENDINGS, "no") if own else ENDINGS  # cusno; words end with "no" too
    if not joined and not last[0].endswith(ends):
        return None
    if facts.distinct >= max(LEAST_NUMBERED, CLUSTERED * facts.filled):
        key = BY_KEY["person_number"]
        return Decision(key.role, "its name ends with a word for number, and it has many", 0.6, key.key, 18, Scale.ID)
    if joined and facts.distinct >= FEWEST_ROWS:
        why = "its name ends with id: it numbers things or places, which others may know"
        return Decision(Role.QUASI, why, 0.45, "facility", None, Scale.NOMINAL)
    return None


PERSONS = frozenset((word,) for word in word_set("column_names", "somebody"))
"""Words for people that a number of somebody is called by; what is counted by them (kids at home) stays below the limit."""


def by_person_word(view: ColumnView) -> Decision | None:
    """A name that is a word for somebody, with many whole numbers: it numbers them (``kid``, ``mom``), and counts nothing."""
    facts = view.facts
    if raw_words(facts.name) not in PERSONS or not facts.whole or below_zero(facts):
        return None
    if facts.distinct < max(LEAST_NUMBERED, CLUSTERED * facts.filled):
        return None
    key = BY_KEY["person_number"]
    return Decision(key.role, "its name says a person, and it has many numbers", 0.7, key.key, 18, Scale.ID)
