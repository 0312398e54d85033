"""What was given with a question: numbers or their file, words that are needed, words that say nothing beside another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.api.forecasts.words import Counted
from shoal.errors import UsageError
from shoal.forms.counts import read_counts


def counted(given: Counted) -> list[float]:
    return read_counts(None, str(given)) if isinstance(given, str | Path) else [float(x) for x in given]


def alone(words: Mapping[str, Any], word: str, *others: str) -> None:
    """Refuse words that say nothing beside another: what is given and not used misleads."""
    unused = [name for name in others if words.get(name) not in (None, False, 0)]
    if unused:
        raise UsageError(f"{', '.join(unused)} cannot be used with {word}.", hint="Leave one of them out.")


def needed(words: Mapping[str, Any], word: str, *, hint: str = "") -> Any:
    if words.get(word) is None:
        raise UsageError(f"{word} is needed here.", hint=hint or "Without it the question has no answer.")
    return words[word]
