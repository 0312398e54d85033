"""Releases laid over each other: what can be compared and what is refused, part by part and without a release."""

from __future__ import annotations

import importlib
from types import SimpleNamespace as Some
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pyreadstat
import pytest

from shoal.attacks.composition import Cells, Shown
from shoal.errors import VerificationError
from shoal.model.plan import SUPPRESSED, Plan, Suppression
from shoal.model.requirement import requirements_of
from shoal.release.make.private_file import place_of
from shoal.steps import Drop, Keep, MapValues
from shoal.techniques.perturb.noise import Noise
from shoal.techniques.perturb.permute import RankSwap

comp = importlib.import_module("shoal.release.earlier.composition")


def earlier(*steps: Any, asked: Any = (), columns: Any = ("age", "ill"), **more: Any) -> Any:
    claims = Some(
        asked=requirements_of(list(asked)) if asked else (), after=Some(records=4),
        data=Some(**{"file": "data.csv", "columns": columns, "quasi": ("age",), "sensitive": ("ill",), "table": None} | more),
        utility=Some(method="lattice", scope="rows"),
    )  # fmt: skip
    return comp.Earlier(Some(suffix=".csv"), claims, Plan(tuple(steps), Suppression(2, ("age",))))


def prepared(**more: Any) -> Any:
    policy = Some(
        sensitive=("ill",), insensitive=(), transform={}, unit=None, requirements=(), smallest_class=3, scope="rows",
        asked_of=lambda *_: None,
    )  # fmt: skip
    vars(policy).update(more.pop("policy", {}))
    base = Some(records=None, sizes=np.array([2, 3]), columns=("age",), sensitive={}, n_classes=2)
    return Some(
        **{"policy": policy, "base": base, "quasi": ("age",), "table": Some(in_database=False), "trees": {}, "orders": {}} | more
    )


def test_what_an_earlier_release_did_to_a_column() -> None:
    noise = Noise("pay", 2.0)
    release = earlier(Keep("ill"), noise, asked=["distinct[pay]>=3", "k>=3", "distinct[ill]>=4"])
    assert [release.step(c) for c in ("ill", "pay", "age")] == [None, noise, None]
    assert [release.distinct(c) for c in ("ill", "pay", "age")] == [4, 3, 1]


# --- which releases can be compared ------------------------------------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    """Read a release of these claims and this plan, as if it had been verified."""

    def read(release: Any, now: Any, *, whole: Any = None, rare: str | None = None, require: Any = lambda: None) -> Any:
        seen: list[Any] = []
        monkeypatch.setattr(comp, "read_certificate", lambda _: release.claims)
        monkeypatch.setattr(comp, "verify", lambda place, table: seen.append(table) or Some(require=require))
        monkeypatch.setattr(comp, "whole_plan", lambda *_: whole)
        monkeypatch.setattr(comp, "read_plan", lambda _: release.plan)
        monkeypatch.setattr(comp, "unknown_column", lambda *_: rare)
        return comp.read(tmp_path, now), seen

    return read


def test_a_release_that_can_be_compared(reads: Any, tmp_path: Any) -> None:
    release, whole = earlier(Keep("age")), Plan((Keep("age"),), Suppression(7, ("age",)))
    for kept, plan in ((whole, whole), (None, release.plan)):
        found, seen = reads(release, prepared(), whole=kept)
        assert (found.data, seen, found.plan is plan) == (tmp_path / "data.csv", [None], True)
    assert reads(earlier(Keep("age")), prepared(), whole=whole, rare="age")[0], "the private file names the rare values"
    table = object()
    now = prepared(table=Some(in_database=True, neighbour=lambda name: table if name == "trips" else None))
    found, seen = reads(earlier(Keep("age"), file=None, table="trips"), now)
    assert (found.data, seen) == (table, [table])


@pytest.mark.parametrize(
    ("change", "now", "reason"),
    [
        ({"file": None, "table": "trips"}, {}, "in a database, and this table is not"),
        ({"quasi": ("age", "zip")}, {}, "recoded locally"),
        ({}, {"quasi": ("zip",)}, "publishes 'age' as a quasi-identifier"),
        ({}, {"policy": {"insensitive": ("ill",)}}, "names 'ill' as sensitive, this policy as insensitive"),
        ({"sensitive": ("x", "ill")}, {"policy": {"insensitive": ("ill",)}}, "names 'ill'"),
    ],
)
def test_releases_that_cannot_be_compared_are_refused(reads: Any, change: Any, now: Any, reason: str) -> None:
    with pytest.raises(VerificationError, match=reason) as caught:
        reads(earlier(Keep("age"), **change), prepared(**now))
    assert "Nothing was released" in str(caught.value)


def test_a_release_that_does_not_verify_is_refused(reads: Any) -> None:
    def require() -> None:
        raise VerificationError("a file was changed")

    with pytest.raises(VerificationError, match="a file was changed"):
        reads(earlier(Keep("age")), prepared(), require=require)


def test_a_release_without_its_rare_values_or_recoded_locally_is_refused(reads: Any) -> None:
    with pytest.raises(VerificationError, match="leaves rare values of 'age' out"):
        reads(earlier(Keep("age")), prepared(), rare="age")
    local = earlier(Keep("age"))
    local.claims.utility.method = "local"
    with pytest.raises(VerificationError, match="recoded locally"):
        reads(local, prepared())


def test_a_refusal_always_says_what_to_do() -> None:
    assert comp._refusal("x", hint="Do y.").hint == "Do y."
    assert comp._refusal("x").hint.startswith("Leave --previous out only if")


# --- which columns are compared ----------------------------------------------------------------------------------------------


def test_a_column_is_compared_if_the_earlier_release_shows_it_as_it_was() -> None:
    plain, changed, absent = earlier(Keep("ill")), earlier(Noise("ill", 2.0)), earlier(columns=("age",))
    assert [comp._comparable(e, "ill") for e in (plain, changed, absent)] == [True, False, False]
    nothing, compared = Shown(np.array([0])), Shown(np.array([0]), {"ill": None})
    assert [comp._open("ill", e, s) for e, s in ((changed, nothing), (changed, compared), (absent, nothing))] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("then", "now", "columns", "twice"),
    [
        (Noise("ill", 2.0), Noise("ill", 2.0), ("ill",), True), (Noise("ill", 2.0), Noise("pay", 2.0), ("ill",), False),
        (Keep("ill"), Noise("ill", 2.0), ("ill",), False), (Noise("ill", 2.0), None, ("ill",), False),
        (Noise("ill", 2.0), Noise("ill", 2.0), ("pay",), False), (MapValues("ill"), Noise("ill", 2.0), ("ill",), False),
        (Noise("ill", 2.0), MapValues("ill"), ("ill",), False), (Noise("ill", 2.0), RankSwap("ill"), ("ill",), True),
    ],
)  # fmt: skip
def test_two_random_changes_of_a_column_are_said(then: Any, now: Any, columns: Any, twice: bool) -> None:
    here = prepared(policy={"transform": {} if now is None else {now.column: now}})
    release = earlier(then, columns=columns)
    assert comp._drawn_twice("ill", release, here) is twice
    words = comp._not_compared("ill", release, here)
    assert words.verdict == "warning"
    assert ("two tries" in words.sentence) is twice
    assert comp._changed_columns(here) == ({now.column} if now else set())


def test_the_most_records_of_one_person() -> None:
    table = Some(
        without_unit=lambda: Some(count=lambda columns: Some(sizes=np.array([1, 7, 3])) if columns == ("who",) else None)
    )
    assert comp._most_records(prepared(counted=table)) == 1
    by_unit = prepared(counted=table, policy={"unit": "who"})
    assert comp._most_records(by_unit) == 1
    by_unit.base.records = np.array([5, 6])
    assert comp._most_records(by_unit) == 7
    no_unit = prepared(counted=table)
    no_unit.base.records = np.array([5, 6])
    assert comp._most_records(no_unit) == 1


# --- what the releases show --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scope", "gone"), [("rows", -1), ("cells", 2)])
def test_this_release_by_class(monkeypatch: pytest.MonkeyPatch, scope: str, gone: int) -> None:
    """Classes 0 and 2 share their codes; class 3 is left out: its records go, or stay as a class of blanked ones."""
    inside = Some(
        classes=np.array([0, 1, 2, 3, 3]), values=np.array([0, 1, -1, 0, 1], np.int32), counts=np.array([4, 3, 2, 1, 5])
    )
    base = Some(n_classes=4, sensitive={"ill": inside})
    asked: list[Any] = []
    monkeypatch.setattr(comp, "counted_by_record", lambda now: asked.append(now) or base)
    now = prepared(policy={"scope": scope}, base=base)
    decision = Some(codes=[np.array([0, 1, 0, 1])], stays=np.array([True, True, True, False]))
    shown = comp.shown_now(now, decision, ["ill"])
    assert shown.classes.tolist() == [0, 1, 0, gone]
    cells = list(
        zip(
            *(a.tolist() for a in (shown.cells["ill"].classes, shown.cells["ill"].values, shown.cells["ill"].counts)), strict=True
        )
    )
    assert cells == [(0, 0, 4), (1, 1, 3), (0, -1, 2), *([(2, 0, 1), (2, 1, 5)] if gone == 2 else [])]
    assert (comp.shown_now(now, decision, []).cells, len(asked)) == ({}, 1)


def test_an_earlier_release_by_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ages 20, 30, 40 and none; the earlier file shows "20s" with three records, "none", and a class of nobody here."""
    now = prepared(
        base=Some(
            columns=("age",), n_classes=4, column=lambda c: 0, codes=[np.array([0, 1, 2, -1])],
            categories=[pa.array([20, 30, 40])], sensitive={"ill": Some(categories=pa.array(["a", "b"]))},
        )
    )  # fmt: skip
    file = {
        "age": pa.array(["20s", "20s", "x", "20s", comp.MISSING_TEXT]),
        "ill": pa.array(["b", "b", "a", comp.MISSING_TEXT, "other"]),
    }

    def shown(_: Any, values: Any, n: int) -> dict[str, Any]:
        texts = {20: "20s", 30: "30s", 40: "40s", None: comp.MISSING_TEXT, "a": "a", "b": "b"}
        return {c: pa.array([texts[v] for v in column.to_pylist()]) for c, column in values.items()}

    monkeypatch.setattr(comp, "read_texts", lambda *_: file)
    monkeypatch.setattr(comp, "_as_shown", shown)
    found = comp._classes_shown(now, earlier(Keep("age")), ["ill"])
    own = {int(c) for c in found.cells["ill"].classes}
    young, _, _, none = found.classes.tolist()
    assert found.classes.tolist()[1:3] == [-1, -1], "in no class of the earlier file"
    assert len({young, none} | own) == 3
    cells = found.cells["ill"]
    codes = np.where(cells.values > 1, 2, cells.values)  # a value that nobody has now gets any code beyond
    rows = set(zip(cells.classes.tolist(), codes.tolist(), cells.counts.tolist(), strict=True))
    (nobody,) = own - {young, none}
    assert rows == {(young, 1, 2), (young, -1, 1), (none, 2, 1), (nobody, 0, 1)}


def test_who_is_in_no_class_of_an_earlier_file_may_be_among_its_blanked_records(monkeypatch: pytest.MonkeyPatch) -> None:
    now = prepared(
        base=Some(
            columns=("age",), n_classes=2, column=lambda c: 0, codes=[np.array([0, 1])], categories=[pa.array(["20", "30"])]
        )
    )
    monkeypatch.setattr(comp, "read_texts", lambda *_: {"age": pa.array(["20", SUPPRESSED, SUPPRESSED])})
    monkeypatch.setattr(comp, "_as_shown", lambda _, values, n: values)
    release = earlier(Keep("age"))
    assert (comp._classes_shown(now, release, []).classes >= 0).tolist() == [True, False]
    release.claims.utility.scope = "cells"
    assert (comp._classes_shown(now, release, []).classes >= 0).tolist() == [True, True]


def test_blanked_records_of_an_earlier_release_are_a_class() -> None:
    release = earlier(quasi=("age", "zip"), columns=("age", "zip", "ill"))
    file = {"age": pa.array([SUPPRESSED, "20", SUPPRESSED]), "zip": pa.array([SUPPRESSED, SUPPRESSED, SUPPRESSED])}
    own = np.array([7, 8, 7])
    assert comp._find_blanked(release, file, ["age", "zip"], own) == -1
    release.claims.utility.scope = "cells"
    assert comp._find_blanked(release, file, ["age", "zip"], own) == 7
    assert comp._find_blanked(release, file, [], own) == -1
    shown = {n: pa.array(["20", "30", "20"]) for n in ("age", "zip")}
    assert comp._find_blanked(release, shown, ["age", "zip"], own) == -1
    with pytest.raises(VerificationError, match="is a quasi-identifier now"):
        comp._find_blanked(release, file, ["age", "zip", "more"], np.array([7, 8, 9]))


def test_values_in_the_words_of_the_earlier_release() -> None:
    steps = (MapValues("age", keys=("20", "30"), targets=(0, 0), labels=("young",), on_gap="error"), Keep("row"))
    shown = comp._as_shown(earlier(*steps), {"age": pa.array(["30", "99", "20"]), "row": pa.array(["x", "y", "z"])}, 3)
    assert {c: texts.to_pylist() for c, texts in shown.items()} == {
        "age": ["young", comp.UNKNOWN, "young"],
        "row": ["x", "y", "z"],
    }
    assert comp._as_shown(earlier(*steps), {}, 0) == {}
    assert comp._as_shown(earlier(*steps), {"age": pa.array([], pa.string())}, 0)["age"].to_pylist() == []
    suppressing = MapValues("age", keys=("20", "30"), targets=(0, 0), labels=("young",), on_gap="suppress")
    gone = comp._as_shown(earlier(suppressing), {"age": pa.array(["30", "99"])}, 2)
    assert gone["age"].to_pylist() == ["young", SUPPRESSED]
    many = [f"v{i}" for i in range(40)]
    assert comp._as_shown(earlier(Keep("age")), {"age": pa.array(many)}, 40)["age"].to_pylist() == many, "in the order given"
    dropped = comp._as_shown(earlier(Drop("age")), {"age": pa.array(["30"])}, 1)
    assert dropped["age"].to_pylist() == ["30"]


# --- certified shares --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("largest", "known"), [(1, True), (2, False)])
def test_values_that_the_present_table_does_not_have_have_no_place_in_its_order(
    largest: int, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comp, "_geometry", lambda *_: ("rank", ("level",)))
    made: list[Any] = []
    monkeypatch.setattr(
        "shoal.attacks.certified.Certified.of", lambda asked, rank, levels: made.append((list(asked), rank, levels))
    )
    now = prepared(policy={"requirements": requirements_of(["t[ill, equal]<=0.3", "k>=3"])})
    now.base.sensitive = {"ill": Some(categories=pa.array(["a", "b"]))}
    cells = Cells(np.array([0, 1]), np.array([0, largest]), np.array([1, 1]))
    comp._certified_shares(
        now, [(earlier(asked=["distinct[ill]>=2", "distinct[pay]>=2"]), Shown(np.array([0]), {"ill": cells}))], "ill"
    )
    two = Shown(np.array([0]), {"ill": Cells(np.array([0, 1]), np.array([0, 1]), np.array([1, 1]))})
    others = [(earlier(), two), (earlier(), Shown(np.array([0]), {"ill": cells}))]
    comp._certified_shares(now, others, "ill")
    assert made.pop()[1] == ("rank" if known else None), "one of the two has a value of its own"
    ((asked, rank, levels),) = made
    assert [r.name for r in asked] == ["closeness.ill.t", "diversity.ill.distinct"]
    assert (rank, levels) == (("rank", ("level",)) if known else (None, ()))


def test_the_place_of_each_value_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    now = prepared(orders={"ill": ("low", "mid", "high")})
    now.base.sensitive = {"ill": Some(categories=pa.array(["high", "low", "mid"]))}
    rank, levels = comp._geometry(now, "ill")
    assert (rank.tolist(), levels) == ([0, 3, 1, 2], ())
    tree = Some(height=3, path=lambda t: {None: (-1, -1), "high": (0, 0), "low": (1, 0), "mid": (2, 1)}[t])
    monkeypatch.setattr("shoal.release.proof.trees.tree_of", lambda _: tree)
    now.trees = {"ill": None}
    groups = [level.tolist() for level in comp._geometry(now, "ill")[1]]
    assert groups == [[0, 1, 2, 3], [0, 1, 1, 2]]


# --- values that the published plan leaves out -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "keys", "on_gap", "unknown"),
    [
        (["a", "b"], "text", ("a", "b"), "suppress", None), (["a", "c"], "text", ("a", "b"), "suppress", "age"),
        (["a", "c"], "text", ("a", "b"), "error", None), ([1.0, 2.5], "float", ("1", "2.50"), "suppress", None),
        ([1.0, 2.5], "float", ("1", "2.51"), "suppress", "age"), ([1, 2], "integer", ("1", "2"), "suppress", None),
    ],
)  # fmt: skip
def test_a_value_that_the_published_plan_does_not_list(
    values: Any, kind: str, keys: Any, on_gap: Any, unknown: str | None
) -> None:
    now = prepared(schema={"age": Some(kind=kind)})
    now.base.categories = [pa.array(values)]
    plan = Plan((MapValues("age", keys=keys, targets=(0, 0), labels=("x",), on_gap=on_gap),), Suppression(2, ("age",)))
    assert comp.unknown_column(now, plan) == unknown


@pytest.mark.parametrize(("plan", "fits", "expected"), [("p", True, "parsed p"), (None, True, None), ("p", False, None)])
def test_the_whole_plan_is_that_of_the_private_file_of_the_same_release(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, plan: Any, fits: bool, expected: Any
) -> None:
    claims = Some(plan="stated")
    monkeypatch.setattr(comp, "parse_plan", lambda text: f"parsed {text}")
    monkeypatch.setattr(comp.private_file, "read", lambda _: Some(plan=plan))
    monkeypatch.setattr(comp.private_file, "fits", lambda kept, stated: fits and stated == "stated")
    assert comp.whole_plan(tmp_path / "r", claims) is None
    place_of(tmp_path / "r").write_text("{}")
    assert comp.whole_plan(tmp_path / "r", claims) == expected


# --- the walk ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lay releases over the present one; each attack says its name and what it was asked."""

    def walk(now: Any, releases: Any, *, certified: bool = True, places: int | None = None) -> list[Any]:
        queue = list(releases)
        monkeypatch.setattr(comp, "read", lambda place, _: queue.pop(0))
        monkeypatch.setattr(comp, "shown_now", lambda _, __, columns: Shown(np.array([0, -1]), dict.fromkeys(columns)))
        monkeypatch.setattr(comp, "_classes_shown", lambda _, e, columns: Shown(np.array([0, 0]), dict.fromkeys(columns)))
        monkeypatch.setattr(comp, "_certified_shares", lambda _, with_it, column: [column] if certified else [])
        monkeypatch.setattr(comp, "_most_records", lambda _: 2)
        monkeypatch.setattr(comp, "_not_compared", lambda c, *_: ("not compared", c))
        at = "shoal.attacks."
        monkeypatch.setattr(at + "downcoding.Recoded", lambda base, codes, kept: kept.tolist())
        monkeypatch.setattr(at + "composition.intersection", lambda parts, k: ("intersection", parts, k))
        monkeypatch.setattr(
            at + "composition.values_left", lambda s, n, old, c, distinct: ("left", s.tolist(), len(old), c, distinct)
        )
        monkeypatch.setattr(at + "composition.changes", lambda n, s, c, k, distinct, asked: ("changes", c, k, distinct, asked))
        monkeypatch.setattr(at + "belief.beliefs", lambda s, r, n, old, c, more: ("beliefs", s.tolist(), r.tolist(), len(old), c))
        return comp.composition(now, None, range(len(releases) if places is None else places))

    return walk


def test_every_pair_of_releases_and_column_is_looked_at(walked: Any) -> None:
    now = prepared()
    one, two = earlier(Keep("ill"), asked=["distinct[ill]>=4"]), earlier(Keep("ill"))
    found = walked(now, [one, two])
    assert found == [
        ("intersection", [[True, False], [True, True], [True, True]], 3),
        ("left", [2, 3], 2, "ill", 4),
        ("beliefs", [2, 3], [2, 3], 2, "ill"),
        *[("changes", "ill", 6, 4, ["ill"])] * 2,
    ]
    now.base.records = np.array([5, 6])
    assert walked(now, [two])[1:] == [
        ("left", [2, 3], 1, "ill", 2),
        ("beliefs", [2, 3], [5, 6], 1, "ill"),
        ("changes", "ill", 6, 1, ["ill"]),
    ]
    assert [f[0] for f in walked(now, [two], certified=False)] == ["intersection", "left", "changes"]
    assert walked(now, [], places=0) == []


def test_this_policy_may_ask_for_more_values_than_the_earlier_one(walked: Any) -> None:
    now = prepared(policy={"asked_of": lambda column, kind: Some(l=5) if column == "ill" else None})
    assert walked(now, [earlier(Keep("ill"), asked=["distinct[ill]>=4"])])[1][-1] == 5


def test_columns_that_are_not_compared_are_said(walked: Any) -> None:
    changed = prepared(policy={"transform": {"ill": Noise("ill", 2.0)}})
    assert walked(changed, [earlier(Keep("ill"))])[1:] == [("not compared", "ill")]
    assert walked(prepared(), [earlier(Noise("ill", 2.0))])[1:] == [("not compared", "ill")]
    assert walked(prepared(), [earlier(columns=("age",))])[1:] == []
    drawn = prepared(policy={"sensitive": (), "insensitive": ("pay",), "transform": {"pay": Noise("pay", 2.0)}})
    assert walked(drawn, [earlier(Noise("pay", 3.0), columns=("pay",))])[1:] == [("not compared", "pay")]
    assert walked(drawn, [earlier(Keep("pay"), columns=("pay",))])[1:] == []


# --- two folders without the original ------------------------------------------------------------------------------------------

same = importlib.import_module("shoal.release.earlier.same_labels")


def stated(*, quasi: Any = ("age",), sensitive: Any = ("ill",), kept: Any = None, asked: Any = (), k: int = 2) -> Any:
    return Some(
        data=Some(quasi=quasi, sensitive=sensitive), k=k, asked=requirements_of(list(asked)) if asked else (),
        with_treatment=lambda treatment: (sensitive if kept is None else kept) if treatment == "retained" else (),
    )  # fmt: skip


def written(path: Any, ages: str, ills: list[str], *, ill: str = "ill", age: str = "age") -> Any:
    lines = [f"{age},{ill}", *(f"{a}0s,{i}" for a, i in zip(ages, ills, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Any) -> Any:
    """An earlier file of two classes, and a file in which one person more is in the class of the twenties."""
    old = written(tmp_path / "old.csv", "222333", ["flu", "cold", "flu", "flu", "cold", "gout"])
    new = written(tmp_path / "new.csv", "2222333", ["flu", "cold", "flu", "gout", "flu", "cold", "gout"])
    return new, old


def test_two_folders_are_compared_by_equal_labels_only(files: Any) -> None:
    for before in (stated(quasi=("age", "zip")), stated(quasi=())):
        (told,) = same.same_labels(files[0], stated(), files[1], before)
        assert (told.verdict, "different quasi-identifiers" in told.sentence) == ("not run", True)
    for now, before in ((stated(kept=()), stated()), (stated(), stated(kept=())), (stated(sensitive=()), stated())):
        (told,) = same.same_labels(files[0], now, files[1], before)
        assert (told.verdict, "no sensitive column is published as it was" in told.sentence) == ("not run", True)


def test_the_order_of_the_quasi_identifiers_does_not_matter(tmp_path: Any) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("age,sex,ill\n20,f,flu\n20,f,cold\n", encoding="utf-8")
    found = same.same_labels(tmp_path / "a.csv", stated(quasi=("sex", "age")), tmp_path / "b.csv", stated(quasi=("age", "sex")))
    assert [a.verdict for a in found] == ["holds", "holds"]


def test_a_newcomer_is_read_off_two_folders(files: Any) -> None:
    left, changed = same.same_labels(files[0], stated(k=2), files[1], stated())
    assert left.verdict == "holds"
    assert changed.verdict == "broken", "one record more: gout"
    assert "In 1 of 2 comparisons" in changed.sentence
    for asked, k, verdict in (((), 1, "holds"), (["k>=2"], 1, "broken")):
        assert same.same_labels(files[0], stated(k=k, asked=asked), files[1], stated())[1].verdict == verdict, (asked, k)


@pytest.mark.parametrize(("now", "before"), [(["distinct[ill]>=2"], ()), ((), ["distinct[ill]>=2"])])
def test_newcomers_have_as_many_values_as_either_release_certifies(files: Any, now: Any, before: Any) -> None:
    assert same.same_labels(files[0], stated(k=1), files[1], stated())[1].verdict == "holds"
    assert same.same_labels(files[0], stated(k=1, asked=now), files[1], stated(asked=before))[1].verdict == "broken"
    other = ["distinct[pay]>=2"]
    assert same.same_labels(files[0], stated(k=1, asked=other), files[1], stated(asked=other))[1].verdict == "holds"


def test_a_class_that_only_one_folder_has_is_no_intersection(tmp_path: Any) -> None:
    """The twenties are in both and leave flu; the thirties of the one and the forties of the other count nobody."""
    new = written(tmp_path / "new.csv", "22333", ["flu", "cold", "flu", "flu", "flu"])
    old = written(tmp_path / "old.csv", "22444", ["flu", "gout", "flu", "flu", "flu"])
    left, changed = same.same_labels(new, stated(), old, stated())
    assert left.verdict == "broken"
    assert left.sentence.startswith("For 2 of 2 people the releases together leave fewer than 2 values of 'ill' possible; for 2 ")
    assert "In 1 of 1 comparisons" in changed.sentence


def test_a_missing_value_is_no_empty_text_and_formulas_are_the_same_in_every_format(tmp_path: Any) -> None:
    table = pa.table({"age": ["20", "20", None], "ill": ["=flu", "", None]})
    pa_parquet.write_table(table, tmp_path / "old.parquet")
    texts = same.read_texts(tmp_path / "old.parquet", ["age", "ill"])
    assert texts["ill"].to_pylist() == ["=flu", "", same.MISSING_TEXT]
    assert same._texts(tmp_path / "old.parquet", ["ill"], tmp_path / "new.csv")["ill"].to_pylist()[0] == "'=flu"
    assert same._texts(tmp_path / "old.parquet", ["ill"], tmp_path / "new.parquet")["ill"].to_pylist()[0] == "=flu"
    assert same.read_texts(tmp_path / "old.parquet", []) == {}


def test_values_are_counted_by_class() -> None:
    counted = same._count_values(np.array([0, 0, 1, 1, 1]), np.array([2, 2, 0, 2, 0]))
    assert [part.tolist() for part in counted] == [[0, 1, 1], [2, 0, 2], [2, 2, 1]]


@pytest.mark.parametrize("form", ["sav", "dta"])
def test_codes_that_are_new_in_a_statistics_file_stand_for_their_groups(form: str, tmp_path: Any, monkeypatch: Any) -> None:
    """Declared or beside the file; a code that is not new is a value. Texts of other formats are taken as they are."""
    frame = pd.DataFrame({"age": [1.0, 2.0, None], "ill": ["flu", "cold", "1"]})
    write = pyreadstat.write_sav if form == "sav" else pyreadstat.write_dta
    write(frame, str(tmp_path / f"a.{form}"), variable_value_labels={"age": {1: "young", 2: "old"}})
    frame.to_csv(tmp_path / "a.csv", index=False)
    monkeypatch.setattr(same, "new_codes", lambda place: {"age": {"2": "20-29"}} if place == tmp_path else {})
    columns = ["age", "ill"]
    beside, given, plain = (same.read_texts(tmp_path / f"a.{form}", columns, codes) for codes in (None, {"age": {"1": "x"}}, {}))
    assert beside["age"].to_pylist() == ["1", "20-29", same.MISSING_TEXT]
    assert given["age"].to_pylist() == ["x", "2", same.MISSING_TEXT]
    assert plain["age"].to_pylist() == ["1", "2", same.MISSING_TEXT]
    assert beside["ill"].to_pylist() == ["flu", "cold", "1"]
    assert "20-29" not in same.read_texts(tmp_path / "a.csv", columns)["age"].to_pylist()
