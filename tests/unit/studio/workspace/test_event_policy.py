"""The policy of an event release: what is published, what is left out, and where its numbers end."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.errors import UsageError
from shoal.release.policy.policy import Policy
from shoal.studio.workspace.edits import MOST_KNOWN, event_policy

COLUMNS = ("card", "at", "station", "name", "age", "fare", "illness")
TABLE = Policy.of(
    quasi=["age", "at", "station"], direct=["name"], sensitive=["illness"], insensitive=["fare"], unit="card", k=5
)  # fmt: skip
ASKED: dict[str, Any] = {"time": "at", "place": "station", "records": 2, "k": 5, "suppress": 0.05}


def test_harmless_columns_are_published_and_no_others() -> None:
    made = Policy.parse(event_policy(TABLE, COLUMNS, **ASKED))
    assert made.events is not None
    assert (made.events.unit, made.events.time, made.events.place) == ("card", "at", ("station",))
    assert set(made.direct) == {"name", "age", "illness"}
    assert set(made.insensitive) == {"fare"}
    assert made.suppress == 0.05
    (asked,) = made.requirements
    assert (asked.name, asked.records, asked.k) == ("known.2", 2, 5)  # type: ignore[attr-defined]
    timeless = Policy.parse(event_policy(TABLE, COLUMNS, **(ASKED | {"time": ""})))
    assert timeless.events is not None
    assert timeless.events.time is None
    assert "at" in timeless.direct, "a time that nobody chose is left out"


@pytest.mark.parametrize("fits", [{"records": 1}, {"records": MOST_KNOWN}, {"k": 2}, {"suppress": 0.0}, {"suppress": 1.0}])
def test_at_the_limits(fits: dict[str, Any]) -> None:
    assert Policy.parse(event_policy(TABLE, COLUMNS, **(ASKED | fits))).events is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"records": 0},
        {"records": MOST_KNOWN + 1},
        {"k": 1},
        {"suppress": -0.01},
        {"suppress": 1.01},
        {"time": "", "place": ""},
        {"place": "at"},
        {"time": "card"},
    ],
)
def test_one_step_beside_them(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        event_policy(TABLE, COLUMNS, **(ASKED | wrong))


def test_without_a_person_there_are_no_events() -> None:
    with pytest.raises(UsageError, match="who a row belongs to"):
        event_policy(Policy.of(quasi=["age"], insensitive=["at"], k=5), ("age", "at"), **(ASKED | {"place": ""}))
