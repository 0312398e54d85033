"""What single cells say against a role that would publish them: addresses inside answers, numbers and names of people.

A name of a column never vouches for its values: codes of diseases do not have nine digits, and an outcome is not a person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.find.dates import unix_times
from shoal.find.finding import ColumnFacts, Evidence, Scale
from shoal.find.identifiers import long_numbers, rounded, spread
from shoal.find.people import FULL_SHARE, SINGLE_LEAST, SINGLE_SHARE, full_names_share, names_share, names_somebody
from shoal.find.questions import ticked
from shoal.find.roles.decision import FEWEST_ROWS, ColumnView, Decision, with_evidence
from shoal.find.roles.keys import CODED, OWN_NUMBERS, is_key, numbering
from shoal.find.safe_harbor.harmless import coded
from shoal.find.safe_harbor.spellings import certain_in
from shoal.find.whole_numbers import amounts
from shoal.model.roles import Role

OFTEN_INSIDE = 0.2
"""Share of different texts with an e-mail address, telephone number or the like inside, from which they are why it is kept."""
TYPED, RARE, SHARED = 2, 0.1, 0.5
"""Rows, and share of them, that have a text at most if a person typed it; share of rows that choose from the other texts."""
OWN_LEAST, OWN_SHARE, SHORTEST_CODE = 5, 0.5, 4
"""Rows, share of them that are the only ones with their code, and letters or digits of it, from which it may name them."""
LONGEST_ANSWER = 3
"""Digits that the number in an answer of few words has at most: years and numbers of people have more."""
SHORTEST_OWN = 1_000
"""The smallest number that numbers people under a name of something else: marks and counts are smaller."""
FIRST_YEAR, LAST_YEAR, LIFE = 1880, 2035, 40
"""Years of lives, and the different ones from which they may be those of birth."""


def by_cells(view: ColumnView, decision: Decision) -> Decision:
    """The decision, or what single cells say: an answer that contains an e-mail address is not published as an answer."""
    facts = view.facts
    if decision.role is Role.DIRECT or view.guess.scale is Scale.DATE:
        return decision
    text = facts.kind == "text" and facts.numbers is None
    if decision.role in (Role.SENSITIVE, Role.INSENSITIVE) and decision.topic != "survey_weight":
        why = _texts(facts, decision, view.guess.scale) if text else _numbers(view, decision)
        if why:
            return with_evidence(
                Decision(Role.UNDECIDED, f"its name says something else, but {why}", 0.0, decision.topic), "shape"
            )
    if not text:
        return decision
    seen = certain_in(spread(facts.values))
    if seen is None or (seen[1] < OFTEN_INSIDE and decision.role is Role.QUASI):
        return decision
    form, share = seen
    evidence = Evidence(f"texts that contain {form.what}", round(share, 3), 0.7)
    if share < OFTEN_INSIDE:
        return Decision(Role.UNDECIDED, f"some of its values contain {form.what}", 0.0, decision.topic, None, None, (evidence,))
    why = f"many of its values contain {form.what}"
    return Decision(Role.DIRECT, why, 0.7, "text", form.item, Scale.TEXT, (evidence,))


_ONE_LENGTH = "its values are long numbers or codes of one length, as those of people are"


def _texts(facts: ColumnFacts, decision: Decision, scale: Scale) -> str:
    """Why texts may name people in spite of what the column's name says; empty if nothing shows it."""
    if decision.topic not in CODED and is_key(facts):
        return _ONE_LENGTH
    if scale is Scale.NOMINAL and decision.topic not in CODED and _own_codes(facts):
        return "most rows have a code of their own"
    people = facts.distinct > SINGLE_LEAST and names_share(facts.values) >= SINGLE_SHARE
    if facts.distinct > 2 and (people or full_names_share(facts.values) >= FULL_SHARE):
        return "its values look like names of people"
    if typed_names(facts):
        return "some of its values, which few rows have, may name people or years"
    return ""


def _own_codes(facts: ColumnFacts) -> bool:
    """Whether most rows are the only ones with their code: one word, and most of these hold a digit."""
    if facts.filled < OWN_LEAST or facts.singled_out < OWN_SHARE:
        return False
    looked = spread(facts.values)
    words = sum(len(v) >= SHORTEST_CODE and not any(map(str.isspace, v.strip())) for v in looked)
    return words >= 0.9 * len(looked) and 2 * sum(any(map(str.isdigit, v)) for v in looked) >= len(looked)


_ADDRESS = re.compile(r"\w\.[^\W\d_]{2,}/\w")
"""A page of a network address, also without https."""


def typed_names(facts: ColumnFacts) -> bool:
    """Whether most rows choose from a few texts, and some of the others hold a name, an address or a number of four digits."""
    if len(facts.counts) != facts.distinct or ticked(facts):
        return False
    most = max(TYPED, RARE * facts.filled)
    rare = [v for v, n in zip(facts.values, facts.counts, strict=True) if n <= most]
    chosen = [v for v, n in zip(facts.values, facts.counts, strict=True) if n > most]
    rows = facts.filled - sum(facts.rows_with[v] for v in rare)
    if not rare or rows < SHARED * facts.filled or _longest_number(chosen) > LONGEST_ANSWER:
        return False
    return _longest_number(rare) > LONGEST_ANSWER or any(_ADDRESS.search(text) or names_somebody(text) for text in rare)


def _longest_number(texts: Sequence[str]) -> int:
    """Digits of the longest number in the texts."""
    return max((len(n) for text in texts for n in _digits(text)), default=0)


def _digits(text: str) -> list[str]:
    return "".join(c if c.isdecimal() else " " for c in text).split()


def _numbers(view: ColumnView, decision: Decision) -> str:
    """Why numbers may be those of people or times in spite of what the column's name says; empty if nothing shows it."""
    facts, numbers = view.facts, view.facts.numbers
    if numbers is None or not len(numbers):
        return ""
    if long_numbers(facts) and not coded(facts, facts.values):
        return _ONE_LENGTH
    if facts.distinct >= FEWEST_ROWS and unix_times(numbers):
        return "its values may be seconds since 1970"
    low, high = facts.low, facts.high
    if facts.whole and facts.distinct >= LIFE and FIRST_YEAR <= low <= high <= LAST_YEAR:
        return "its values may be years of birth"
    own = facts.whole and facts.distinct >= max(FEWEST_ROWS, OWN_NUMBERS * facts.filled) and low >= SHORTEST_OWN
    if not own or decision.topic in MONEY or amounts(facts) or rounded(facts):
        return ""
    numbered = not coded(facts, facts.values) and numbering(facts, several=view.several)
    return "every row has a number of its own, as people have" if numbered else ""


MONEY = ("income", "spending", "credit")
"""Topics of amounts, which may differ in every row."""
