"""Names that say something else than they seem to: an address of numbers, a frequency at a store, a weight of newborns."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from shoal.find import ColumnFacts, find_column
from shoal.model.roles import Role

ROWS = 400


def found(name, make, label=""):
    rng = random.Random(name)
    counted = Counter(str(make(rng)) for _ in range(ROWS))
    kind = "integer" if all(v.isdigit() for v in counted) else "text"
    return find_column(
        ColumnFacts(name, kind, sorted(counted), np.array([counted[v] for v in sorted(counted)]), ROWS, label=label)
    )


@pytest.mark.parametrize("label", ["", "Years at current address"])
def test_an_address_of_numbers_is_not_a_street(label):
    column = found("address", lambda rng: rng.randint(0, 40), label)
    assert (column.role, column.topic) == (Role.QUASI, "moved")


def test_a_frequency_is_not_a_place_because_its_label_names_one():
    assert found("frequency", lambda rng: rng.randint(1, 5), "How often do you visit the store").topic != "facility"
    assert found("frequency", lambda rng: rng.choice(["weekly", "never"]), "store").topic != "facility"


@pytest.mark.parametrize("make", [lambda rng: rng.randint(0, 1), lambda rng: rng.choice(["college grad", "not college grad"])])
def test_a_college_graduate_is_not_a_place(make):
    assert found("collgrad", make, "College graduate").topic == "education"


def test_grams_of_newborns_are_not_a_survey_weight():
    newborn = found("PESO", lambda rng: round(rng.gauss(3200, 350)))
    assert (newborn.role, newborn.mark) == (Role.QUASI, "")
    assert found("weight", lambda rng: round(rng.lognormvariate(8, 0.7))).mark == "weight"


@pytest.mark.parametrize(
    ("name", "low", "high", "topic"),
    [
        ("IDADEMAE", 14, 48, "age"),
        ("IDADEPAI", 16, 70, "age"),
        ("ESCMAE", 1, 5, "education"),
        ("ESTCIVMAE", 1, 5, "marital"),
        ("RACACORMAE", 1, 5, "race"),
        ("CODOCUPMAE", 110_001, 530_010, "occupation"),
        ("QTDFILVIVO", 0, 6, "family"),
        ("DTNASCMAE", 1_011_975, 28_121_999, "birth_date"),
    ],
)
def test_columns_of_mother_and_father_in_portuguese(name, low, high, topic):
    column = found(name, lambda rng: rng.randint(low, high))
    assert (column.role, column.topic) == (Role.QUASI, topic)
