"""pycanon's functions (``pycanon.anonymity``) with Shoal's counts: the same names, arguments and order of results.

Where the answers differ, and why:

* a missing value in a quasi-identifier is a value of its own; pycanon leaves such rows out, and claims a larger k;
* rows are rows, for any index of the frame; pycanon takes labels of the index for positions;
* entropy l is the largest whole l that holds (pycanon loses one to rounding for classes of 2, 3, 4, 6, 7, 8 and 10 equal shares);
* recursive (c,l): counts are taken in falling order, as defined: (8, 1, 1) has c = 9 for l = 3, not 1;
* δ-disclosure is infinite where a class lacks a value that the table has, as defined; pycanon skips such values;
* enhanced β is the smallest β that is enough, and infinite where none is; pycanon gives a bound of the bounds;
* t of a constant column is 0; pycanon stops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.api.arguments import opened
from shoal.api.measure import measure
from shoal.api.measurement import Measurement
from shoal.engines.files.frames import as_arrow
from shoal.errors import UsageError
from shoal.measures.classes.diversity import least_c, whole_diversity

__all__ = [
    "alpha_k_anonymity", "basic_beta_likeness", "delta_disclosure", "enhanced_beta_likeness", "entropy_l_diversity",
    "k_anonymity", "l_diversity", "recursive_c_l_diversity", "t_closeness",
]  # fmt: skip

Names = Iterable[str]


def k_anonymity(data: Any, quasi_ident: Names) -> int:
    """Size of the smallest class.

    >>> import pandas as pd
    >>> k_anonymity(pd.DataFrame({"a": ["x", "x", None]}), ["a"])
    1
    """
    return int(measure(data, quasi=_list_columns(quasi_ident, "quasi_ident"), sensitive=()).k)


def alpha_k_anonymity(data: Any, quasi_ident: Names, sens_att: Names, gen: bool = True) -> tuple[float, int]:
    """The largest share of one sensitive value in a class, and k."""
    alphas = _each(data, quasi_ident, sens_att, gen, lambda m, s: m.diversity[s].alpha)
    return max(alphas), k_anonymity(data, quasi_ident)


def l_diversity(data: Any, quasi_ident: Names, sens_att: Names, gen: bool = True) -> int:
    """The smallest number of different sensitive values in a class."""
    return int(min(_each(data, quasi_ident, sens_att, gen, lambda m, s: m.diversity[s].distinct)))


def entropy_l_diversity(data: Any, quasi_ident: Names, sens_att: Names, gen: bool = True) -> int:
    """The largest whole l such that the entropy of every class is at least log l.

    >>> import pandas as pd
    >>> entropy_l_diversity(pd.DataFrame({"a": ["x"] * 3, "s": list("uvw")}), ["a"], ["s"])
    3
    """
    return int(min(_each(data, quasi_ident, sens_att, gen, lambda m, s: whole_diversity(m.diversity[s].entropy))))


def recursive_c_l_diversity(
    data: Any, quasi_ident: Names, sens_att: Names, imp: bool = False, gen: bool = True
) -> tuple[float, int]:
    """The smallest whole c for recursive (c,l)-diversity, and the distinct l it is for; c is NaN where l is 1.

    ``imp`` is taken and does nothing: nothing is printed.
    """
    l_div = l_diversity(data, quasi_ident, sens_att)
    if l_div == 1:
        return math.nan, 1
    least = max(_each(data, quasi_ident, sens_att, gen, lambda m, s: least_c(m.counts, s, l=l_div)))
    return (math.inf if math.isinf(least) else math.floor(least) + 1), l_div


def basic_beta_likeness(data: Any, quasi_ident: Names, sens_att: Names, gen: bool = True) -> float:
    """The smallest β for basic β-likeness."""
    return max(_each(data, quasi_ident, sens_att, gen, lambda m, s: m.closeness[s].beta))


def enhanced_beta_likeness(data: Any, quasi_ident: Names, sens_att: Names, gen: bool = True) -> float:
    """The smallest β for enhanced β-likeness; infinite where none is enough."""
    return max(_each(data, quasi_ident, sens_att, gen, lambda m, s: m.closeness[s].enhanced_beta))


def t_closeness(data: Any, quasi_ident: Names, sens_att: Names, gen: bool = True) -> float:
    """The largest distance of a class to the table: ordered distance for numbers, equal distance for text."""
    return max(_each(data, quasi_ident, sens_att, gen, lambda m, s: m.closeness[s].t))


def delta_disclosure(data: Any, quasi_ident: Names, sens_att: Names, gen: bool = True) -> float:
    """The smallest δ for δ-disclosure; infinite where a class lacks a value."""
    return max(_each(data, quasi_ident, sens_att, gen, lambda m, s: m.closeness[s].delta_disclosure))


def _each(data: Any, quasi_ident: Names, sens_att: Names, gen: bool, number: Callable[[Measurement, str], float]) -> list[float]:
    """A number of each sensitive column; without ``gen`` the other sensitive columns are quasi-identifiers too."""
    quasi, secret = _list_columns(quasi_ident, "quasi_ident"), _list_columns(sens_att, "sens_att")
    table = opened(as_arrow(data) if not isinstance(data, pa.Table) else data)
    if gen:
        together = measure(table, quasi=quasi, sensitive=secret)
        return [float(number(together, s)) for s in secret]
    others = {s: [o for o in secret if o != s] for s in secret}
    return [float(number(measure(table, quasi=[*quasi, *others[s]], sensitive=[s]), s)) for s in secret]


def _list_columns(columns: Names, word: str) -> list[str]:
    if isinstance(columns, str):
        raise UsageError(f"{word} is one text.", hint='Write a list: ["age", "sex"].')
    names = [str(c) for c in np.asarray(list(columns), dtype=object)]
    if not names:
        raise UsageError(f"{word} names no column.", hint='Write a list: ["age", "sex"].')
    return names
