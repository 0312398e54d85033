"""Topics: what a column is about according to its name, and the role that follows from it.

Takes    the name of a column, its label, and the other names of the table
Returns  the topic, or None if the name says nothing
Data     ``data/<language>/column_names.txt``
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

from shoal.find.name_words import opaque, pieces, raw_words, telling, words_of
from shoal.find.vocabulary import folded, phrases, texts, word_set
from shoal.model.roles import Role

NAMES = "column_names"
"""The list that holds the words of topics."""


@dataclass(frozen=True)
class Topic:
    """What a column may be about.

    ``says`` describes it in a reason. ``scale`` is the usual scale of such a column (``number``, ``nominal``, ``ordered``,
    ``place``, ``date``, ``id``, ``text``), or empty if the values decide. ``about`` marks topics of health, money and conduct.
    """

    key: str
    role: Role
    says: str
    scale: str
    confidence: float
    hipaa: int | None = None
    about: str = ""

    @cached_property
    def patterns(self) -> tuple[tuple[str, ...], ...]:
        """The patterns of names that say so, each as its parts."""
        return phrases(NAMES, self.key)


PEOPLE, NAMED = word_set(NAMES, "person"), word_set(NAMES, "person: name")
BEHIND, BEFORE, JOINED = (word_set(NAMES, f"person: number {where}") for where in ("behind", "before", "joined"))
SEVERAL = word_set(NAMES, "person: several")
"""Words for people before which a number counts them."""


@cache
def _joined_numbers() -> frozenset[str]:
    """Words for a person with a word for number joined to them: clientnr, idcustomer."""
    behind = {person + number for person in PEOPLE if len(person) > 2 for number in JOINED}
    return frozenset(behind | {"id" + person for person in PEOPLE if len(person) > 3})


def _of_people(word: str, after: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """How a word and the one after it say a name or number of a person: patient name, id of a customer, clientnr."""
    if (word in PEOPLE and after in NAMED) or (word in NAMED and after in PEOPLE):
        yield "person_name", (word, after)
    if (word in PEOPLE and after in BEHIND) or (word in BEFORE and after in PEOPLE and after not in SEVERAL):
        yield "person_number", (word, after)
    if word in _joined_numbers():
        yield "person_number", (word,)


def found_in(words: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether the words of a pattern follow one another among the words of a name."""
    n = len(pattern)
    if pattern[0].startswith("="):
        return words == (pattern[0][1:],)
    return any(all(_fits(w, p) for w, p in zip(words[i : i + n], pattern, strict=True)) for i in range(len(words) - n + 1))


_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")
"""Scripts that join words: there an entry may stand anywhere in a word."""


def _fits(word: str, part: str) -> bool:
    if not part.isascii() and _UNSPACED.match(part):
        return part in word
    if part.endswith("*"):
        return word.startswith(part[:-1])
    if part.startswith("*"):
        return word.endswith(part[1:]) and len(word) > len(part) - 1
    return word == part


D, Q, S, N = Role.DIRECT, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE
# Special before general: a date of birth before any date, a household's income before a household.
TOPICS: tuple[Topic, ...] = (
    Topic("email", D, "e-mail address", "id", 0.98, hipaa=6),
    Topic("fax", D, "fax number", "id", 0.97, hipaa=5),
    Topic("phone", D, "telephone number", "id", 0.97, hipaa=4),
    Topic("national_number", D, "national or social security number", "id", 0.98, hipaa=7),
    Topic("insurance_number", D, "health plan or insurance number", "id", 0.95, hipaa=9),
    Topic("account", D, "account or card number", "id", 0.95, hipaa=10),
    Topic("licence", D, "licence or passport number", "id", 0.95, hipaa=11),
    Topic("plate", D, "vehicle or number plate", "id", 0.9, hipaa=12),
    Topic("device", D, "device or serial number", "id", 0.9, hipaa=13),
    Topic("url", D, "web address", "id", 0.9, hipaa=14),
    Topic("ip", D, "internet address", "id", 0.95, hipaa=15),
    Topic("biometric", D, "biometric identifier", "id", 0.95, hipaa=16),
    Topic("photo", D, "photograph", "id", 0.95, hipaa=17),
    Topic("person_name", D, "a person's name", "id", 0.97, hipaa=1),
    Topic("patient_number", D, "medical record or patient number", "id", 0.95, hipaa=8),
    Topic("person_number", D, "a number of a person or household", "id", 0.93, hipaa=18),
    Topic("survey_weight", N, "survey weight", "number", 0.88),
    Topic("birth_place", Q, "place of birth", "place", 0.9),
    Topic("birth_date", Q, "date of birth", "date", 0.95, hipaa=3),
    Topic("sexual", S, "sexual orientation or life", "nominal", 0.9, about="health"),
    Topic("pregnancy", S, "pregnancy or births", "", 0.85, about="health"),
    Topic("mental", S, "mental health", "", 0.88, about="health"),
    Topic("habits", S, "smoking, drinking or drugs", "", 0.85, about="health"),
    Topic("drug", S, "medicine", "nominal", 0.88, about="health"),
    Topic("health_state", S, "state of health", "ordered", 0.88, about="health"),
    Topic("diagnosis", S, "diagnosis or health", "nominal", 0.9, about="health"),
    Topic("outcome", S, "outcome or death", "", 0.8, about="health"),
    Topic("care", S, "treatment or use of care", "", 0.75, about="health"),
    Topic("lab", S, "a medical measurement", "number", 0.8, about="health"),
    Topic("income_band", S, "income group", "ordered", 0.85, about="money"),
    Topic("income", S, "income or wage", "number", 0.88, about="money"),
    Topic("credit", S, "credit, debt or bank", "", 0.85, about="money"),
    Topic("spending", S, "spending or property", "number", 0.8, about="money"),
    Topic("crime", S, "crime or court", "nominal", 0.88, about="conduct"),
    Topic("religion", S, "religion", "nominal", 0.88, about="conduct"),
    Topic("politics", S, "political view or membership", "", 0.85, about="conduct"),
    Topic("opinion", S, "opinion or satisfaction", "ordered", 0.75, about="conduct"),
    Topic("marks", S, "marks, scores or performance", "number", 0.8, about="conduct"),
    Topic("leaving", S, "whether somebody left, bought or answered", "nominal", 0.75, about="conduct"),
    Topic("family_life", S, "family life", "", 0.75, about="conduct"),
    Topic("age", Q, "age", "number", 0.95, hipaa=3),
    Topic("sex", Q, "sex or gender", "nominal", 0.95),
    Topic("title", Q, "form of address", "nominal", 0.8),
    Topic("suffix", Q, "part of a name", "nominal", 0.6),
    Topic("marital", Q, "marital status", "nominal", 0.93),
    Topic("race", Q, "race or ethnic group", "nominal", 0.9),
    Topic("nationality", Q, "nationality or origin", "nominal", 0.9),
    Topic("language", Q, "language", "nominal", 0.7),
    Topic("relation", Q, "relation inside a household or family", "nominal", 0.85),
    Topic("family", Q, "family or household", "number", 0.85),
    Topic("street", D, "street address", "text", 0.95, hipaa=2),
    Topic("position", D, "exact position", "place", 0.9, hipaa=2),
    Topic("postcode", Q, "postcode", "place", 0.95, hipaa=2),
    Topic("place", Q, "place of living", "place", 0.9, hipaa=2),
    Topic("country", Q, "country", "place", 0.9),
    Topic("moved", Q, "where or how long somebody lives there", "", 0.7),
    Topic("education", Q, "education", "ordered", 0.88),
    Topic("occupation", Q, "occupation", "nominal", 0.88),
    Topic("industry", Q, "industry or employer", "nominal", 0.85),
    Topic("employment", Q, "employment status", "nominal", 0.85),
    Topic("tenure", Q, "how long somebody is with an employer", "", 0.7),
    Topic("hire_date", Q, "date of hiring or leaving", "date", 0.85),
    Topic("housing", Q, "housing", "nominal", 0.75),
    Topic("vehicle", Q, "vehicle", "nominal", 0.7),
    Topic("commute", Q, "way to work or school", "", 0.65),
    Topic("military", Q, "military service", "nominal", 0.75),
    Topic("dependency", Q, "people who depend on somebody", "number", 0.7),
    Topic("body", Q, "a body measure that others can see", "number", 0.65),
    Topic("facility", Q, "a hospital, school or other place where somebody was", "nominal", 0.7),
    Topic("event_date", Q, "date or time of an event that others may know", "date", 0.85, hipaa=3),
    Topic("insurance", Q, "kind of insurance or payer", "nominal", 0.7),
    Topic("arrival", Q, "how or where somebody came or went", "nominal", 0.6),
    Topic("group", Q, "a group of people", "nominal", 0.55),
    Topic("record_number", D, "a number of a record or event", "id", 0.85, hipaa=18),
    Topic("technical", N, "a technical field", "", 0.75),
    Topic("leisure", N, "leisure or daily life", "", 0.55),
    Topic("name_part", D, "a part of a person's name", "id", 0.8, hipaa=1),
    Topic("name", D, "a name", "id", 0.75, hipaa=1),
    Topic("text", D, "free text, which may name people", "text", 0.7, hipaa=18),
)
BY_KEY = {topic.key: topic for topic in TOPICS}
_RANKS = {topic.key: rank for rank, topic in enumerate(TOPICS)}

LONG, SHORT = 5, 3
"""Words of the longest name that is not a question, and letters up to which one word of a question says nothing by itself."""
ABBREVIATED = 4
"""Letters of a word of which the beginning is taken for an abbreviation: ``verm`` for Vermögen."""


_RUNNING = re.compile(r"(?<=[A-Za-z]{3}[_. -])\d+$")
"""A number that counts columns of one name (``gene_4711``): it says nothing of the topic."""


@cache
def _vocabulary() -> frozenset[str]:
    """Words that a joined name may be made of: those of the topics, stems included."""
    known = {
        part.strip("*")
        for topic in TOPICS
        for part in set(chain.from_iterable(topic.patterns))
        if not part.startswith("=") and (topic.role is not Role.DIRECT or len(part) > 3)
    }
    people = {w for w in PEOPLE | NAMED | BEHIND | BEFORE | _joined_numbers() if len(w) > 3}
    return frozenset(w for w in known | people | word_set(NAMES, "joined part") if len(w) >= 3)


@cache
def _full_words() -> dict[str, tuple[Topic, str]]:
    """Long single words with their topic, to find the word that an abbreviation begins."""
    out: dict[str, tuple[Topic, str]] = {}
    for topic in TOPICS:
        for pattern in () if topic.key == "person_number" else topic.patterns:  # joined words: member is not short for memberid
            if len(pattern) == 1 and pattern[0][0] not in "*=" and len(pattern[0].strip("*")) >= 6:
                out.setdefault(pattern[0].strip("*"), (topic, pattern[0]))
    return out


@lru_cache(maxsize=50_000)
def expanded(name: str) -> tuple[str, ...]:
    """The words of a name; joined words that no topic knows are cut into known ones.

    >>> expanded("homezip"), expanded("Medu"), expanded("num_lab_procedures")
    (('home', 'zip'), ('edu',), ('num', 'lab', 'procedures'))
    """
    out: list[str] = []
    for word in words_of(name):
        cut = () if _best((word,))[0] else pieces(word, _vocabulary())
        out.extend(cut or (word,))
    return tuple(out)


def topic_of(name: str, *, sentence: bool = False) -> Topic | None:
    """The topic that a column's name says, or None; a ``sentence`` (a label, a question) has no abbreviated words.

    Longer phrases win over single words, whole words over beginnings, long beginnings over short; then the order of the topics.

    >>> topic_of("patient_email").key, topic_of("Geburtsdatum").key, topic_of("c_charge_degree").key, topic_of("xyz") is None
    ('email', 'birth_date', 'crime', True)
    >>> topic_of("family_history").key, topic_of("household_income").key, topic_of("number_diagnoses").key
    ('diagnosis', 'income', 'diagnosis')
    """
    return _topic_of(_RUNNING.sub("0", name), sentence)


@lru_cache(maxsize=50_000)
def _topic_of(name: str, sentence: bool) -> Topic | None:
    raw, question = raw_words(name), len(raw_words(name)) > LONG
    cut = raw if question else expanded(name)  # "hast" in a question is not a test for AST
    for words in (raw, words_of(name), cut, ("".join(raw),)):
        ways = (telling(words),) if "per" in words[1:] else (words, telling(words))
        topic, worth = max((_best(way, way == raw, question) for way in ways), key=lambda best: best[1])
        if topic is not None:
            return _topic_of_head(topic, worth[0], words)
    if cut[:1] in (("years",), ("jahre",), ("annees",)) and len(cut) > 1:
        return BY_KEY["tenure"]
    for word in () if sentence or question else cut:
        if len(word) >= ABBREVIATED and word[-1] not in "aeiouy0123456789":
            meant = _begun_by(word)
            if len(meant) == 1 and BY_KEY[next(iter(meant))].role is not Role.INSENSITIVE:  # harmless needs more than a guess
                return BY_KEY[next(iter(meant))]
    ends = (cut[-1][i:] for i in range(ABBREVIATED, len(cut[-1]) - LONG)) if cut and not (sentence or question) else ()
    heads = (_full_words()[end][0] for end in ends if end in _full_words() and end == _full_words()[end][1])
    return next((topic for topic in heads if topic.role in (Role.QUASI, Role.SENSITIVE)), None)  # Unterkunftskosten


@lru_cache(maxsize=50_000)
def speaks_of_crime(name: str) -> bool:
    """Whether a word of a name tells of a crime, also if the name is about something else: the date and place of an arrest."""
    return any(topic is not None and topic.key == "crime" for topic in (_best((word,))[0] for word in words_of(name)))


OF_A_PERSON = frozenset("sex race age marital nationality".split())
"""What the last or first word of a name may say of the victim of a crime: Vict Descent, age of victim."""
NAMED_THINGS = frozenset("place race facility industry country language".split())
"""Topics of things whose name a column may hold: the name of an ethnic group names no person."""


def _topic_of_head(topic: Topic, parts: int, words: tuple[str, ...]) -> Topic:
    """The topic of a name whose last word is what it names: the precinct of an arrest is a place, not an arrest."""
    if parts > 1 or (len(words) < 2 and topic.role is not Role.SENSITIVE):
        return topic
    if len(words) > 1 and topic.key in ("crime", "name", "person_name") and words[-1] not in word_set(NAMES, "place at the end"):
        ends = (words[-1:], words[:1]) if topic.key == "crime" else (words[1:],)  # victim age, age of the victim
        subjects = OF_A_PERSON if topic.key == "crime" else NAMED_THINGS
        return next((of for end in ends if (of := _best(end)[0]) is not None and of.key in subjects), topic)
    if topic.key == "street" and words[-1] in word_set(NAMES, "postcode at the end"):
        return BY_KEY["postcode"]
    part = topic.key == "street" and words[-1] in word_set(NAMES, "state at the end")
    place = topic.role is Role.SENSITIVE or topic.key == "street"
    first = words[0] in word_set(NAMES, "place at the start")
    located = first or any(_fits(words[-1], p) for p in texts(NAMES, "place at the end"))
    return BY_KEY["place"] if part or (place and located) else topic


@lru_cache(maxsize=50_000)
def _begun_by(word: str) -> frozenset[str]:
    """Topics of the long words that a word begins; a word that stands whole in a joined one (final in finalwgt) is none."""
    known = _vocabulary()
    begun = [(full, topic) for full, (topic, _) in _full_words().items() if full.startswith(word)]
    whole = any(full[len(word) :] in known for full, _ in begun)
    return frozenset() if whole else frozenset(topic.key for _, topic in begun)


class _Pattern(NamedTuple):
    """A pattern of a topic, with the topic's place in their order."""

    parts: tuple[str, ...]
    topic: Topic
    rank: int

    def worth(self, words: tuple[str, ...]) -> tuple[int, int, int, int]:
        """How well it fits: number of words, whole words before beginnings of words, letters that fit, order of the topics."""
        whole = all(word == part.strip("*=") for word, part in zip(words, self.parts, strict=True))
        letters = 0 if whole else sum(len(part.strip("*")) for part in self.parts)
        if self.parts[0][0] == "*" and self.parts[0].endswith("id"):  # hospitalvisitid numbers visits, with any word before
            letters += len(words[0])
        return len(self.parts), int(whole), letters, -self.rank


@cache
def _index() -> dict[str, list[tuple[tuple[str, ...], int]]]:
    """Patterns with the place of their topic, by their first part, ``*`` included, so that a name looks up few of them."""
    out: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for rank, topic in enumerate(TOPICS):
        for parts in topic.patterns:
            out.setdefault(parts[0], []).append((parts, rank))
    return out


@lru_cache(maxsize=50_000)
def _best(words: tuple[str, ...], entire: bool = True, question: bool = False) -> tuple[Topic | None, tuple[int, int, int, int]]:
    """The topic that fits best, and how well; ``entire``: the words are the whole name, of which ``=`` patterns speak.

    One short word of a ``question`` decides only if it says age or sex: three letters mean something in many languages.
    """
    best, most = None, (0, 0, 0, -len(TOPICS))
    for i, word in enumerate(words):
        for pattern in chain(_starting(word), _people(word, words[i + 1] if i + 1 < len(words) else "")):
            whole = pattern.parts[0].startswith("=")
            alone = question and len(word) <= SHORT and pattern.parts[1:] in ((), ("*",)) and pattern.topic.key not in OF_A_PERSON
            if alone or (whole and not entire):
                continue
            part = words if whole else words[i : i + len(pattern.parts)]  # its first word fits
            rest = len(part) == len(pattern.parts) and all(map(_fits, part[1:], pattern.parts[1:]))
            if rest and (worth := pattern.worth(part)) > most:
                best, most = pattern.topic, worth
    return best, most


@lru_cache(maxsize=50_000)
def _starting(word: str) -> tuple[_Pattern, ...]:
    """Patterns whose first part the word fits."""
    index = _index()
    keys = [word, f"={word}", *(f"{word[:n]}*" for n in range(1, len(word) + 1)), *(f"*{word[n:]}" for n in range(1, len(word)))]
    if not word.isascii() and _UNSPACED.search(word):
        keys += {word[i:j] for i in range(len(word)) for j in range(i + 2, len(word) + 1)} - {word}
    return tuple(_Pattern(parts, TOPICS[rank], rank) for key in keys for parts, rank in index.get(key, ()))


@lru_cache(maxsize=50_000)
def _people(word: str, after: str) -> tuple[_Pattern, ...]:
    """Patterns of names and numbers of people that begin with a word."""
    return tuple(_Pattern(way, BY_KEY[key], _RANKS[key]) for key, way in _of_people(word, after))


def topics_beside(named: Sequence[tuple[str, str]]) -> list[Topic | None]:
    """The topic of each of the names (with their labels), or None.

    A label speaks where the name says nothing. A name that nobody knows and that is the name of another column with a letter or
    word for a relative is of that column's topic, where others know it: a father's age is known as a child's is, and the
    square of an age tells the age.

    >>> [t.key if t else "" for t in topics_beside([("age", ""), ("dage", ""), ("ageh", ""), ("page", "")])]
    ['age', 'age', 'age', 'age']
    >>> [t.key if t else "" for t in topics_beside([("page", ""), ("wage", ""), ("v1", "date of birth")])]
    ['', 'income', 'birth_date']
    """
    topics = [_topic_beside(name, label) for name, label in named]
    known = {folded(name): t for (name, _), t in zip(named, topics, strict=True) if t is not None and t.role is Role.QUASI}
    return [t or _derived(folded(name), known) for (name, _), t in zip(named, topics, strict=True)]


def _topic_beside(name: str, label: str) -> Topic | None:
    """The topic of a name; of its label if the name says nothing, or if the label says how long or how often instead."""
    topic = topic_of(name)
    first = words_of(label)[:2] if label else ()
    if first[:1] in (("years",), ("months",)) and topic is not None and topic.role is Role.DIRECT:
        return BY_KEY["moved"] if topic.key == "street" else BY_KEY["tenure"]
    if first == ("how", "often") or (first and "frequency" in raw_words(name)):
        return topic
    if not label or (topic is not None and topic.role is not Role.INSENSITIVE and not opaque(name)):
        return topic
    own = topic_of(label, sentence=" " in label.strip())
    return topic if own is None and not opaque(name) else own  # "year" is harmless until its label says "of admission"


@cache
def _relatives() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words and letters before and behind a name that derive a column from the one with that name."""
    relatives = sorted(word_set(NAMES, "relative"))
    before, behind = (sorted(word_set(NAMES, f"computed: {where}")) for where in ("before", "behind"))
    return (*relatives, *before), (*relatives, *behind)


def _derived(name: str, known: dict[str, Topic]) -> Topic | None:
    before, behind = _relatives()
    if not known or not (name.startswith(before) or name.endswith(behind)):
        return None
    rests = [name[len(word) :] for word in before if name.startswith(word)]
    rests += [name[: -len(word)] for word in behind if name.endswith(word)]
    return next((known[whole] for rest in rests if (whole := rest.strip("_. ")) in known), None)
