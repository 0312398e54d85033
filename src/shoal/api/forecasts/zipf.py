"""Places visited by Zipf's law: from its exponent, or fitted to counts of visits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from shoal.api.forecasts.given import alone, counted, needed
from shoal.api.forecasts.prediction import Prediction, draw_zipf
from shoal.api.forecasts.words import Counted, ZipfWords
from shoal.errors import UsageError
from shoal.forms.counts import are_identifiers
from shoal.prediction import Zipf, expected_share, fit_zipf, pseudonym_life, share_below, threshold_rank


def ask_zipf(**words: Unpack[ZipfWords]) -> Prediction:
    """Places visited by Zipf's law: the expected share of people in cells with fewer than k, for linked records."""
    if words.get("table") is not None:
        from shoal.api.forecasts.zipf_table import ask_zipf_table  # loads the engines, which no other question needs

        alone(words, "table", "counts", "exponent")
        return ask_zipf_table(words, _thresholds)
    for word in ("unit", "time", "records_per_row"):
        if words.get(word) is not None:
            raise UsageError(f"{word} says something about a table only.", hint="Give table='FILE:column' as well.")
    people, records = needed(words, "people"), words.get("records", 1)
    k, counts = words.get("k", 2), words.get("counts")
    more: dict[str, Any] = {}
    data, beyond = None if counts is None else _visits(counts), 0
    if data is None:
        exponent = needed(words, "exponent", hint="With places; or counts, to fit it.")
        law = Zipf(exponent, needed(words, "places"))
    else:
        fitted = fit_zipf(data, method=words.get("fit", "mle"))
        beyond = _beyond(words, fitted.places)
        law = Zipf(fitted.c, fitted.places + beyond)
        more["fit"] = {"exponent": fitted.c, "places": fitted.places, "r2": fitted.r2, "ks": fitted.ks, "method": fitted.method}
    answer = expected_share(law, people, records, k=k)
    if beyond:
        said = f"The law was fitted to {law.d - beyond:,} places and carried on to {law.d:,}: an extrapolation."
        answer = replace(answer, grade="C", notes=(*answer.notes, said))
    more |= _thresholds(law, people, records, k)
    limit = words.get("limit")
    if limit is not None:
        more["records_allowed"] = pseudonym_life(law, people, limit, k=k)
    what = f"expected share of people in cells with fewer than {k}"
    return Prediction(what, answer, more, partial(draw_zipf, data, law, people, records, k))


def _visits(counts: Counted) -> list[float]:
    """Visits per place; a column of identifiers is refused."""
    data = counted(counts)
    if isinstance(counts, str | Path) and are_identifiers(data, str(counts)):
        raise UsageError(
            "the column named for counts holds identifiers, not counts.",
            hint="To count the rows per value: --table FILE:column. Else name the column of visits: --counts FILE:column.",
        )
    return data


def _beyond(words: ZipfWords, fitted: int) -> int:
    """How many more places are asked for than were counted."""
    places = words.get("places")
    if words.get("exponent") is not None:
        raise UsageError("the exponent is fitted to the counts and not given as well.", hint="Leave out exponent or counts.")
    if places is not None and places < fitted:
        raise UsageError(
            f"places is {places:,}, but {fitted:,} places were counted.", hint="Leave out places, or name at least as many."
        )
    return 0 if places is None else places - fitted


def _thresholds(law: Zipf, people: int, records: int, k: int) -> dict[str, Any]:
    """The rank beyond which cells expect fewer than k people, and the share of people beyond it; nothing for equal places."""
    if law.c <= 0:
        return {}
    rank = threshold_rank(law, people, records, k=k)
    below = share_below(law, rank, records).value
    return {"threshold_rank": rank, "mean_rank": rank ** (1 / records), "share_below_threshold": below}
