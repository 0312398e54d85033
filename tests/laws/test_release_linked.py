"""Tables released together: who may stay, and what the files say, against definitions that try every choice and every subset."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from people_oracle import Linked
from shoal.errors import InfeasibleError, VerificationError
from shoal.release.linked.gather import Family, gather
from shoal.release.linked.policy import LinkedPolicy
from shoal.release.linked.search import alike, stays
from shoal.release.proof.recount_linked import File, everybody

Rows = list[tuple[int, int, int]]
SMALL = st.tuples(
    st.lists(st.integers(0, 2), min_size=1, max_size=7),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1), st.integers(0, 2)), max_size=12),
)


def policy(own: list[int], rows: Rows, k: int = 2, known: int | None = None, **allow: Any) -> dict[str, Any]:
    """Three tables: a person table, visits (table 0) and drugs (table 1)."""
    n = len(own)
    parts = [[(p % n, v) for p, t, v in rows if t == table] for table in (0, 1)]
    tables: dict[str, Any] = {
        "person": {"table": pa.table({"id": range(n), "q": own}), "roles": {"quasi": {"q": {"hierarchy": {"intervals": [2]}}}}}
    }
    for name, part in zip(("visits", "drugs"), parts, strict=True):
        data = pa.table(
            {"who": pa.array([str(p) for p, _ in part], pa.string()), "v": pa.array([v for _, v in part], pa.int64())}
        )
        tables[name] = {"table": data, "roles": {"quasi": {"v": {"hierarchy": {"intervals": [2]}}}}}
    require = {"k": k} | ({} if known is None else {"known": known})
    tables = {n: t for n, t in tables.items() if t["table"].num_rows}
    links = {f"{n}.who": "person.id" for n in tables if n != "person"}
    return {"tables": tables, "links": links, "require": require, "allow": {"suppress": 1.0, "loss": 1.0, **allow}}


def oracle(own: list[int], rows: Rows, cut: Any = None) -> Linked:
    n, shown = len(own), cut or (lambda v: v)
    return Linked({i: (shown(q), [(t, shown(v)) for p, t, v in rows if p % n == i]) for i, q in enumerate(own)})


def finest(family: Family) -> list[dict[str, int]]:
    return [dict.fromkeys(p.prepared.quasi, 0) for p in family.parts]


@given(SMALL, st.integers(2, 4), st.sampled_from([None, 1, 2, 3]))
@settings(max_examples=40)
def test_who_stays_is_the_largest_set_that_can(table: tuple[list[int], Rows], k: int, known: int | None) -> None:
    own, rows = table
    rows = rows or [(0, 0, 0)]
    family = gather(LinkedPolicy.of(policy(own, rows, k, known)))
    found = stays(family, finest(family), k, known)
    assert {int(family.ids[i]) for i in found.nonzero()[0]} == oracle(own, rows).largest(k, known)


@given(SMALL)
@settings(max_examples=40)
def test_alike_and_the_second_count_are_the_definition(table: tuple[list[int], Rows]) -> None:
    own, rows = table
    rows = rows or [(0, 0, 0)]
    family, slow = gather(LinkedPolicy.of(policy(own, rows))), oracle(own, rows)
    number = [int(i) for i in family.ids]
    assert alike(family, finest(family)).tolist() == [slow.sharing(i, None) for i in number]
    coarse = oracle(own, rows, lambda v: v // 2)
    assert alike(family, [dict.fromkeys(level, 1) for level in finest(family)]).tolist() == [
        coarse.sharing(i, None) for i in number
    ]


@given(SMALL, st.sampled_from([None, 0, 1, 2, 3]))
@settings(max_examples=40)
def test_the_files_are_counted_by_the_definition(tmp_path_factory: Any, table: tuple[list[int], Rows], known: int | None) -> None:
    own, rows = table
    place, n = tmp_path_factory.mktemp("files"), len(own)
    pq.write_table(pa.table({"id": range(n), "q": own}), place / "person.parquet")
    for t in (0, 1):
        part = [(p % n, v) for p, x, v in rows if x == t]
        pq.write_table(
            pa.table({"id": pa.array([p for p, _ in part], pa.int64()), "v": pa.array([v for _, v in part], pa.int64())}),
            place / f"{t}.parquet",
        )
    files = [File(place / "person.parquet", "id", ("q",)), *(File(place / f"{t}.parquet", "id", ("v",)) for t in (0, 1))]
    found, slow = everybody(files).sharing(known), oracle(own, rows)
    assert found == {i: slow.sharing(i, known) for i in range(n)}


@given(SMALL, st.integers(2, 3), st.sampled_from([None, 1, 2]), st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=20)
def test_a_written_release_always_holds(
    tmp_path_factory: Any, table: tuple[list[int], Rows], k: int, known: int | None, share: float
) -> None:
    """Whatever is written: everybody among k, keys that fit, nobody lost beyond the limit; otherwise nothing is written."""
    own, rows = table[0] * 3, [(p + len(table[0]) * c, t, v) for p, t, v in table[1] or [(0, 0, 0)] for c in range(3)]
    place = tmp_path_factory.mktemp("release") / "out"
    try:
        made = shoal.anonymize_tables(policy(own, rows, k, known, suppress=share), format="parquet")
    except InfeasibleError:
        return
    made.write(place)
    assert made.certificate is not None
    assert shoal.verify(place).ok
    assert made.certificate.left_out <= share * len(own) + 1e-9
    tables = {t.name: pq.read_table(place / t.file).to_pylist() for t in made.certificate.tables}
    slow = Linked({})
    for row in tables["person"]:
        others = [(n, r["v"]) for n in tables if n != "person" for r in tables[n] if r["who"] == row["id"]]
        slow.people[row["id"]] = (row["q"], others)
    assert sum(len(rest) for _, rest in slow.people.values()) == sum(len(r) for n, r in tables.items() if n != "person")
    assert min(slow.sharing(p, known) for p in slow.people) == made.certificate.k >= k


@given(SMALL, st.integers(1, 3))
@settings(max_examples=30)
def test_more_known_never_leaves_more_company(table: tuple[list[int], Rows], known: int) -> None:
    own, rows = table
    rows = rows or [(0, 0, 0)]
    family = gather(LinkedPolicy.of(policy(own, rows)))
    fine, coarse = finest(family), [dict.fromkeys(p.prepared.quasi, 2) for p in family.parts]
    for k in (2, 3):
        less, more = stays(family, fine, k, known), stays(family, fine, k, known + 1)
        assert not (more & ~less).any()
        assert not (stays(family, fine, k, None) & ~more).any()
        assert not (less & ~stays(family, coarse, k, known)).any(), "coarser levels never send anybody away"


def test_keys_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 1], "q": [0, 0]}), tmp_path / "twice.parquet")
    pq.write_table(pa.table({"id": [1, 2], "q": [0, 0]}), tmp_path / "person.parquet")
    pq.write_table(pa.table({"id": [3], "q": [0]}), tmp_path / "orphan.parquet")
    pq.write_table(pa.table({"id": pa.array([None], pa.int64()), "q": [0]}), tmp_path / "nobody.parquet")

    def file(name: str) -> File:
        return File(tmp_path / f"{name}.parquet", "id", ("q",))

    for files, words in [
        ([file("twice")], "several rows"),
        ([file("person"), file("orphan")], "belongs to nobody"),
        ([file("person"), file("nobody")], "no key"),
    ]:
        with pytest.raises(VerificationError, match=words):
            everybody(files)


@pytest.mark.parametrize("known", [None, 1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_how_often_a_row_comes_counts(seed: int, known: int | None) -> None:
    """Few different rows, each several times, in few classes: choices with repeated rows, and classes that share rows."""
    rng = random.Random(seed)
    own = [rng.randrange(2) for _ in range(8)]
    rows = [(p, t, v) for p in range(8) for t in (0, 1) for v in (0, 1) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))] or [
        (0, 0, 0)
    ]
    family = gather(LinkedPolicy.of(policy(own, rows, 2, known)))
    found = stays(family, finest(family), 2, known)
    assert {int(family.ids[i]) for i in found.nonzero()[0]} == oracle(own, rows).largest(2, known)


@pytest.mark.parametrize(
    ("own", "rows", "known", "staying"),
    [
        ([0] * 4, [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (3, 0, 0)], 2, {0, 1, 2}),  # only one has it twice
        ([0] * 4, [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (3, 0, 0)], 1, {0, 1, 2, 3}),
        ([0, 0, 0, 1, 1, 1], [(0, 0, 0), (3, 0, 0), (1, 0, 1), (4, 0, 1)], 1, set()),  # the same rows in another class
        ([0, 0, 0, 1, 1, 1], [(0, 0, 0), (1, 0, 0), (3, 0, 1), (4, 0, 1)], 1, {0, 1, 2, 3, 4, 5}),
    ],
)
def test_small_examples(own: list[int], rows: Rows, known: int, staying: set[int]) -> None:
    family = gather(LinkedPolicy.of(policy(own, rows, 2, known)))
    found = stays(family, finest(family), 2, known)
    assert {int(family.ids[i]) for i in found.nonzero()[0]} == staying == oracle(own, rows).largest(2, known)


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("tables: {}\n", True),
        ('"\\x74ables": {}\n', True),
        ("roles: {quasi: [tables]}\n", False),
        ('roles: {quasi: ["\\x74ables"]}\n', False),
        ("roles: {quasi: [age]}\n", False),
        ("tables: [\n", False),
    ],
)
def test_a_policy_of_several_tables_is_known_by_its_key(tmp_path: Path, text: str, several: bool) -> None:
    from shoal.release.linked.policy import is_linked

    (tmp_path / "policy.yml").write_text(text)
    assert is_linked(tmp_path / "policy.yml") is several
