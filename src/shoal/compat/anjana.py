"""anjana's functions (``anjana.anonymity``) through Shoal's search and proof: the same names and arguments, a pandas frame back.

Where the answers differ, and why:

* the plan that loses least is searched for; anjana climbs until something fits, and loses more;
* every answer is counted again before it is given; if no plan meets the requirements, an error says so;
* suppressed rows are gone and the rest is shuffled, with a new index: row numbers would tell where rows were left out;
* columns of ``ident`` are left out, not filled with ``*``;
* recursive (c,l), δ, β and t are judged as in :mod:`shoal.compat.pycanon`.

``hierarchies`` has the levels of each quasi-identifier, ``{0: values, 1: groups, …}``: ``dict(pd.read_csv(FILE, header=None))``.
``supp_level`` is the share of records that may be left out, in percent.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.api.anonymize import anonymize
from shoal.disk import atomic as folder
from shoal.errors import UsageError

__all__ = [
    "alpha_k_anonymity", "basic_beta_likeness", "delta_disclosure", "enhanced_beta_likeness", "entropy_l_diversity",
    "k_anonymity", "l_diversity", "recursive_c_l_diversity", "t_closeness",
]  # fmt: skip

Names = Iterable[str]
Levels = Mapping[str, Mapping[int, Sequence[Any]]]


def k_anonymity(data: Any, ident: Names, quasi_ident: Names, k: int, supp_level: float, hierarchies: Levels) -> Any:
    """Everybody is alike with at least k - 1 others."""
    return _anonymize(data, ident, quasi_ident, [], {"k": k}, supp_level, hierarchies)


def _also(name: str, text: str, kind: str, rule: Callable[..., dict[str, Any]], *numbers: str) -> Callable[..., Any]:
    """The function ``name``: k, and ``rule`` of the sensitive column, made from the ``numbers`` that stand behind k."""
    names = ("data", "ident", "quasi_ident", "sens_att", "k", *numbers, "supp_level", "hierarchies")
    signature = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])

    def function(*given: Any, **named: Any) -> Any:
        values = signature.bind(*given, **named).arguments
        data, ident, quasi, column, k, *bounds, supp_level, hierarchies = (values[n] for n in names)
        requirements = rule(*bounds)
        if "t" in requirements:
            numeric = column in data.columns and getattr(data[column].dtype, "kind", "O") in "iuf"
            requirements["distance"] = "ordered" if numeric else "equal"
        return _anonymize(data, ident, quasi, [column], {"k": k, kind: {column: requirements}}, supp_level, hierarchies)

    function.__name__, function.__qualname__, function.__doc__ = name, name, text
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


_alpha = "k, and no sensitive value with a share above ``alpha`` in a class."
_distinct = "k, and at least ``l_div`` different sensitive values in every class."
_entropy = "k, and an entropy of at least log ``l_div`` in every class."
_recursive = "k, and recursive (c,l)-diversity in every class."
_t = "k, and every class at most ``t`` from the table: by the order of numbers, equal distance for text."
alpha_k_anonymity = _also("alpha_k_anonymity", _alpha, "diversity", lambda alpha: {"alpha": alpha}, "alpha")
l_diversity = _also("l_diversity", _distinct, "diversity", lambda l_div: {"distinct": l_div}, "l_div")
entropy_l_diversity = _also("entropy_l_diversity", _entropy, "diversity", lambda l_div: {"entropy": l_div}, "l_div")
recursive_c_l_diversity = _also(
    "recursive_c_l_diversity", _recursive, "diversity", lambda c, l_div: {"recursive": {"c": c, "l": l_div}}, "c", "l_div"
)
t_closeness = _also("t_closeness", _t, "closeness", lambda t: {"t": t}, "t")
basic_beta_likeness = _also("basic_beta_likeness", "k, and basic β-likeness.", "closeness", lambda b: {"beta": b}, "beta")
enhanced_beta_likeness = _also(
    "enhanced_beta_likeness", "k, and enhanced β-likeness.", "closeness", lambda b: {"enhanced_beta": b}, "beta"
)
delta_disclosure = _also("delta_disclosure", "k, and δ-disclosure.", "closeness", lambda d: {"delta": d}, "delta")


def _anonymize(
    data: Any,
    ident: Names,
    quasi_ident: Names,
    secret: list[str],
    asked: Mapping[str, Any],
    supp_level: float,
    hierarchies: Levels,
) -> Any:
    if isinstance(ident, str) or isinstance(quasi_ident, str):
        raise UsageError("ident and quasi_ident are lists of columns.", hint='Write ["age", "sex"].')
    if not 0 <= supp_level <= 100:
        raise UsageError(f"supp_level is a share in percent; {supp_level:g} is given.", hint="Write a number from 0 to 100.")
    quasi, direct = list(quasi_ident), [c for c in ident if c in data.columns]
    rest = [str(c) for c in data.columns if c not in {*quasi, *direct, *secret}]
    with folder.scratch() as place:
        release = anonymize(
            data,
            quasi={c: _levels(place / f"{i}.csv", hierarchies.get(c)) for i, c in enumerate(quasi)},
            direct=direct,
            sensitive=secret,
            insensitive=rest,
            require=asked,
            allow={"suppress": supp_level / 100, "loss": 1},  # anjana gives what is left
            method="lattice",  # one level per column, as anjana's
            format="parquet",
        )
        return release.to_pandas()


def _levels(file: Path, levels: Mapping[int, Sequence[Any]] | None) -> dict[str, Any]:
    """The rule of a policy for these levels; a column without levels stays as it is."""
    if not levels:
        return {"max_level": 0}
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter=";").writerows(zip(*(levels[i] for i in sorted(levels)), strict=True))
    return {"hierarchy": str(file)}
