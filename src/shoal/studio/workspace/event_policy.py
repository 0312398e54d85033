"""The policy of an event release as a person asks for it: who, when, where, and how many must share what is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import UsageError
from shoal.release.policy import file as policy_file
from shoal.release.policy.policy import Policy

MOST_KNOWN = 4
"""Known records that may be asked about: every set of them is listed."""


def event_policy(policy: Policy, columns: Sequence[str], *, time: str, place: str, records: int, k: int, suppress: float) -> str:
    """The text of the policy. Columns that are harmless are published; every other one is left out, the guessed ones too."""
    if policy.unit is None:
        raise UsageError("it is not said who a row belongs to.", hint="Say on Measure which column names people.")
    if not time and not place:
        raise UsageError("neither a time nor a place is named.", hint="Choose what somebody may know of a record.")
    if time == place or policy.unit in (time, place):
        raise UsageError("one column cannot be two of person, time and place.", hint="Choose different ones.")
    if not 1 <= records <= MOST_KNOWN or k < 2:
        raise UsageError(f"known records are 1 to {MOST_KNOWN}, shared by at least 2 people.", hint="Write such numbers.")
    if not 0 <= suppress <= 1:
        raise UsageError("left out is a share from 0 to 100 %.", hint="Write a number such as 5.")
    events: dict[str, Any] = {"unit": policy.unit}
    events |= {part: name for part, name in (("time", time), ("place", place)) if name}
    others = [c for c in columns if c not in events.values()]
    harmless = [c for c in others if c in policy.insensitive]
    roles = {"direct": [c for c in others if c not in harmless], "insensitive": harmless}
    text = policy_file.write_yaml(
        {
            "events": events,
            "roles": {role: named for role, named in roles.items() if named},
            "require": {"known": {"records": records, "k": k}},
            "allow": {"suppress": suppress},
            **{name: value for name, value in policy.about.items() if value},
        }
    )
    Policy.parse(text)
    return text
