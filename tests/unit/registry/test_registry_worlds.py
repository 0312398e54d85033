"""No statement of ``decide`` contradicts a population that the published counts allow, also beside records full of lies.

The full run is ``benchmarks/registry_decide/worlds.py``.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shoal.registry.answer.decide import decide
from shoal.registry.answer.query import Registry

_SPEC = importlib.util.spec_from_file_location(
    "registry_worlds", Path(__file__).parents[3] / "benchmarks" / "registry_decide" / "worlds.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
worlds = importlib.util.module_from_spec(_SPEC)
sys.modules["registry_worlds"] = worlds
_SPEC.loader.exec_module(worlds)
LEEDS = "UK/Leeds@2019"


@pytest.mark.parametrize(("country", "seed"), [("UK", 1), ("NL", 2), ("KE", 3), ("US", 4), ("other countries", 5)])
def test_nothing_said_is_false_and_no_lie_puts_anything_within(country: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counted = worlds.check(list(rng.permutation(worlds.places()[country])), 8, rng)
    assert counted["false"] == counted["false beside lies"] == 0
    assert counted["turned to within by a lie"] == counted["a set only by a lie"] == 0
    assert counted["decisions"] == 8
    assert country not in ("UK", "NL", "KE") or counted["attributes not known"] == 0


def test_what_is_false_is_noticed() -> None:
    record = worlds.counted_record(LEEDS)
    people = worlds.world(record, np.random.default_rng(0), wild=False)
    true = decide(Registry(), ["age/years", "sex"], LEEDS, group_size=100)
    assert worlds.false_claims(true, people) == []
    lower = replace(true.before, value=0.01, low=0.0, high=0.02)
    assert worlds.false_claims(replace(true, before=lower), people) == ["interval", "within"]
    higher = replace(true.before, value=0.6, low=0.58, high=0.62)
    assert worlds.false_claims(replace(true, before=higher, target=0.56), people) == ["interval", "beyond"]
    assert worlds.false_claims(replace(true, enough=true.enough - 20), people) == ["enough"]
    assert worlds.false_claims(replace(true, sets=((("age/years", "sex"), lower),)), people) == ["set ('age/years', 'sex')"]
    line = replace(
        true.lines[0], advice="do not collect", code=None, reason="even with age/20y beside sex at least 12.3% are unique"
    )
    assert len(worlds.false_claims(replace(true, lines=(line, true.lines[1])), people)) == 1


def test_the_truth_of_a_world_is_that_of_every_draw() -> None:
    people = np.zeros((worlds.OLDEST_AGE, 2, 1), dtype=int)
    people[3, 0, 0], people[4, 1, 0], people[30, 0, 0] = 1, 2, 3
    pairs = {"age/years": (1 * 5 + 2 * 4 + 3 * 3) / 30, "sex": (4 * 2 + 2 * 4) / 30, "age/5y": (3 * 3 + 3 * 3) / 30}
    for code, share in pairs.items():
        assert worlds.truth(people, [code], 2) == pytest.approx(share)
    assert worlds.truth(people, ["age/years"], 6) == worlds.truth(people, ["age/years"], 100) == pytest.approx(1 / 6)
