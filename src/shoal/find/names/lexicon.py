"""All topics in the order in which they are tried, and the topic of a name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from shoal.find.name_words import pieces, raw_words, telling, words_of
from shoal.find.names import demography, health, identity, private, work
from shoal.find.names.topics import Topic, found_in
from shoal.model.roles import Role

TOPICS: tuple[Topic, ...] = (
    *identity.NUMBERED,
    *identity.NAMES[:1],
    *identity.RECORDS[:2],
    *health.WEIGHTS,
    *demography.BORN[:2],
    *health.HEALTH,
    *private.MONEY,
    *private.CONDUCT,
    *demography.BORN[2:],
    *demography.WHO,
    *identity.LIVING,
    *demography.PLACES,
    *work.WORK,
    *work.SEEN,
    *identity.RECORDS[2:],
    *private.NOTHING,
    *identity.NAMES[1:],
    *identity.TEXTS,
)
"""Special before general: a date of birth before any date, a household's income before a household."""

BY_KEY = {topic.key: topic for topic in TOPICS}

ABBREVIATED = 4
"""Letters of a word of which the beginning is taken for an abbreviation: ``verm`` for Vermögen."""
_FILLERS = frozenset(
    "num nbr nro anz size type typ cat grp group level lvl niv code cod zeit time hours years months days day total "
    "tot max min avg "
    "mean sup rel own free travel first age yrs fam sum ind bis weit lauf new old young yng "
    "home main name date status text wkr".split()
)
"""Words that say little alone, yet are pieces of joined names."""


_RUNNING = re.compile(r"(?<=[A-Za-z]{3}[_. -])\d+$")
"""A number that counts columns of one name (``gene_4711``): it says nothing of the topic."""


@cache
def _vocabulary() -> frozenset[str]:
    """Words that a joined name may be made of: those of the topics, stems included."""
    words = {
        part.strip("*")
        for topic in TOPICS
        for pattern in topic.patterns
        for part in pattern
        if not part.startswith("=") and (topic.role is not Role.DIRECT or len(part) > 3)
    }
    return frozenset(w for w in words | _FILLERS if len(w) >= 3)


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


def topic_of(name: str) -> Topic | None:
    """The topic that a column's name says, or None.

    Longer phrases win over single words, whole words over beginnings, long beginnings over short; then the order of the topics.

    >>> topic_of("patient_email").key, topic_of("Geburtsdatum").key, topic_of("c_charge_degree").key, topic_of("xyz") is None
    ('email', 'birth_date', 'crime', True)
    >>> topic_of("family_history").key, topic_of("household_income").key, topic_of("number_diagnoses").key
    ('diagnosis', 'income', 'diagnosis')
    """
    return _topic_of(_RUNNING.sub("0", name))


@lru_cache(maxsize=50_000)
def _topic_of(name: str) -> Topic | None:
    raw, cut = raw_words(name), expanded(name)
    for words in (raw, words_of(name), cut, ("".join(raw),)):
        ways = (telling(words),) if "per" in words[1:] else (words, telling(words))
        found, worth = max((_best(way, way == raw) for way in ways), key=lambda best: best[1])
        if found is not None:
            return _headed(found, worth[0], words)
    if cut[:1] in (("years",), ("jahre",), ("annees",)) and len(cut) > 1:
        return BY_KEY["tenure"]
    for word in cut:
        if len(word) >= ABBREVIATED and word[-1] not in "aeiouy0123456789":
            meant = _begun_by(word)
            if len(meant) == 1:
                return BY_KEY[next(iter(meant))]
    return None


@lru_cache(maxsize=50_000)
def speaks_of_crime(name: str) -> bool:
    """Whether a word of a name tells of a crime, whatever the name is about: the date and place of an arrest."""
    return any(topic is not None and topic.key == "crime" for topic in (_best((word,))[0] for word in words_of(name)))


PLACE_WORDS = frozenset("boro borough precinct county city town municipality province district".split())
STATE_WORDS, ZIP_WORDS = frozenset("state region country".split()), frozenset("zip zipcode postcode".split())
"""Words that say a place at the end of a name, whatever happened there: ARREST_PRECINCT; and a part of an address: ADDR_STATE."""


OF_A_PERSON = frozenset("sex race age marital nationality".split())
"""What the last word of a name may say of the victim of a crime: Vict Descent."""
NAMED_THINGS = frozenset("place race facility industry country language".split())
"""Topics of things whose name a column may hold: the name of an ethnic group names no person."""


def _headed(found: Topic, parts: int, words: tuple[str, ...]) -> Topic:
    """The topic of a name whose last word is what it names: the precinct of an arrest is a place, not an arrest."""
    if len(words) < 2 or parts > 1:
        return found
    if found.key in ("crime", "name") and words[-1] not in PLACE_WORDS:
        of = _best((words[-1],) if found.key == "crime" else words[1:])[0]
        return of if of is not None and of.key in (OF_A_PERSON if found.key == "crime" else NAMED_THINGS) else found
    if found.key == "street" and words[-1] in ZIP_WORDS:
        return BY_KEY["postcode"]
    part = found.key == "street" and words[-1] in STATE_WORDS
    place = found.role is Role.SENSITIVE or found.key == "street"
    return BY_KEY["place"] if part or (place and words[-1] in PLACE_WORDS) else found


@lru_cache(maxsize=50_000)
def _begun_by(word: str) -> frozenset[str]:
    """Topics of the long words that a word begins; a word that stands whole in a joined one (final in finalwgt) is none."""
    known = _vocabulary()
    begun = [(full, topic) for full, (topic, _) in _full_words().items() if full.startswith(word)]
    whole = any(full[len(word) :] in known for full, _ in begun)
    return frozenset() if whole else frozenset(topic.key for _, topic in begun)


@dataclass(frozen=True)
class _Pattern:
    """A pattern of a topic, with the topic's place in their order."""

    parts: tuple[str, ...]
    topic: Topic
    rank: int

    def worth(self, words: tuple[str, ...]) -> tuple[int, int, int, int]:
        """How well it fits: number of words, whole words before beginnings of words, letters that fit, order of the topics."""
        whole = all(word == part.strip("*=") for word, part in zip(words, self.parts, strict=True))
        letters = 0 if whole else sum(len(part.strip("*")) for part in self.parts)
        if self.parts[0][0] == "*" and self.parts[0].endswith("id"):  # hospitalvisitid numbers visits, whatever stands before
            letters += len(words[0])
        return len(self.parts), int(whole), letters, -self.rank


@cache
def _index() -> dict[str, tuple[_Pattern, ...]]:
    """Patterns by their first part, ``*`` included, so that a name looks up few of them."""
    out: dict[str, list[_Pattern]] = {}
    for rank, topic in enumerate(TOPICS):
        for parts in topic.patterns:
            out.setdefault(parts[0], []).append(_Pattern(parts, topic, rank))
    return {first: tuple(found) for first, found in out.items()}


@lru_cache(maxsize=50_000)
def _best(words: tuple[str, ...], entire: bool = True) -> tuple[Topic | None, tuple[int, int, int, int]]:
    """The topic that fits best, and how well; ``entire``: the words are the whole name, of which ``=`` patterns speak."""
    best, most = None, (0, 0, 0, -len(TOPICS))
    for i, word in enumerate(words):
        for pattern in _starting(word):
            whole = pattern.parts[0].startswith("=")
            if whole and not entire:
                continue
            part = words if whole else words[i : i + len(pattern.parts)]
            if found_in(part, pattern.parts) and (worth := pattern.worth(part)) > most:
                best, most = pattern.topic, worth
    return best, most


@lru_cache(maxsize=50_000)
def _starting(word: str) -> tuple[_Pattern, ...]:
    """Patterns whose first part the word fits."""
    index = _index()
    keys = [word, f"={word}", *(f"{word[:n]}*" for n in range(1, len(word) + 1)), *(f"*{word[n:]}" for n in range(1, len(word)))]
    return tuple(pattern for key in keys for pattern in index.get(key, ()))
