"""Hidden values and lettered codes among new groups: never values like others in SPSS and Stata, as pyreadstat reads them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import shoal
from shoal.engines.files.statistical.coding import Coded, _declared, coded, in_order, lettered, of_texts, room_left
from shoal.model.roles import Column

AGES = np.r_[np.repeat([21.0, 34.0, 58.0], 6), 77.0]
PLAN = {
    "steps": [{"column": "age", "generalize": {"hierarchy": {"intervals": [10]}, "level": 1}}],
    "suppress": {"k": 5, "columns": ["age"], "scope": "cells"},
}
GROUPS = {1: "20-29", 2: "30-39", 3: "50-59"}


def sav(path: Path, declared: list[Any]) -> Path:
    ages = [*AGES, *([97.0] * 5)]
    pyreadstat.write_sav(
        pd.DataFrame({"age": ages}), str(path), missing_ranges={"age": declared}, variable_value_labels={"age": {97: "refused"}}
    )
    return path


def dta(path: Path, letters: str = "a") -> Path:
    ages = [*map(float, AGES), *(letter for letter in letters for _ in range(5))]
    labels = {letter: f"reason {letter}" for letter in letters}
    pyreadstat.write_dta(
        pd.DataFrame({"age": pd.Series(ages, dtype=object)}),
        str(path),
        missing_user_values={"age": list(letters)},
        variable_value_labels={"age": labels},
    )
    return path


def read(path: Path) -> tuple[list[Any], Any]:
    frame, meta = (pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta)(str(path), user_missing=True)
    return frame["age"].tolist(), meta


def ranges(*pairs: tuple[float, float]) -> list[dict[str, float]]:
    return [{"lo": float(low), "hi": float(high)} for low, high in pairs]


def test_a_hidden_group_is_declared_missing_in_spss(tmp_path: Path) -> None:
    shoal.transform(sav(tmp_path / "t.sav", [97]), PLAN, tmp_path / "o.sav")
    cells, meta = read(tmp_path / "o.sav")
    assert meta.variable_value_labels["age"] == {**GROUPS, 97: "refused", 98: "*"}
    assert meta.missing_ranges["age"] == ranges((97, 97), (98, 98))
    assert cells.count(98.0) == 1
    assert cells.count(97.0) == 5
    valid, _ = pyreadstat.read_sav(str(tmp_path / "o.sav"))
    assert valid["age"].isna().sum() == 6  # what SPSS calculates with


@pytest.mark.parametrize("out", ["o.dta", "o.sav"])
def test_letters_and_hidden_groups_of_stata_are_no_values(tmp_path: Path, out: str) -> None:
    shoal.transform(dta(tmp_path / "t.dta"), PLAN, tmp_path / out)
    cells, meta = read(tmp_path / out)
    refused, hidden = ("a", "z") if out == "o.dta" else (4, 5)
    assert meta.variable_value_labels["age"] == {**GROUPS, refused: "reason a", hidden: "*"}
    assert cells.count(refused) == 5
    assert cells.count(hidden) == 1
    if out == "o.dta":
        assert sorted(meta.missing_user_values["age"]) == ["a", "z"]
    else:
        assert meta.missing_ranges["age"] == ranges((4, 4), (5, 5))


def test_many_letters_of_stata_are_one_range_in_spss(tmp_path: Path) -> None:
    shoal.transform(dta(tmp_path / "t.dta", "abcd"), PLAN, tmp_path / "o.sav")
    cells, meta = read(tmp_path / "o.sav")
    assert meta.missing_ranges["age"] == ranges((4, 8))
    assert [cells.count(float(c)) for c in (4, 5, 6, 7, 8)] == [5, 5, 5, 5, 1]
    assert meta.variable_value_labels["age"] == {**GROUPS, **{4 + i: f"reason {c}" for i, c in enumerate("abcd")}, 8: "*"}


@pytest.mark.parametrize("declared", [[97, 98, 99], [{"lo": 97, "hi": 99}, -1]])
def test_no_room_for_a_hidden_code_is_told_before_and_after(tmp_path: Path, declared: list[Any]) -> None:
    with shoal.open(sav(tmp_path / "t.sav", declared)) as table:
        plan = shoal.transform(table, PLAN).plan
        before = table.not_kept(plan, tmp_path / "o.sav")
        done = shoal.transform(table, plan, tmp_path / "o.sav").done
        assert not [w for w in table.not_kept(plan, tmp_path / "o.dta") if "three codes" in w]
    assert done is not None
    told = "SPSS declares at most three codes missing: hidden values (*) of age are a code like others."
    assert told in before
    assert told in done.not_kept
    cells, meta = read(tmp_path / "o.sav")
    assert meta.variable_value_labels["age"][100] == "*"
    assert cells.count(100.0) == 1


def test_nothing_is_told_where_there_is_room(tmp_path: Path) -> None:
    with shoal.open(sav(tmp_path / "t.sav", [97, 98])) as table:
        plan = shoal.transform(table, PLAN).plan
        assert not [w for w in table.not_kept(plan, tmp_path / "o.sav") if "three codes" in w]


@pytest.mark.parametrize(
    ("own", "hidden", "declared"),
    [
        ([], [], ()),
        ([-9], [], (-9,)),
        ([], [4, 5, 6], (4, 5, 6)),
        ([], [4, 5, 6, 7], ((4, 7),)),
        ([-9], [4, 5], (-9, 4, 5)),
        ([-9], [4, 5, 6], (-9, (4, 6))),
        ([-9, -8], [4], (-9, -8, 4)),
        ([-9, -8], [4, 5], (-9, -8, 4)),
        ([-9, -8, -7], [4], (-9, -8, -7)),
        ([(90, 99)], [100], ((90, 99), 100)),
        ([(90, 99)], [100, 101, 102], ((90, 99), 100)),
        ([(90, 99), -1], [100], ((90, 99), -1)),
    ],
)
def test_what_spss_can_declare(own: list[Any], hidden: list[int], declared: tuple[Any, ...]) -> None:
    assert _declared(own, hidden) == declared
    singles = sum(not isinstance(d, tuple) for d in declared)
    assert singles <= (3 if singles == len(declared) else 1)


def test_room_left() -> None:
    assert [room_left([1] * n) for n in range(5)] == [3, 2, 1, 0, 0]
    assert [room_left([(1, 2)]), room_left([(1, 2), 3])] == [1, 0]


def texts(*cells: str | None) -> Any:
    return pa.array(cells, pa.string())


def test_numbers_that_no_double_has_stay_text() -> None:
    column = Column("x", "text", coded=True)
    found = coded(texts("1", "9007199254740992", "*", None), column, "spss")
    assert found is not None
    assert found.cells[:2] == [1, 2.0**53]
    assert found.cells[3] is None
    assert found.labels[found.cells[2]] == "*"
    assert coded(texts("1", "9007199254740994", "a"), column, "spss") is None


@pytest.mark.parametrize(("groups", "as_codes"), [(1000, True), (1001, False)])
def test_a_thousand_groups_have_codes(groups: int, as_codes: bool) -> None:
    cells = texts(*(f"g{i}" for i in range(groups)))
    assert (coded(cells, Column("x", "text", grouped=True), "stata") is not None) is as_codes
    assert coded(texts("g1"), Column("x", "text"), "stata") is None


def test_declared_numbers_are_letters_in_stata() -> None:
    column = Column("x", "integer", user_missing=(98, 99), labels={1: "one", 98: "unknown", 97: "other"})
    found = lettered(pa.array([99, 1, None, 98, 97]), column, None)
    labels = {1: "one", 97: "other", "a": "unknown", "b": "99"}
    assert found == Coded(["b", 1, None, "a", 97], labels, (), ("a", "b"), {".a": "98", ".b": "99"})
    assert lettered(pa.array([1]), replace(column, user_missing=()), None) is None
    assert lettered(pa.array([1, 2]), column, None) is None  # none of them occurs
    assert lettered(texts("99"), replace(column, kind="text"), None) is None
    before = Coded(["z", 99, "a"], {"z": "*"}, (), ("a", "z"))
    after = Coded(["z", "b", "a"], {"z": "*", "b": "99"}, (), ("a", "b", "z"), {".b": "99"})
    assert lettered(texts("*", "99", ".a"), column, before) == after


@pytest.mark.parametrize(("codes", "as_letters"), [(26, True), (27, False)])
def test_stata_has_twenty_six_letters(codes: int, as_letters: bool) -> None:
    found = lettered(pa.array(range(codes)), Column("x", "integer", user_missing=((0, 99),)), None)
    assert (found is not None) is as_letters


def test_only_declared_codes_are_apart_among_groups() -> None:
    column = Column("x", "text", grouped=True, user_missing=(99, ".a"))
    found = coded(texts("20", "99", ".b", ".a", "30"), column, "spss")
    assert found is not None
    assert found.labels == {1: "20", 2: "30", 3: ".b", 100: ".a"}
    assert found.cells == [1, 99, 3, 100, 2]
    assert found.declared == (99, 100)


def test_letters_and_hidden_values_behind_numbers() -> None:
    column = Column("x", "text", coded=True, labels={".a": "refused"}, user_missing=(".a", ".b"))
    cells = texts("1", "1.5", ".b", ".a", "*", "(other)")
    spss, stata = coded(cells, column, "spss"), coded(cells, column, "stata")
    stands_for = {"2": "(other)", "3": ".a", "4": ".b", "5": "*"}
    assert spss == Coded([1, 1.5, 4, 3, 5, 2], {2: "(other)", 3: "refused", 4: ".b", 5: "*"}, (3, 4, 5), texts=stands_for)
    labels = {2: "(other)", "a": "refused", "z": "*"}
    assert stata == Coded([1, 1.5, "b", "a", "z", 2], labels, (), ("a", "b", "z"), {"2": "(other)", ".z": "*"})
    taken = coded(texts(".z", "*"), column, "stata")
    assert taken is not None
    assert taken.cells == ["z", "y"]
    plain = coded(texts(".ab", "xa", ".A"), column, "spss")
    assert plain is not None
    assert plain.declared == ()


@pytest.mark.parametrize(
    ("value", "declared", "code"),
    [
        ("5", ((90, float("inf")),), 6),
        ("88", ((90, float("inf")),), 89),
        ("89", ((90, float("inf")),), -1_000_000),
        ("-3", ((90, float("inf")), 2), 3),
        ("95", ((90, float("inf")), 2), -1_000_000),
        ("-7", ((-3, float("inf")),), -1_000_007),
        ("5", (10**15,), 6),
        ("5", (10**15 - 1,), 10**15),
        ("5", ((7, 9),), 10),
    ],
)
def test_the_code_of_a_hidden_value_is_free(value: str, declared: Any, code: int) -> None:
    found = coded(texts(value, "*"), Column("x", "text", coded=True, user_missing=declared), "spss")
    assert found is not None
    assert found.cells[1] == code


def test_whole_codes_are_whole_numbers() -> None:
    found = coded(texts("1.0", "2.5", "9007199254740991", "9007199254740992"), Column("x", "text", coded=True), "spss")
    assert found is not None
    assert list(map(type, found.cells)) == [int, float, int, float]


def test_the_order_of_groups() -> None:
    groups = ["a", "b", "(x)", "*", "(y)", "5+", "5", "<5", "z", ">7", "7"]
    assert in_order(groups, ("b", "(x)", "a")) == ["b", "(x)", "a", "<5", "5", "5+", "7", ">7", "z", "(y)", "*"]


TEXT_LABELS = {"aa": "Anna", "bb": "Bert", "cc": "Carl", "ZZ": "refused"}
TEXT_PLANS: dict[str, dict[str, Any]] = {
    "rare": {"steps": [{"column": "code", "rare": {"min_count": 5}}]},
    "cells": {"steps": [], "suppress": {"k": 5, "columns": ["code"], "scope": "cells"}},
    "permute": {"steps": [{"column": "code", "permute": {}}]},
    "none": {"steps": []},
}


class TestTextsThatAreCodes:
    """SPSS labels and declares texts too; they became 1, 2 … when one was hidden, and no file of Stata came of them."""

    def source(self, path: Path) -> Path:
        pyreadstat.write_sav(
            pd.DataFrame({"code": ["aa"] * 9 + ["bb"] * 7 + ["cc"] + ["ZZ"] * 6, "area": [11, 12] * 11 + [98]}),
            str(path),
            variable_value_labels={"code": TEXT_LABELS, "area": {11: "North", 98: "refused"}},
            missing_ranges={"code": ["ZZ"], "area": [98]},
            variable_format={"area": "F4.0"},
        )
        return path

    @pytest.mark.parametrize("plan", TEXT_PLANS)
    def test_they_stay_what_they_are(self, plan: str, tmp_path: Path) -> None:
        shoal.transform(self.source(tmp_path / "t.sav"), TEXT_PLANS[plan], tmp_path / "o.sav")
        frame, meta = pyreadstat.read_sav(str(tmp_path / "o.sav"), user_missing=True)
        hidden = plan in ("rare", "cells")
        assert sorted(frame["code"]) == sorted(["*" if hidden else "cc", *["ZZ"] * 6, *["aa"] * 9, *["bb"] * 7])
        assert meta.variable_value_labels["code"] == {v: label for v, label in TEXT_LABELS.items() if v != "cc" or not hidden}
        assert [r["lo"] for r in meta.missing_ranges["code"]] == (["*", "ZZ"] if hidden else ["ZZ"])

    @pytest.mark.parametrize("plan", TEXT_PLANS)
    def test_stata_gets_plain_texts_and_that_is_told(self, plan: str, tmp_path: Path) -> None:
        table = shoal.open(self.source(tmp_path / "t.sav"))
        made = shoal.transform(table, TEXT_PLANS[plan]).plan
        told = table.not_kept(made, tmp_path / "o.dta")
        assert "Stata labels and declares no texts: those of code are plain values there." in told
        assert told == table.recode(made, tmp_path / "o.dta").not_kept
        frame, meta = pyreadstat.read_dta(str(tmp_path / "o.dta"))
        assert set(frame["code"]) == {"aa", "bb", "ZZ", "*" if plan in ("rare", "cells") else "cc"}
        assert "code" not in meta.variable_value_labels

    def test_a_code_stays_declared_where_a_column_of_numbers_becomes_text(self, tmp_path: Path) -> None:
        plan = {"steps": [{"column": "area", "prefix": {"length": 1}}]}
        shoal.transform(self.source(tmp_path / "t.sav"), plan, tmp_path / "o.sav")
        frame, meta = pyreadstat.read_sav(str(tmp_path / "o.sav"), user_missing=True)
        assert sorted(frame["area"]) == [*["1*"] * 22, "98"]
        assert meta.missing_ranges["area"] == [{"lo": "98", "hi": "98"}]
        assert meta.variable_value_labels["area"] == {"98": "refused"}

    @pytest.mark.parametrize(
        ("texts", "own", "declared"),
        [
            (["a", "*"], ("x", "y"), ("*", "x", "y")),
            (["a", "*"], ("x", "y", "z"), ("x", "y", "z")),  # no room
            (["a", "b"], ("x",), ("x",)),
            (["12345678", "*"], ("12345678",), ("*", "12345678")),
            (["123456789", "*"], ("123456789",), ()),  # SPSS declares no longer ones
            (["5", "7"], ((5, 9),), ("5", "7")),
        ],
    )
    def test_what_spss_can_declare_of_texts(self, texts: list[str], own: Any, declared: tuple[str, ...]) -> None:
        column = Column("x", "text", labels={"a": "A"}, user_missing=own)
        assert of_texts(pa.array(texts), column, hidden=True) == ({"a": "A"}, declared)
        assert "*" not in of_texts(pa.array(texts), column, hidden=False)[1]
