"""Requirements as a policy says them: the ``require`` part, in plain values, and back.

::

    require:
      k: 5
      k_map: 20                                   # with a population table
      risk: {prosecutor: 0.09, journalist: 0.09, marketer: 0.05, average: 0.05}
      uniqueness: {sample: 0.1, population: {share: 0.01, of: 17500000, method: dankar}}
      diversity: {diagnosis: {distinct: 3, p_sensitive: 3, entropy: 2.5, recursive: {c: 3, l: 2}, alpha: 0.5}}
      closeness: {diagnosis: {t: 0.2, distance: ordered, delta: 1.5, beta: 1, enhanced_beta: 1}}
      linkage: 0.05                               # share of records that one known value may find
      known: {records: 2, k: 5}                   # event tables; a list of such groups for several
      unicity: {records: 4, share: 0.05}

A list of texts (``["k>=5", "t[diagnosis]<=0.2"]``) says the same. Nothing is said twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from shoal.errors import PolicyError, nearest
from shoal.model.requirement.closeness import BasicBeta, DeltaDisclosure, EnhancedBeta, TCloseness
from shoal.model.requirement.diversity import AlphaK, DistinctDiversity, EntropyDiversity, PSensitive, RecursiveDiversity
from shoal.model.requirement.known import KnownRecords, Unicity
from shoal.model.requirement.root import Requirement
from shoal.model.requirement.sizes import K, KMap, MaxRisk
from shoal.model.requirement.table import AverageRisk, Linkage, PopulationUniqueness, SampleUniqueness

_PARTS = ("k", "k_map", "risk", "uniqueness", "diversity", "closeness", "linkage", "known", "unicity")
_RISKS = ("average", "journalist", "marketer", "prosecutor")
_DIVERSITY = ("distinct", "p_sensitive", "entropy", "recursive", "alpha")
_CLOSENESS = ("t", "delta", "beta", "enhanced_beta")


def requirements_of(require: Mapping[str, Any] | Sequence[str]) -> tuple[Requirement, ...]:
    """The requirements of a ``require`` part, in their order.

    >>> requirements_of({"k": 5, "closeness": {"ill": {"t": 0.2}}})
    (K(k=5), TCloseness(column='ill', t=0.2, distance='equal', hierarchy=None))
    >>> requirements_of(["t[ill]<=0.2", "k>=5"]) == _
    True
    """
    if not isinstance(require, Mapping):
        return ordered(Requirement.parse(text) for text in require)
    _known(require, _PARTS, "require")
    out: list[Requirement] = []
    if "k" in require:
        out.append(K(require["k"]))
    if "k_map" in require:
        out.append(KMap(require["k_map"]))
    for name, limit in _group(require, "risk", _RISKS).items():
        out.append(MaxRisk(limit, name) if name in ("prosecutor", "journalist") else AverageRisk(limit, name))  # type: ignore[arg-type]
    out += _uniqueness(_group(require, "uniqueness", ("sample", "population")))
    for column in _group(require, "diversity"):
        out += _diversity(column, _group(require["diversity"], column, _DIVERSITY, "require.diversity"))
    for column in _group(require, "closeness"):
        out += _closeness(column, _group(require["closeness"], column, (*_CLOSENESS, "distance"), "require.closeness"))
    if "linkage" in require:
        out.append(Linkage(require["linkage"]))
    out += [KnownRecords(g["records"], g["k"]) for g in _groups(require, "known", ("records", "k"))]
    out += [Unicity(g["records"], g["share"]) for g in _groups(require, "unicity", ("records", "share"))]
    return ordered(out)


def require_of(requirements: Iterable[Requirement]) -> dict[str, Any]:
    """The ``require`` part that says these requirements.

    >>> require_of([K(5), TCloseness("ill", 0.2)])
    {'k': 5, 'closeness': {'ill': {'t': 0.2, 'distance': 'equal'}}}
    """
    out: dict[str, Any] = {}
    for r in ordered(requirements):
        if isinstance(r, KnownRecords | Unicity):
            _add(out, r.kind, {"records": r.records, r.bound: r.limit})
            continue
        node = out
        for part in r.place[:-1]:
            node = node.setdefault(part, {})
        node[r.place[-1]] = _plain(r)
        if isinstance(r, TCloseness):
            node["distance"] = r.distance
    return out


def ordered(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Requirements in the order of a policy; one that is said twice is refused."""
    out = sorted(requirements, key=_order)
    for one, other in pairwise(out):
        if one.place == other.place:
            raise PolicyError(
                f"'require.{one.name}' is said twice.", hint="Keep the stricter of the two.", path=f"require.{one.name}"
            )
    return tuple(out)


def _order(r: Requirement) -> tuple[int, str, int, str]:
    head, last = r.place[0], r.place[-1]
    words = {"diversity": _DIVERSITY, "closeness": _CLOSENESS, "uniqueness": ("sample", "population")}.get(head, ())
    part = _PARTS.index(head) if head in _PARTS else len(_PARTS)
    return part, r.sensitive or "", words.index(last) if last in words else 0, last


def _plain(r: Requirement) -> Any:
    if isinstance(r, RecursiveDiversity):
        return {"c": r.c, "l": r.l}
    if isinstance(r, PopulationUniqueness):
        return {"share": r.share, "of": r.population, "method": r.method}
    return r.limit


def _uniqueness(said: Mapping[str, Any]) -> list[Requirement]:
    out: list[Requirement] = [SampleUniqueness(said["sample"])] if "sample" in said else []
    if "population" in said:
        of = _group(said, "population", ("share", "of", "method"), "require.uniqueness")
        _needs(of, ("share", "of"), "require.uniqueness.population")
        out.append(PopulationUniqueness(of["share"], of["of"], of.get("method", "dankar")))
    return out


def _diversity(column: str, said: Mapping[str, Any]) -> list[Requirement]:
    out: list[Requirement] = []
    if "distinct" in said:
        out.append(DistinctDiversity(column, said["distinct"]))
    if "p_sensitive" in said:
        out.append(PSensitive(column, said["p_sensitive"]))
    if "entropy" in said:
        out.append(EntropyDiversity(column, said["entropy"]))
    if "recursive" in said:
        pair = _group(said, "recursive", ("c", "l"), f"require.diversity.{column}")
        _needs(pair, ("c", "l"), f"require.diversity.{column}.recursive")
        out.append(RecursiveDiversity(column, pair["c"], pair["l"]))
    if "alpha" in said:
        out.append(AlphaK(column, said["alpha"]))
    return out


def _closeness(column: str, said: Mapping[str, Any]) -> list[Requirement]:
    out: list[Requirement] = []
    if "distance" in said:
        _needs(said, ("t",), f"require.closeness.{column}")
    if "t" in said:
        out.append(TCloseness(column, said["t"], said.get("distance", "equal")))
    if "delta" in said:
        out.append(DeltaDisclosure(column, said["delta"]))
    if "beta" in said:
        out.append(BasicBeta(column, said["beta"]))
    if "enhanced_beta" in said:
        out.append(EnhancedBeta(column, said["enhanced_beta"]))
    return out


def _groups(said: Mapping[str, Any], name: str, needed: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """One group, or a list of groups, of the same names."""
    found = said.get(name, [])
    listed = found if isinstance(found, list | tuple) else [found]
    out = []
    for one in listed:
        group = _group({name: one}, name, needed)
        _needs(group, needed, f"require.{name}")
        out.append(group)
    return out


def _add(out: dict[str, Any], name: str, group: dict[str, Any]) -> None:
    """One group stands by itself, several in a list."""
    before = out.get(name)
    out[name] = group if before is None else [*(before if isinstance(before, list) else [before]), group]


def _group(said: Mapping[str, Any], name: str, known: tuple[str, ...] = (), place: str = "require") -> Mapping[str, Any]:
    """A group of 'name: value' lines; empty where it is not said."""
    found = said.get(name, {})
    if not isinstance(found, Mapping):
        raise PolicyError(f"'{place}.{name}' is not a group of 'name: value' lines.", path=f"{place}.{name}")
    if known:
        _known(found, known, f"{place}.{name}")
    return found


def _known(said: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for name in said:
        if name not in known:
            close = nearest(name, known)
            hint = (f"Did you mean '{close}'? " if close else "") + f"Known here: {', '.join(known)}."
            raise PolicyError(f"'{place}.{name}' is not known in a policy.", hint=hint, path=f"{place}.{name}")


def _needs(said: Mapping[str, Any], names: tuple[str, ...], place: str) -> None:
    for name in names:
        if name not in said:
            raise PolicyError(f"'{place}' lacks '{name}'.", hint=f"Add '{name}:' there.", path=place)
