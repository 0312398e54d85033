"""Are all people of a group unique, and how many are?"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Unpack

from shoal.api.forecasts.given import alone, counted, needed
from shoal.api.forecasts.prediction import Prediction, draw_kappa, draw_power_sums, draw_singletons, draw_uniqueness
from shoal.api.forecasts.words import Cells, SingletonsWords, UniquenessWords
from shoal.errors import UsageError
from shoal.prediction import (
    Distribution,
    largest_mean,
    singletons,
    singletons_from_kappa,
    uniqueness,
    uniqueness_from_kappa,
    uniqueness_from_power_sums,
    variance_from_kappa,
)


def ask_uniqueness(**words: Unpack[UniquenessWords]) -> Prediction:
    """The probability that all people of a group are unique."""
    size, kappa, sums = words["group_size"], words.get("kappa"), words.get("power_sums")
    if kappa is not None:
        alone(words, "kappa", "uniform", "counts", "p", "power_sums")
        cells, top = needed(words, "cells"), words.get("p_max")
        answer = uniqueness_from_kappa(kappa, cells, size, p_max=top)
        draw = partial(draw_kappa, kappa, cells, top, size, True)
        return Prediction(f"probability that all {size} people are unique", answer, {}, draw)
    if sums is not None:
        alone(words, "power_sums", "uniform", "counts", "p")
        error = words.get("sums_error")
        digits = _rounding(sums) if isinstance(sums, str) else 0.0
        numbers = [float(x) for x in _parts(sums)] if isinstance(sums, str) else sums
        off, top = digits if error is None else error, words.get("p_max")
        ask = partial(uniqueness_from_power_sums, numbers, p_max=top, cells=words.get("cells"), error=off)
        answer, draw = ask(size), partial(draw_power_sums, ask, words.get("cells"), size)
    else:
        known = _distribution(words)
        answer, draw = uniqueness(known, size, method=words.get("method", "auto")), partial(draw_uniqueness, known, size)
    return Prediction(f"probability that all {size} people are unique", answer, {}, draw)


def ask_singletons(**words: Unpack[SingletonsWords]) -> Prediction:
    """How many people of a group will be unique, and how likely it is that nobody is."""
    size, kappa = words["group_size"], words.get("kappa")
    what = f"expected number of unique people among {size}"
    if kappa is not None:
        alone(words, "kappa", "uniform", "counts", "p", "sizes", "law", "best")
        n, p_max = needed(words, "cells"), words.get("p_max")
        spread = variance_from_kappa(kappa, n, size, p_max=p_max)
        draw = partial(draw_kappa, kappa, n, p_max, size, False)
        return Prediction(what, singletons_from_kappa(kappa, n, size, p_max=p_max), {"variance": spread.value}, draw)
    known = _distribution(words)
    found = singletons(known, size)
    more = {name: value for name, value in found.to_json().items() if name not in found.mean.to_json()}
    if words.get("sizes"):
        more["in_groups_of"] = {str(j): found.in_groups_of(j).value for j in range(1, words["sizes"] + 1)}
    if words.get("law"):
        more |= {"pmf": found.pmf(), "interval": found.interval()}
    if words.get("best"):
        at, most = largest_mean(known)
        more["best"] = {"group_size": at, "mean": most}
    return Prediction(what, found.mean, more, partial(draw_singletons, known, size))


def _distribution(words: Cells) -> Distribution:
    uniform, counts, p = words.get("uniform"), words.get("counts"), words.get("p")
    if sum(x is not None for x in (uniform, counts, p)) != 1:
        raise UsageError("give exactly one of uniform, counts and p.", hint="Or kappa with cells.")
    if uniform is not None:
        return Distribution.uniform(uniform)
    if counts is not None:
        return Distribution.counts(counted(counts), cells=words.get("cells"))
    return Distribution.of(p, normalize=words.get("normalize", False))


def _parts(text: str) -> list[Decimal]:
    try:
        return [Decimal(x.strip()) for x in text.split(",") if x.strip()]
    except InvalidOperation:
        raise UsageError("numbers are given as 0.4,0.3,0.3.") from None


def _rounding(text: str) -> list[float]:
    """How far each number may be off, relative to it, when its last digit was rounded.

    >>> _rounding("0.0105,2.5e-4")
    [0.004761904761904762, 0.02]
    """
    return [float(Decimal(5).scaleb(int(p.as_tuple().exponent) - 1) / abs(p)) if p else 0.0 for p in _parts(text)]
