"""Columns as other surveys, registers and firms write them, made by a generator: roles, scales, person and weight."""

from __future__ import annotations

import random

import pytest

import shoal

N = 200


def made(seed: int = 4) -> dict[str, dict[str, list]]:
    r = random.Random(seed)

    def pick(*values):
        return [r.choice(values) for _ in range(N)]

    def each(one):
        return [one() for _ in range(N)]

    return {
        "social survey": {
            "idno": list(range(1000, 1000 + N)),
            "agea": each(lambda: r.randint(15, 95)),
            "isco08": pick(1120, 2221, 2310, 5223, 9112, 7231, 4110, 3322),
            "region": pick("DE1", "DE21", "FR10", "ES30", "DEA2", "FRK2"),
            "pspwght": each(lambda: round(r.uniform(0.2, 3), 6)),
        },
        "examination": {
            "SEQN": list(range(62161, 62161 + N)),
            "RIDAGEYR": each(lambda: r.randint(0, 80)),
            "BMXBMI": each(lambda: round(r.gauss(27, 5), 1)),
            "WTMEC2YR": each(lambda: round(r.uniform(5000, 90000), 4)),
        },
        "households": {
            "v005": each(lambda: r.randint(200000, 3000000)),
            "v012": each(lambda: r.randint(15, 49)),
            "v501": pick(0, 1, 2, 3, 4, 5),
        },
        "census": {"SERIALNO": [2019000000000 + 7 * i for i in range(N)], "MAR": pick(1, 2, 3, 5), "DIS": pick(1, 2)},
        "staff": {
            "emp_no": [f"E{10000 + i}" for i in range(N)],
            "hire_date": each(lambda: r.randint(36000, 45000)),
            "dob": each(lambda: r.randint(15000, 38000)),
            "salary": each(lambda: r.randint(20, 120) * 1000 + r.randint(0, 999)),
        },
        "customers": {"Umsatz": each(lambda: r.randint(10000, 99999)), "PLZ": each(lambda: f"{r.randint(10000, 99999)}")},
        "police": {
            "officer_badge": each(lambda: r.randint(1000, 1050)),
            "beat": pick("12A", "7B", "3C"),
            "time_occurred": each(lambda: f"{r.randint(0, 23)}:{r.randint(0, 59):02d}"),
        },
        "telecom": {
            "msisdn": each(lambda: f"4917{r.randint(10**8, 10**9 - 1)}"),
            "imei": each(lambda: str(r.randint(10**14, 10**15 - 1))),
            "cell_id": each(lambda: r.randint(1, 80)),
        },
        "traffic": {
            "kenteken": each(lambda: f"{r.choice('BDFG')}{r.choice('BDFGH')}-{r.randint(100, 999)}-{r.choice('BDFGHJK')}"),
            "plate_no": each(lambda: f"{r.choice('ABCD')}{r.choice('ABCD')}{r.randint(10, 99)} {r.choice('ABC')}XY"),
        },
        "school": {"curso": pick("1º ESO", "2º ESO", "3º ESO"), "nota_media": each(lambda: round(r.uniform(3, 10), 1))},
    }


TRUTH = {
    ("social survey", "idno"): ("direct", "id"),
    ("social survey", "agea"): ("quasi", "number"),
    ("social survey", "isco08"): ("quasi", "nominal"),
    ("social survey", "region"): ("quasi", "place"),
    ("social survey", "pspwght"): ("insensitive", "number"),
    ("examination", "SEQN"): ("direct", "id"),
    ("examination", "RIDAGEYR"): ("quasi", "number"),
    ("examination", "BMXBMI"): ("quasi", "number"),
    ("examination", "WTMEC2YR"): ("insensitive", "number"),
    ("households", "v012"): ("quasi", "number"),
    ("households", "v501"): ("quasi", "nominal"),
    ("census", "SERIALNO"): ("direct", "id"),
    ("census", "MAR"): ("quasi", "nominal"),
    ("census", "DIS"): ("sensitive", "nominal"),
    ("staff", "emp_no"): ("direct", "id"),
    ("staff", "hire_date"): ("quasi", "date"),
    ("staff", "dob"): ("quasi", "date"),
    ("staff", "salary"): ("sensitive", "number"),
    ("customers", "Umsatz"): ("sensitive", "number"),
    ("customers", "PLZ"): ("quasi", "place"),
    ("police", "officer_badge"): ("direct", "id"),
    ("police", "beat"): ("quasi", "place"),
    ("police", "time_occurred"): ("quasi", "date"),
    ("telecom", "msisdn"): ("direct", "id"),
    ("telecom", "imei"): ("direct", "id"),
    ("telecom", "cell_id"): ("quasi", "place"),
    ("traffic", "kenteken"): ("direct", "id"),
    ("traffic", "plate_no"): ("direct", "id"),
    ("school", "curso"): ("quasi", "ordered"),
    ("school", "nota_media"): ("sensitive", "number"),
}
WEIGHTS = {"social survey": "pspwght", "examination": "WTMEC2YR", "households": "v005"}


@pytest.mark.parametrize("name", sorted(made()))
@pytest.mark.parametrize("seed", [4, 11])
def test_roles_scales_unit_and_weight(name, seed):
    found = shoal.inspect(made(seed)[name])
    judged = {c.name: (c.role.value, c.scale.value) for c in found.columns if (name, c.name) in TRUTH}
    assert judged == {column: truth for (table, column), truth in TRUTH.items() if table == name}
    assert found.weight == WEIGHTS.get(name)
    assert found.unit is None  # an officer's badge or a cell names nobody whom the table is about


@pytest.mark.parametrize(
    ("low", "high", "scale"), [(10_000, 60_000, "date"), (9_999, 60_000, "number"), (10_000, 60_001, "number")]
)
def test_days_of_a_spreadsheet(low, high, scale):
    days = [low, high, *range(30_000, 30_000 + 7 * 30, 7)]
    assert shoal.inspect({"hire_date": days}).columns[0].scale.value == scale
