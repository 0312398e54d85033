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


@pytest.mark.parametrize(("limit", "verdict"), [(None, "warning"), (0.5, "broken"), (1.0, "holds")])
def test_with_too_many_sets_all_columns_are_held_against_the_limit(
    limit: float | None, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three bits find nobody alone, and everybody together; the four columns that are put together find one."""
    values = {f"bit{j}": [row >> j & 1 for row in range(8)] for j in range(3)}
    values |= {f"one{j}": [int(row == 0) for row in range(8)] for j in range(4)}
    pq.write_table(pa.table({"id": [str(i) for i in range(8)], **values}), tmp_path / "person.parquet")
    tables = [entry("person", dict.fromkeys(values, "retained"))]
    for budget, rate in ((8 * 56, 1.0), (8 * 56 - 1, 0.25)):
        monkeypatch.setattr(known_columns, "BUDGET", budget)
        assert find_by_columns(tmp_path, tables, limit).rate == rate, "seven columns have 56 sets of two and three"
    monkeypatch.setattr(known_columns, "BUDGET", 0)
    result = find_by_columns(tmp_path, tables, limit)
    assert (result.rate, result.worst, result.verdict) == (0.125, "person.one0", verdict)
    assert result.sentence.startswith("1 column: 12 %, 2 columns: 12 %, 3 columns: 12 %, all: 100 % of 8 people are found")
    assert result.sentence.endswith("3 columns were counted alone only: there are too many sets.")


def test_the_curve_counts_sets_of_each_size(tmp_path: Path) -> None:
    """One bit finds nobody of four, two find everybody; nothing at all is found where everybody is alike."""
    pq.write_table(
        pa.table({"id": list("abcd"), "x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "z": [0, 0, 0, 0]}), tmp_path / "person.parquet"
    )
    result = find_by_columns(tmp_path, [entry("person", dict.fromkeys("xyz", "retained"))], 0.0)
    assert result.sentence.startswith("1 column: 0 %, 2 columns: 100 %, 3 columns: 100 %, all: 100 % of 4 people are found")
    assert (result.verdict, result.worst) == ("broken", "person.x and person.y"), "a limit of 0 is a limit"
    alike = find_by_columns(tmp_path, [entry("person", {"z": "retained"})], 0.0)
    assert (alike.verdict, alike.worst, alike.rate) == ("holds", "", 0.0)


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
        with pytest.raises(VerificationError, match=r"find at most 24 % of the people\. 1 column: 25 %"):
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
