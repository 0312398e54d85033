"""Every metric, once: what it reads, its range and its laws; the words that explain it are in ``numbers.toml``.

A function becomes a metric with :func:`metric`. The entry states the laws that the function obeys (range, what merging two
classes or doubling the table does to it), and one test walks this registry and tries each law on many tables; a public
number of this room that is not registered fails that test. Every sentence of ``numbers.toml`` has a falsifier in
``tests/laws/test_sentences.py``: a generator of tables that tries to break it.
"""

from __future__ import annotations

import importlib
import math
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeVar

from shoal.errors import InternalError, UsageError, suggest
from shoal.model.display import written

Reads = Literal["classes", "sensitive", "population", "distribution"]
"""What the function takes first: ``ClassCounts``; ``ClassCounts`` and a sensitive column; release and population sizes; or a
probability vector."""
Effect = Literal["never lower", "never higher", "free"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Explained:
    """What a number says, how it is made, what it assumes, who the attacker is, and what would change it."""

    name: str
    sentence: str
    formula: str
    assumption: str
    change: str
    attacker: str = ""
    also: tuple[str, ...] = ()

    def explain(self, value: Any = None) -> str:
        """The explanation as text, with the value first when it is given."""
        text = written(value, 4) if isinstance(value, float) else value
        lines = [self.sentence if value in (None, "") else f"{self.name} = {text}. {self.sentence}"]
        lines += [f"  Formula: {self.formula}", f"  Assumes: {self.assumption}"]
        lines += [f"  Attacker: {self.attacker}"] if self.attacker else []
        return "\n".join([*lines, f"  What would change it: {self.change}"])


@cache
def _read_explained(kind: str) -> dict[str, Explained]:
    """The entries of ``numbers.toml`` under ``metrics`` or ``derived``, by name."""
    page = tomllib.loads(files("shoal.measures").joinpath("numbers.toml").read_text(encoding="utf-8"))
    return {name: Explained(name, **{**entry, "also": tuple(entry.get("also", ()))}) for name, entry in page[kind].items()}


def derived_numbers() -> tuple[Explained, ...]:
    """Numbers that a command shows and that are not metrics of one table: made from several, estimated, lists, losses."""
    return tuple(_read_explained("derived").values())


def derived_number(name: str) -> Explained | None:
    """The derived number of that name or spelling.

    >>> derived_number("κ").name, derived_number("k")
    ('kappa', None)
    """
    wanted = name.lower().strip()
    return next((one for one in derived_numbers() if wanted in (one.name, *one.also)), None)


@dataclass(frozen=True)
class Metric:
    """One number of the field: function and laws."""

    name: str
    function: Callable[..., Any]
    reads: Reads
    low: float
    high: float
    safer: Literal["higher", "lower", "neither"]
    merging: Effect  # of two classes or (distribution) two candidates
    doubling: Literal["doubles", "same", "free"]  # every record written twice

    @property
    def explained(self) -> Explained:
        return _read_explained("metrics")[self.name]


_METRICS: dict[str, Metric] = {}


def metric(
    name: str,
    *,
    reads: Reads,
    low: float = 0.0,
    high: float = math.inf,
    safer: Literal["higher", "lower", "neither"],
    merging: Effect,
    doubling: Literal["doubles", "same", "free"] = "same",
) -> Callable[[F], F]:
    """Register the decorated function as the metric ``name``."""

    def put(function: F) -> F:
        if name in _METRICS:
            raise InternalError(f"metric '{name}' is registered twice.")
        _METRICS[name] = Metric(name, function, reads, low, high, safer, merging, doubling)
        return function

    return put


def metrics() -> Iterator[Metric]:
    """All metrics, in the order of their names.

    >>> "k" in {m.name for m in metrics()}
    True
    """
    _load()
    yield from (_METRICS[name] for name in sorted(_METRICS))


def lookup(name: str) -> Metric:
    """The metric of that name.

    >>> lookup("k").safer
    'higher'
    """
    _load()
    if name not in _METRICS:
        hint = suggest(name, _METRICS) or f"Metrics: {', '.join(sorted(_METRICS))}."
        raise UsageError(f"metric '{name}' does not exist.", hint=hint)
    return _METRICS[name]


def _load() -> None:
    """Import the modules that define metrics, so that the registry is complete for anyone who asks first."""
    for module in MODULES:
        importlib.import_module(f"shoal.measures.{module}")


MODULES = (
    "classes.anonymity", "classes.diversity", "classes.closeness", "classes.risk", "classes.entropy_risk",
    "subsets.column_sets", "utility.class_losses", "observer.entropy",
)  # fmt: skip
"""Modules whose public functions are metrics or are named in their ``HELPERS``."""


@dataclass(frozen=True)
class Entry:
    """A word, other spellings of it, its meaning, and a page of the docs or a command."""

    term: str
    meaning: str
    see: str
    also: tuple[str, ...] = ()


def _read() -> tuple[Entry, ...]:
    text = files("shoal.measures").joinpath("glossary.txt").read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in text.split("\n\n") if not block.startswith("#")]
    spelled = [([w.strip() for w in names.split("|")], see, meaning) for names, see, meaning in blocks]
    return tuple(Entry(names[0], meaning, see, tuple(names[1:])) for names, see, meaning in spelled)


GLOSSARY: tuple[Entry, ...] = _read()


def _plain(word: str) -> str:
    return " ".join(word.lower().replace("-", " ").replace("_", " ").split())


def explain_term(word: str) -> str:
    """What a word or a number of the field means.

    >>> explain_term("QI").startswith("quasi-identifier: A column that others could know about a person")
    True
    >>> "Formula:" in explain_term("k")
    True
    """
    wanted = _plain(re.split(r"[:\[<>=]", word)[0])  # "linkage: changed columns" is a kind of linkage, known[2]>=5 one of known
    for entry in GLOSSARY:
        if wanted in map(_plain, (entry.term, *entry.also)):
            return f"{entry.term}: {entry.meaning}\n  More: {entry.see}"
    if (number := derived_number(word) or derived_number(wanted.replace(" ", "_"))) is not None:
        return f"{number.name}: {number.explain()}"
    numbers = {_plain(m.name): m.name for m in metrics()}
    if wanted in numbers:
        return f"{numbers[wanted]}: {lookup(numbers[wanted]).explained.explain()}"
    derived = [_plain(one.name) for one in derived_numbers()]
    known = [*numbers, *derived, *(_plain(w) for e in GLOSSARY for w in (e.term, *e.also))]
    hint = suggest(wanted, known) or "Words and numbers are listed by: shoal explain"
    raise UsageError("this word is not in the glossary.", hint=hint)


def words() -> list[str]:
    """Every word that can be explained, in alphabetical order; numbers as they are spelled in the code."""
    return sorted(
        {*(e.term for e in GLOSSARY), *(m.name for m in metrics()), *(n.name for n in derived_numbers())}, key=str.lower
    )
