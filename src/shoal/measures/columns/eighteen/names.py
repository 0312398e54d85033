"""Names of people as the United States write them: given names that are frequent there, alone or before a family name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.measures.columns.names.words import folded

GIVEN = frozenset(
    "james robert john michael david william richard joseph thomas christopher charles daniel matthew anthony mark donald steven "
    "andrew paul joshua kenneth kevin brian timothy ronald george jason edward jeffrey ryan jacob nicholas gary eric jonathan "
    "stephen larry justin scott brandon benjamin samuel gregory alexander patrick frank raymond jack dennis jerry tyler aaron "
    "jose adam nathan henry zachary douglas peter kyle noah ethan jeremy christian walter keith austin roger terry sean gerald "
    "carl dylan harold jordan jesse bryan lawrence arthur gabriel bruce logan billy joe alan juan elijah willie albert wayne "
    "randy mason vincent liam roy bobby caleb bradley russell lucas mary patricia jennifer linda elizabeth barbara susan "
    "jessica karen sarah lisa nancy sandra betty ashley emily kimberly margaret donna michelle carol amanda melissa deborah "
    "stephanie rebecca sharon laura cynthia dorothy amy kathleen angela shirley emma brenda pamela nicole anna samantha "
    "katherine christine helen debra rachel carolyn janet maria catherine heather diane olivia julie joyce victoria ruth "
    "virginia lauren kelly christina joan evelyn judith andrea hannah megan cheryl jacqueline martha madison teresa gloria sara "
    "janice ann kathryn abigail sophia frances jean alice judy isabella julia grace amber denise danielle marilyn beverly "
    "charlotte natalie theresa diana brittany doris kayla alexis lori marie carlos luis miguel ana carmen rosa juana".split()
)
_WRITTEN = re.compile(r"([A-Z][a-zA-Z'’-]+|[A-Z]\.?)([ ,]+([A-Z][a-zA-Z'’.-]*)){0,3}|[A-Z'’-]+([ ,]+[A-Z'’.-]+){1,3}")
LEAST_VALUES = 15


def people_share(values: Sequence[str]) -> float:
    """The share of values that are written as names and hold a given name; 0 where there are few values or other texts.

    >>> people_share([f"{a} {b}" for a in ("Mary", "John", "Qix", "Susan") for b in ("Lee", "Smith", "Ward", "Hall")])
    0.75
    """
    if len(values) < LEAST_VALUES:
        return 0.0
    written = [v for v in values if _WRITTEN.fullmatch(v)]
    if len(written) < 0.9 * len(values):
        return 0.0
    return sum(any(w in GIVEN for w in re.split(r"[ ,.]+", folded(v))) for v in written) / len(values)


def full_names_share(values: Sequence[str]) -> float:
    """The share of values of several words that are written as names and hold a given name, however few there are.

    >>> full_names_share(["Mary Jones", "Ruth King", "Eva Brown", "North Ward"])
    0.5
    """
    full = [v for v in values if len(v.split()) > 1 and _WRITTEN.fullmatch(v)]
    return sum(any(w in GIVEN for w in re.split(r"[ ,.]+", folded(v))) for v in full) / max(len(values), 1)
