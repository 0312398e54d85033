"""A linkage model: how often each level of agreement occurs among pairs of one person (m) and of two people (u).

The weight of a level is log2(m/u); fields are taken as independent within each of the two kinds of pairs (Fellegi and Sunter
1969). A model holds no values of people and can be kept as a file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.disk.atomic import atomic
from shoal.errors import DataError, UsageError, refuse
from shoal.linkage.records import Field
from shoal.linkage.similarity import LEVELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.records import Field, Records


USUAL: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "given": ((0.03, 0.03, 0.08, 0.01, 0.85), (0.955, 0.03, 0.005, 0.00001, 0.00999)),
    "family": ((0.08, 0.03, 0.09, 0.80), (0.972, 0.02, 0.004, 0.004)),
    "birth": ((0.01, 0.03, 0.06, 0.90), (0.962, 0.035, 0.0029, 0.0001)),
    "sex": ((0.01, 0.99), (0.5, 0.5)),
    "postcode": ((0.12, 0.06, 0.05, 0.77), (0.94, 0.055, 0.004, 0.001)),
    "phone": ((0.35, 0.05, 0.60), (0.99984, 0.0001, 0.00006)),
    "email": ((0.35, 0.10, 0.55), (0.99944, 0.0005, 0.00006)),
    "number": ((0.02, 0.05, 0.93), (0.99997, 0.00002, 0.00001)),
    "text": ((0.15, 0.07, 0.08, 0.70), (0.925, 0.05, 0.01, 0.015)),
}
"""What is assumed before any data: m and u of each level, for people in a register of a country or hospital."""


@dataclass(frozen=True)
class Model:
    """m and u of each level by field, and the share of pairs that are of one person (``prior``)."""

    fields: tuple[Field, ...]
    m: tuple[NDArray[np.float64], ...]
    u: tuple[NDArray[np.float64], ...]
    prior: float

    @classmethod
    def usual(cls, fields: Sequence[Field], prior: float) -> Model:
        """The model before any data."""
        m, u = zip(*(USUAL[f.kind] for f in fields), strict=True)
        return cls(tuple(fields), tuple(map(np.array, m)), tuple(map(np.array, u)), prior)

    def weights(self, place: int) -> NDArray[np.float64]:
        """The weight of each level of a field, and 0 at the end for a missing one."""
        return np.append(np.log2(self.m[place] / self.u[place]), 0.0)

    def to_json(self) -> dict[str, Any]:
        def field_view(place: int) -> dict[str, Any]:
            field = self.fields[place]
            rows = zip(LEVELS[field.kind], self.m[place], self.u[place], self.weights(place), strict=False)
            kept = {
                name: {"m": float(f"{m:.6g}"), "u": float(f"{u:.6g}"), "weight": round(float(w), 3)} for name, m, u, w in rows
            }
            return {"field": field.name, "kind": field.kind, "check": field.check, "levels": kept}

        return {
            "shoal_linkage_model": 1,
            "prior": float(f"{self.prior:.6g}"),
            "fields": [field_view(i) for i in range(len(self.fields))],
        }

    def write(self, path: str | Path) -> None:
        """Keep the model as a JSON file."""
        with atomic(Path(path)) as temporary:
            temporary.write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: str | Path) -> Model:
        try:
            body = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls.from_json(body)
        except (OSError, ValueError, KeyError, TypeError):
            hint = "`shoal link --save-model` writes one."
            raise DataError(f"'{Path(path).name}' is not a linkage model.", hint=hint) from None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Model:
        if body["shoal_linkage_model"] != 1:
            raise ValueError
        fields: list[Field] = []
        m: list[NDArray[np.float64]] = []
        u: list[NDArray[np.float64]] = []
        for part in body["fields"]:
            field = Field(str(part["field"]), str(part["kind"]), str(part["check"]))
            rows = [part["levels"][name] for name in LEVELS[field.kind]]
            for side, name in ((m, "m"), (u, "u")):
                shares = np.array([float(row[name]) for row in rows])
                if not (np.isfinite(shares).all() and (shares > 0).all() and abs(shares.sum() - 1) < 1e-4):
                    raise ValueError
                side.append(shares / shares.sum())
            fields.append(field)
        prior = float(body["prior"])
        if not fields or not 0 < prior < 1:
            raise ValueError
        return cls(tuple(fields), tuple(m), tuple(u), prior)

    def for_fields(self, fields: Sequence[Field]) -> Model:
        """This model for the fields of records, which it must know by name and kind, in their order."""
        known = {(f.name, f.kind): place for place, f in enumerate(self.fields)}
        with refuse(UsageError("the model was fitted for other fields.", hint="Name the same columns and kinds."), KeyError):
            places = [known[f.name, f.kind] for f in fields]
        return Model(tuple(fields), tuple(self.m[p] for p in places), tuple(self.u[p] for p in places), self.prior)


STEADY = 100.0
"""Records that the average share counts as, beside the values found: a small table does not tell which names are rare."""

OWN = {"number": 10, "email": 10, "phone": 10}
"""Records that may be of the two who are compared: so many of one number or address say nothing about others who have it."""

BY_VALUE = frozenset({"given", "family", "postcode", "text", "email", "phone", "number", "birth"})


def weigh(
    model: Model,
    records: Records,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    levels: NDArray[np.int8],
    *,
    seen: Mapping[str, Counter[str]] | None = None,
) -> NDArray[np.float64]:
    """The sum of the weights of all fields of each pair.

    Exact agreement on a value has weight log2(m/f) with the value's own share f of the records in place of u, drawn towards u
    where records are few. ``seen`` counts the values by field, where the records are only some of those that are known.
    """
    total = np.zeros(len(left))
    for place, field in enumerate(model.fields):
        weights = model.weights(place)[levels[:, place]]
        if field.kind in BY_VALUE:
            exact = levels[:, place] == len(LEVELS[field.kind]) - 1
            values = records.values[field.name]
            counts = Counter(v for v in values if v is not None) if seen is None else seen[field.name]
            shares = _shares(values, counts, float(model.u[place][-1]), OWN.get(field.kind, 2))
            weights[exact] = np.log2(model.m[place][-1] / shares[left[exact]])
        total += weights
    return total


def _shares(values: NDArray[np.object_], seen: Counter[str], usual: float, own: int) -> NDArray[np.float64]:
    """For each record, the share of other people's records with its value (``own`` of them set aside).

    :data:`STEADY` records count as having the usual share.
    """
    known = sum(seen.values())
    return np.array([1.0 if v is None else (max(seen[v] - own, 0) + STEADY * usual) / (known + STEADY) for v in values])


PRIOR_PAIRS = 5.0
STEPS = 500


def fit(patterns: NDArray[np.int8], counts: NDArray[np.float64], fields: Sequence[Field], *, seen: int) -> Model:
    """The model of highest likelihood near the usual one. ``seen`` pairs were looked at: no u is below half a pair of them."""
    total = float(counts.sum())
    usual = Model.usual(fields, prior=0.5)
    chosen = [[(patterns[:, place] == level) for level in range(len(usual.m[place]))] for place in range(len(fields))]
    u = [_level_shares([float(counts[c].sum()) for c in chosen[p]], usual.u[p], 0.5 / seen) for p in range(len(fields))]
    model = Model(tuple(fields), usual.m, tuple(u), prior=min(0.5, 1.0 / np.sqrt(total)))
    for _ in range(STEPS):
        matched = counts * posterior(model, patterns)
        m = [_level_shares([float(matched[c].sum()) for c in chosen[p]], usual.m[p]) for p in range(len(fields))]
        apart = counts - matched
        u = [_level_shares([float(apart[c].sum()) for c in chosen[p]], usual.u[p], 0.5 / seen) for p in range(len(fields))]
        prior = (float(matched.sum()) + 0.5) / (total + 1.0)
        made = Model(tuple(fields), tuple(m), tuple(u), prior)
        change = max(float(np.abs(a - b).max()) for a, b in zip(made.m, model.m, strict=True))
        model = made
        if change < 1e-6:
            break
    return model


def of_strangers(patterns: NDArray[np.int8], fields: Sequence[Field], prior: float) -> Model:
    """The usual model with u as it is found among pairs of strangers: how often two people of a register agree."""
    usual = Model.usual(fields, prior=prior)
    counts = [[float((patterns[:, p] == level).sum()) for level in range(len(usual.u[p]))] for p in range(len(fields))]
    u = tuple(_level_shares(counts[p], usual.u[p], 0.5 / max(len(patterns), 1)) for p in range(len(fields)))
    return Model(usual.fields, usual.m, u, prior)


def posterior(model: Model, patterns: NDArray[np.int8]) -> NDArray[np.float64]:
    """The chance that a pair of each pattern is one person."""
    weight = sum((model.weights(place)[patterns[:, place]] for place in range(len(model.fields))), np.zeros(len(patterns)))
    return chance(weight, model.prior)


def chance(weight: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    """From a weight (log2 of odds against the prior odds) to a probability.

    >>> chance(np.array([0.0, 1.0]), 0.5).round(3).tolist()
    [0.5, 0.667]
    """
    odds = weight + np.log2(prior / (1 - prior))
    return np.asarray(1.0 / (1.0 + np.exp2(-np.clip(odds, -1000, 1000))))


def _level_shares(pairs: Sequence[float], usual: NDArray[np.float64], least: float = 0.0) -> NDArray[np.float64]:
    """Shares of levels with the usual ones as prior counts, none below ``least``."""
    raised = np.asarray(pairs) + PRIOR_PAIRS * usual
    kept = np.maximum(raised / raised.sum(), least)
    return np.asarray(kept / kept.sum())
