"""A first set of records: from generated people, or from tables of counts.

The records are real computations under a key that is made for the occasion; their method says what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from shoal.errors import DataError, RequirementError
from shoal.kernels.signatures import signer
from shoal.model.display import Progress
from shoal.registry.keep.builtin import BuiltIn
from shoal.registry.keep.store import Store
from shoal.registry.publish.proposals import Ledger, propose, publish
from shoal.registry.records.population import Population

DATE = "2025-01-01"
Topic = tuple[tuple[str, ...], str, list[int], int]
"""Codes, population, cell counts, number of possible cells."""


def fill(store: Store, counted: Iterable[Topic] = (), *, progress: Progress = lambda done, what: None) -> dict[str, Any]:
    """Publish the topics that were ``counted`` in public tables, or those of generated people, into a store."""
    public = list(counted)
    topics = public or list(_generated())
    holder = "Seed from public population tables" if public else "Seed from generated people"
    method = "complete count" if public else "generated"
    key, ledger, records = signer(), Ledger(), []
    left_out = 0
    for number, (codes, population, counts, cells) in enumerate(topics):
        try:
            people = Population.parse(population)
            proposal = propose(counts, codes, people, holder=holder, date=DATE, cells=cells, method=method, ledger=ledger)
            records.append(publish(proposal, key, ledger))
        except (DataError, RequirementError):  # too few people, alone or as what is left of the whole
            left_out += 1
        progress(number / len(topics), "summarising populations")
    store.submit_many(records)
    return {
        "records": len(records),
        "populations": len({r.population for r in records}),
        "left_out": left_out,
        "source": "public tables" if public else "generated people",
        "key": key.public,
    }


def fill_built_in(store: Store, so_far: dict[str, Any]) -> dict[str, Any]:
    """Copy the records of real places that come with Shoal into a store, beside what was published so far."""
    records = list(BuiltIn().every())
    store.submit_many(records)
    more = {"records": so_far["records"] + len(records), "source": f"public population tables and {so_far['source']}"}
    return {**so_far, **more, "populations": so_far["populations"] + len({r.population for r in records})}


def bands(counts: np.ndarray[Any, Any], width: int) -> list[int]:
    """Counts of single years joined into bands."""
    return [int(counts[i : i + width].sum()) for i in range(0, len(counts), width)]


def age_topics(population: str, by_sex: dict[str, np.ndarray[Any, Any]], width: int = 1) -> Iterator[Topic]:
    """Age, sex and both together, in every coding that the table allows."""
    both = np.sum(list(by_sex.values()), axis=0)
    names = {1: "age/years", 5: "age/5y", 10: "age/10y", 20: "age/20y"}
    for step, code in names.items():
        if step % width:
            continue
        one = bands(both, step // width)
        yield (code,), population, one, len(one)
        joint = [c for counts in by_sex.values() for c in bands(counts, step // width)]
        yield (code, "sex"), population, joint, len(joint)
    yield ("sex",), population, [int(c.sum()) for c in by_sex.values()], len(by_sex)


def _generated(people: int = 200_000, largest: int = 25) -> Iterator[Topic]:
    """Age and sex in the largest municipalities of the generated country, and in the whole."""
    import pyarrow.compute as pc

    from shoal import datasets
    from shoal.datasets.country import OLDEST, REFERENCE_YEAR

    table = datasets.people(people, seed=2026)
    age = np.minimum(REFERENCE_YEAR - pc.year(table["date_of_birth"]).to_numpy(), OLDEST)
    sex = np.array(table["sex"].cast("string").to_pylist())
    place = np.array(table["municipality"].cast("string").to_pylist())
    names, sizes = np.unique(place, return_counts=True)
    for name in ("", *names[np.argsort(-sizes, kind="stable")][:largest].tolist()):
        here = (place == name) if name else np.ones(len(place), dtype=bool)
        by_sex = {s: np.bincount(age[here & (sex == s)], minlength=OLDEST + 1) for s in ("F", "M")}
        yield from age_topics(f"Shoalland/{name}@2026" if name else "Shoalland@2026", by_sex)
