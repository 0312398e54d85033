"""``predict``: how identifying will it be, before anything is collected. Six questions, each answered from what is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.api.forecasts import words as keywords
from shoal.api.forecasts.columns import ask_interval, ask_quasi
from shoal.api.forecasts.group import ask_singletons, ask_uniqueness
from shoal.api.forecasts.population import ask_population
from shoal.api.forecasts.prediction import Prediction
from shoal.api.forecasts.zipf import ask_zipf
from shoal.errors import UsageError, nearest
from shoal.predict import PopulationEstimate

QUESTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "uniqueness": (ask_uniqueness, keywords.UniquenessWords),
    "singletons": (ask_singletons, keywords.SingletonsWords),
    "interval": (ask_interval, keywords.IntervalWords),
    "quasi": (ask_quasi, keywords.QuasiWords),
    "population": (ask_population, keywords.PopulationWords),
    "zipf": (ask_zipf, keywords.ZipfWords),
}


def predict(question: str, /, **words: Any) -> Prediction | PopulationEstimate:
    """Ask one of six questions in the words of the command ``shoal predict``.

    ``shoal.predict`` also holds the functions behind the questions, and many more: ``shoal.predict.uniqueness(365, 23)``.

    Parameters
    ----------
    question : str
        ``uniqueness`` (are all people of a group unique?), ``singletons`` (how many are?), ``interval`` (how many, when a value
        is rounded?), ``quasi`` (can these columns identify at all?), ``population`` (unique in the sample: unique in the
        population?), ``zipf`` (places visited by Zipf's law).
    **words
        ``group_size`` with one of ``uniform, counts, p`` (or ``kappa`` with ``cells``); see ``shoal predict QUESTION --help``.

    Examples
    --------
    >>> predict("uniqueness", uniform=365, group_size=23)
    <Prediction of the probability that all 23 people are unique: 0.492703 (exact, product of (1 - i/N))>
    >>> round(predict("singletons", p=[0.4, 0.3, 0.2, 0.1], group_size=5).more["variance"], 6)
    0.883551
    """
    if question not in QUESTIONS:
        close = nearest(question, QUESTIONS)
        raise UsageError(
            f"there is no question '{question}'.",
            hint=f"Did you mean '{close}'?" if close else f"Questions: {', '.join(QUESTIONS)}.",
        )
    ask, known = QUESTIONS[question]
    for word in words:
        if word not in known.__annotations__:
            close = nearest(word, known.__annotations__)
            raise UsageError(
                f"'{word}' says nothing about {question}.", hint=f"Did you mean '{close}'?" if close else "Leave it out."
            )
    lacking = [word for word in sorted(known.__required_keys__) if words.get(word) is None]
    if lacking:
        raise UsageError(f"{question} needs {lacking[0]}.", hint=f"Add {lacking[0]}=….")
    answer: Prediction | PopulationEstimate = ask(**words)
    return answer
