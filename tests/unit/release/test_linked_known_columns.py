"""What a few published columns of linked tables find: against a slow count, in the first sentence, and as a limit."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import PolicyError, VerificationError
from shoal.release.linked import known_columns
from shoal.release.linked.certificate import LinkedColumn, LinkedEntry
from shoal.release.linked.known_columns import Rows, find_by_columns


def entry(name: str, columns: dict[str, str]) -> LinkedEntry:
    stated = tuple(LinkedColumn(c, "sensitive", treatment, None, None) for c, treatment in columns.items())
    return LinkedEntry(name, f"{name}.parquet", "id", (), (), stated, 0, 0, 0, 0)


def write(folder: Path, seed: int) -> tuple[list[LinkedEntry], dict[str, list[dict[str, Any]]]]:
    """A person table and two linked ones with few values, some of them missing, and people without rows."""
    draw = random.Random(seed)
    people, most = draw.randint(1, 9), draw.randint(0, 12)
    data: dict[str, list[dict[str, Any]]] = {
        "person": [{"id": f"p{i}", "a": draw.choice([1, 2, None]), "b": draw.choice("xy")} for i in range(people)],
        "visits": [
            {"id": f"p{draw.randrange(people)}", "c": draw.choice("uv"), "d": draw.choice([0.5, None])} for _ in range(most)
        ],
        "drugs": [{"id": f"p{draw.randrange(people)}", "e": draw.choice("mn")} for _ in range(draw.randint(0, 5))],
    }
    kinds = {"id": pa.string(), "a": pa.int64(), "b": pa.string(), "c": pa.string(), "d": pa.float64(), "e": pa.string()}
    entries = []
    for name, columns in (("person", "ab"), ("visits", "cd"), ("drugs", "e")):
        schema = pa.schema([(c, kinds[c]) for c in ("id", *columns)])
        pq.write_table(pa.Table.from_pylist(data[name], schema), folder / f"{name}.parquet")
        entries.append(entry(name, {"id": "fresh pseudonym", **dict.fromkeys(columns, "retained")}))
    return entries, data


def count_slowly(data: dict[str, list[dict[str, Any]]], columns: list[tuple[str, str]]) -> int:
    """People of whom nobody else has the same rows, cut to the columns."""
    said: dict[str, list[Any]] = {row["id"]: [] for row in data["person"]}
    for table, rows in data.items():
        names = [c for t, c in columns if t == table]
        for row in rows if names else ():
            said[row["id"]].append((table, *(str(row[c]) for c in names)))
    alike = Counter(tuple(sorted(rows)) for rows in said.values())
    return sum(n == 1 for n in alike.values())


@pytest.mark.parametrize("seed", range(40))
def test_people_found_are_those_of_a_slow_count(seed: int, tmp_path: Path) -> None:
    entries, data = write(tmp_path, seed)
    rows, names = Rows(tmp_path, entries), [e.name for e in entries]
    places = [(names[i], c) for i, c in rows.columns]
    slow = {s: count_slowly(data, list(s)) for size in (1, 2, 3) for s in combinations(sorted(places), size)}
    for chosen, number in slow.items():
        assert rows.count_alone([(names.index(t), c) for t, c in chosen]) == number, chosen
    result, people = find_by_columns(tmp_path, entries, None), len(data["person"])
    assert result.rate == max(slow.values()) / people
    assert result.verdict == ("warning" if max(slow.values()) else "holds")
    least = min(len(s) for s, n in slow.items() if n == max(slow.values()))
    assert len(result.worst.split(" and ")) == least or not result.rate, "the fewest columns that find so many"


def test_values_of_one_row_stand_together(tmp_path: Path) -> None:
    """Column by column p and q look alike; row by row they do not."""
    rows = [("p", 1, "x"), ("p", 2, "y"), ("q", 1, "y"), ("q", 2, "x"), ("r", 1, "x"), ("r", 2, "y")]
    pq.write_table(pa.table({"id": list("pqr")}), tmp_path / "person.parquet")
    pq.write_table(
        pa.table({n: list(v) for n, v in zip(("id", "c", "d"), zip(*rows, strict=True), strict=True)}),
        tmp_path / "visits.parquet",
    )
    tables = [entry("person", {}), entry("visits", {"c": "retained", "d": "retained"})]
    counted = Rows(tmp_path, tables)
    assert [counted.count_alone(s) for s in ([(1, "c")], [(1, "d")], [(1, "c"), (1, "d")])] == [0, 0, 1]


def test_changed_and_removed_columns_are_known_to_nobody(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["p", "q"], "a": [1, 2], "b": [1, 1]}), tmp_path / "person.parquet")
    tables = [entry("person", {"a": "noise", "b": "generalized", "c": "removed"})]
    assert Rows(tmp_path, tables).columns == [(0, "b")]


def test_with_too_many_sets_the_columns_that_find_most_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_columns, "BUDGET", 1)
    values = {f"c{i}": [0] * (8 - i) + [1] * i for i in range(6)} | {"one": list(range(8))}
    pq.write_table(pa.table({"id": [str(i) for i in range(8)], **values}), tmp_path / "person.parquet")
    result = find_by_columns(tmp_path, [entry("person", dict.fromkeys(values, "retained"))], None)
    assert (result.rate, result.worst) == (1.0, "person.one")
    assert "3 columns were counted alone only" in result.sentence


def policy(**require: Any) -> dict[str, Any]:
    """Twelve people who look alike; the wards of three are theirs alone."""
    wards = ["a", "b", "c", *"defdefdef"]
    ids = [str(i) for i in range(12)]
    return {
        "tables": {
            "person": {"table": pa.table({"id": ids, "sex": ["f"] * 12}), "roles": {"quasi": ["sex"]}},
            "visits": {
                "table": pa.table({"id": ids, "year": [2020] * 12, "ward": wards}),
                "roles": {"quasi": ["year"], "sensitive": ["ward"]},
            },
        },
        "links": {"visits.id": "person.id"},
        "require": {"k": 5, **require},
    }


def test_what_columns_find_stands_in_the_first_sentence(tmp_path: Path) -> None:
    with_linked = shoal.anonymize_tables(policy())
    with_linked.write(tmp_path / "out")
    certificate = with_linked.certificate
    assert certificate is not None
    (further,) = (a for a in certificate.attacks if a.name == "further knowledge")
    assert (further.rate, further.verdict, further.worst, further.claimed) == (0.25, "warning", "visits.ward", None)
    assert "'further knowledge', succeeds for 25 %" in certificate.verdict
    assert shoal.verify(tmp_path / "out").ok
    assert further in shoal.attack(tmp_path / "out").results


@pytest.mark.parametrize(("limit", "stops"), [(0.25, False), (0.24, True)])
def test_a_limit_is_met_exactly_or_nothing_is_released(limit: float, stops: bool, tmp_path: Path) -> None:
    release = shoal.anonymize_tables(policy(known_columns=limit))
    if stops:
        with pytest.raises(VerificationError, match=r"visits\.ward find 25 % of the people; the policy allows 24 %"):
            release.write(tmp_path / "out")
        assert not (tmp_path / "out").exists()
        return
    release.write(tmp_path / "out")
    certificate = release.certificate
    assert certificate is not None
    assert certificate.known_columns == limit
    (further,) = (a for a in certificate.attacks if a.name == "further knowledge")
    assert (further.verdict, further.claimed) == ("holds", limit)
    assert shoal.verify(tmp_path / "out").ok


@pytest.mark.parametrize("limit", [-0.01, 1.01, "many"])
def test_a_limit_is_a_share(limit: Any) -> None:
    with pytest.raises(PolicyError):
        shoal.anonymize_tables(policy(known_columns=limit))
