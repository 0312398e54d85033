"""Suggested roles: names in several languages, patterns of values, the HIPAA eighteen, and no value shown."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.engines.table import Table
from shoal.errors import EmptyTableError
from shoal.find import ColumnFacts, ColumnFinding, Scale, find_column
from shoal.find.finding import HIPAA
from shoal.find.topics import TOPICS, topic_of
from shoal.model.roles import Role


@pytest.mark.parametrize(
    ("name", "role", "hipaa"),
    [
        ("first_name", "direct", 1),
        ("Nachname", "direct", 1),
        ("voornaam", "direct", 1),
        ("Prénom", "direct", 1),
        ("apellidos", "direct", 1),
        ("e-mail", "direct", 6),
        ("patientEmail", "direct", 6),
        ("phone_number", "direct", 4),
        ("Telefoonnummer", "direct", 4),
        ("fax", "direct", 5),
        ("SSN", "direct", 7),
        ("BSN", "direct", 7),
        ("MRN", "direct", 8),
        ("insurance_number", "direct", 9),
        ("member_id", "direct", 18),
        ("IBAN", "direct", 10),
        ("passport_no", "direct", 11),
        ("kenteken", "direct", 12),
        ("device_serial", "direct", 13),
        ("homepage", "direct", 14),
        ("ip_address", "direct", 15),
        ("fingerprint", "direct", 16),
        ("photo", "direct", 17),
        ("street_address", "direct", 2),
        ("zip", "quasi", 2),
        ("Postleitzahl", "quasi", 2),
        ("gemeente", "quasi", 2),
        ("date_of_birth", "quasi", 3),
        ("Geburtsdatum", "quasi", 3),
        ("age", "quasi", 3),
        ("geslacht", "quasi", None),
        ("native-country", "quasi", None),
        ("occupation", "quasi", None),
        ("EDUC1", "quasi", None),
        ("diagnosis_icd10", "sensitive", None),
        ("income", "sensitive", None),
        ("religion", "sensitive", None),
    ],
)
def test_names_of_columns(name: str, role: str, hipaa: int | None) -> None:
    topic = topic_of(name)
    assert topic is not None
    assert (topic.role.value, topic.hipaa) == (role, hipaa)


def test_all_eighteen_identifiers_are_covered() -> None:
    assert {t.hipaa for t in TOPICS if t.hipaa} == set(HIPAA) == set(range(1, 19))


@pytest.mark.parametrize("name", ["massage", "page", "mileage", "passage", "notable", "hotel", "relational", "cartel"])
def test_words_inside_words_are_not_taken_for_hints(name: str) -> None:
    assert topic_of(name) is None


def column(name: str, kind: str, values: list[str], counts: list[int] | None = None, **more: Any) -> ColumnFacts:
    sizes = np.array(counts if counts is not None else [1] * len(values), dtype=np.int64)
    missing = more.pop("missing", 0)
    return ColumnFacts(name, kind, values, sizes, int(sizes.sum()) + missing, missing, **more)


def suggest(name: str, kind: str, values: list[str], counts: list[int] | None = None, **more: Any) -> ColumnFinding:
    return find_column(column(name, kind, values, counts, **more))


N = 40
VALUES = {
    "e-mail addresses": [f"user{i}@example{i}.org" for i in range(N)],
    "telephone numbers": [f"+31 6 1234 {i:04d}" for i in range(N)],
    "social security numbers": [f"{100 + i}-12-{1000 + i}" for i in range(N)],
    "internet (IP) addresses": [f"10.0.{i}.{i}" for i in range(N)],
    "web addresses": [f"https://example.org/{i}" for i in range(N)],
    "unique codes (UUID)": [str(uuid.UUID(int=i)) for i in range(N)],
    "bank account numbers": [f"NL91 ABNA 0417 {i:04d} 00" for i in range(N)],
    "hashes": [f"{i:064x}" for i in range(N)],
    "device addresses": [f"00:1a:2b:3c:4d:{i:02x}" for i in range(N)],
    "exact positions": [f"52.{1000 + i}, 4.{3000 + i}" for i in range(N)],
    "payment card numbers": ["4111 1111 1111 1111", "5500 0000 0000 0004", "4012 8888 8888 1881"],
}


@pytest.mark.parametrize("what", VALUES)
def test_patterns_of_values(what: str) -> None:
    s = suggest("x", "text", VALUES[what], [1] * len(VALUES[what]))
    assert s.role is Role.DIRECT
    assert s.reason == f"its values look like {what}"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["2020-01-02", "2021-03-04", "1999-12-31"], "text"),
        (["12", "13", "14"], "text"),
        (["1.5", "2.25"], "text"),
        ([str(i) for i in range(10**15, 10**15 + 50)], "integer"),
    ],
)
def test_dates_and_numbers_are_no_telephones_or_cards(values: list[str], kind: str) -> None:
    assert "look like" not in suggest("x", kind, values, [3] * len(values)).reason


def test_shapes() -> None:
    assert suggest("x", "integer", [str(i) for i in range(30)]).role is Role.DIRECT
    assert suggest("x", "text", ["a"], [9]).role is Role.INSENSITIVE
    assert suggest("x", "text", [], [], missing=9).reason == "it is never filled"
    assert suggest("x", "text", ["a", "b"], [5, 4]).role is Role.QUASI  # a bare name: it may be anything
    sentences = [f"the patient number {i} came in complaining about a sore knee" for i in range(30)]
    assert (suggest("x", "text", sentences).hipaa, suggest("x", "text", sentences).scale) == (18, Scale.TEXT)


def test_every_row_its_own_value_says_something_from_twenty_rows() -> None:
    assert suggest("thing", "integer", [str(3 * i) for i in range(20)]).role is Role.DIRECT
    assert suggest("thing", "integer", [str(3 * i) for i in range(19)]).role is not Role.DIRECT


def test_inspection_shows_no_value_and_finds_what_identifies() -> None:
    table = pa.table(
        {
            "name": [f"canary {i}" for i in range(30)],
            "age": [20 + i % 10 for i in range(30)],
            "town": [f"canary{i % 5}" for i in range(30)],
            "diagnosis": ["canary-flu"] * 29 + ["canary-rare"],
        }
    )
    found = shoal.inspect(table)
    assert (found.direct, found.quasi, found.sensitive) == (("name",), ("age", "town"), ("diagnosis",))
    assert found.together[0].columns in {("age",), ("age", "town")}
    text = json.dumps(found.to_json()) + found._repr_html_()
    assert "canary" not in text
    assert found.k == 3


def test_a_reason_shows_no_value_and_says_what_would_change_it() -> None:
    found = shoal.inspect(pa.table({"age": [20, 30, 41], "thing": ["canary", "b", "canary"]}))
    for c in found.columns:
        assert c.change.endswith(".")
        assert "canary" not in c.reason + c.change + "".join(e.what for e in c.evidence)


def test_roles_given_stand() -> None:
    found = shoal.inspect(shoal.open(pa.table({"age": [1, 2], "q": [1, 1]}), insensitive=["age"]))
    assert found.insensitive == ("age", "q")
    assert next(c for c in found.columns if c.name == "age").reason == "you said so"


def test_empty_table_is_refused() -> None:
    with pytest.raises(EmptyTableError):
        shoal.inspect(pa.table({"a": pa.array([], pa.int64())}))


def test_adult(shared_data: Path) -> None:
    found = shoal.inspect(shared_data / "adult" / "adult.csv")
    assert {"age", "sex", "race", "education", "occupation", "native-country", "marital-status"} <= set(found.quasi)
    assert {"income", "capital-gain"} <= set(found.sensitive)
    assert found.weight == "fnlwgt"
    assert found.direct == ()


@pytest.mark.parametrize(("few_rows", "cells", "queries"), [(300, 10_000, 0), (300, 600, 0), (299, 10_000, 1)])
def test_a_table_counted_in_memory_in_parts_and_in_the_engine_is_found_alike(
    monkeypatch: pytest.MonkeyPatch, few_rows: int, cells: int, queries: int
) -> None:
    """Few rows are never counted by a query for each column, however wide the table: 2,000 columns of a file took 79 s."""
    people = shoal.datasets.people(300, seed=5)
    whole = shoal.inspect(people).to_json()
    monkeypatch.setattr("shoal.api.inspect.SMALL", 600)  # two columns at a time
    monkeypatch.setattr("shoal.api.inspect.CELLS_AT_ONCE", cells)
    monkeypatch.setattr("shoal.api.inspect.FEW_ROWS", few_rows)
    asked, count_many = [], Table.count_many
    monkeypatch.setattr(Table, "count_many", lambda self, sets: asked.extend(len(s) for s in sets) or count_many(self, sets))
    assert shoal.inspect(people).to_json() == whole
    assert bool(asked.count(1)) == bool(queries)


@pytest.mark.parametrize(("different", "role"), [(90, "direct"), (89, "undecided")])
def test_codes_of_which_nearly_every_row_has_its_own_number_people_whatever_the_name_says(different, role):
    """``rcpt`` says treatment; ninety codes in a hundred rows number the receipts of people."""
    codes = [f"A{100_000 + 7 * i}-{i % 10}X" for i in range(different)]
    rows = [*codes, *codes[:1] * (100 - different)]
    found = shoal.inspect({"rcpt": rows, "sex": ["f", "m"] * 50}).columns[0]
    assert found.role.value == role
