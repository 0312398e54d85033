"""Codes that a file declares missing are a class of their own in every step, and labels live on."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
import shoal.techniques as tf
from shoal.engines.files.statistical.coding import coded, in_order, lettered
from shoal.engines.recode.batch_steps import beside_codes, with_codes, without_codes
from shoal.engines.recode.write import hidden_columns
from shoal.errors import UsageError
from shoal.kernels.codes import is_code, is_declared
from shoal.model.plan import Plan, Suppression
from shoal.model.roles import Column
from shoal.steps import Clamp, Cut, Keep, MapValues, Prefix, Round

REFUSED = 99999.0
PAY = [str(2000 + 37 * i) for i in range(60)]
LABELS = {
    "pay": {REFUSED: "refused"},
    "region": {1: "North", 2: "South", 5: "West", 7: "nobody lives here"},
    "edu": {1: "none", 2: "primary", 3: "lower", 4: "upper", 5: "tertiary", 8: "do not know", 9: "refused"},
}


def survey(path: Path, rows: int = 60) -> Path:
    """A survey with one refusal in six, a region that three people live in, and codes 8 and 9 of education declared missing."""
    pay = [REFUSED if i % 6 == 0 else 2000.0 + 37 * i for i in range(rows)]
    region = [5.0 if i < 3 else 1.0 + i % 2 for i in range(rows)]
    edu = [float([1, 2, 3, 4, 5, 8, 9][i % 7]) for i in range(rows)]
    frame = pd.DataFrame({"pay": pay, "region": region, "edu": edu, "row": [float(i) for i in range(rows)]})
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels=["Monthly pay", "Region of birth", "Education", "Row"],
        variable_value_labels=LABELS,
        missing_ranges={"pay": [REFUSED], "edu": [{"lo": 8, "hi": 9}]},
        variable_measure={"pay": "scale", "region": "nominal", "edu": "ordinal"},
        variable_format={"pay": "F8.0", "edu": "F2.0", "row": "F4.0", "region": "F8.2"},
        variable_display_width={"pay": 11},
    )
    return path


def carried(tmp_path: Path, column: str, step: dict[str, Any], ending: str = "sav", **more: Any) -> tuple[Any, Any]:
    """The file after one step, as a package sees it with its missing values shown; rows in the order of ``row``."""
    source, out = survey(tmp_path / "in.sav"), tmp_path / f"out.{ending}"
    shoal.transform(source, {"steps": [{"column": column, **step}], **more}, out, seed=10**16)
    read = pyreadstat.read_sav if ending == "sav" else pyreadstat.read_dta
    frame, meta = read(str(out), user_missing=True)
    return frame.sort_values("row", ignore_index=True), meta


NUMBERS = {
    "noise": {"noise": {"share": 0.1}},
    "correlated": {"correlated_noise": {"others": ["row"], "share": 0.5}},
    "round": {"round": {"base": 100}},
    "clamp": {"clamp": {"high": 4000}},
    "top and bottom": {"top_bottom": {"people": 5}},
    "groups": {"groups": {"k": 5}},
    "quantiles": {"quantiles": {"k": 5}},
    "rank swap": {"rank_swap": {"percent": 10}},
    "microaggregate": {"microaggregate": {"k": 5}},
}


@pytest.mark.parametrize("name", NUMBERS)
def test_refusals_are_not_calculated_with(tmp_path: Path, name: str) -> None:
    before, _ = pyreadstat.read_sav(str(survey(tmp_path / "b.sav")))
    frame, meta = carried(tmp_path, "pay", NUMBERS[name])
    if name != "correlated":  # whose other column is the row
        assert (frame["pay"] == REFUSED).tolist() == [i % 6 == 0 for i in range(60)]
    assert (frame["pay"] == REFUSED).sum() == 10
    assert frame["pay"][frame["pay"] != REFUSED].mean() == pytest.approx(before["pay"].mean(), rel=0.1)
    assert meta.missing_ranges["pay"] == [{"lo": REFUSED, "hi": REFUSED}]
    assert meta.variable_value_labels["pay"] == {REFUSED: "refused"}
    assert meta.column_names_to_labels["pay"] == "Monthly pay"
    assert meta.variable_measure["pay"] == "scale"


@pytest.mark.parametrize("name", NUMBERS)
def test_in_stata_refusals_are_a_letter_with_their_label(tmp_path: Path, name: str) -> None:
    frame, meta = carried(tmp_path, "pay", NUMBERS[name], "dta")
    assert (frame["pay"] == "a").sum() == 10
    assert meta.variable_value_labels["pay"] == {"a": "refused"}
    assert pyreadstat.read_dta(str(tmp_path / "out.dta"))[0]["pay"].max() < 10_000


@pytest.mark.parametrize(
    "step",
    [
        {"cut": {"points": [2500, 3500], "labels": ["low", "middle", "high"]}},
        {"generalize": {"hierarchy": {"intervals": [1000]}, "level": 1}},
        {"groups": {"k": 10, "publish": "interval"}},
        {
            "map": {
                "keys": [str(2000 + 37 * i) for i in range(60)],
                "targets": [i // 20 for i in range(60)],
                "labels": ["a", "b", "c"],
            }
        },
    ],
    ids=["cut", "intervals", "groups", "map"],
)
def test_bands_get_codes_in_order_and_refusals_stay_apart(tmp_path: Path, step: dict[str, Any]) -> None:
    frame, meta = carried(tmp_path, "pay", step)
    known = frame[frame["pay"] != REFUSED]
    assert known["pay"].is_monotonic_increasing  # pay grows with the row
    assert set(known["pay"]) == {float(i) for i in range(1, known["pay"].nunique() + 1)}
    assert (frame["pay"] == REFUSED).sum() == 10
    assert meta.variable_value_labels["pay"][REFUSED] == "refused"
    assert len(meta.variable_value_labels["pay"]) == known["pay"].nunique() + 1
    assert meta.missing_ranges["pay"] == [{"lo": REFUSED, "hi": REFUSED}]
    assert meta.column_names_to_labels["pay"] == "Monthly pay"
    assert meta.variable_measure["pay"] == "ordinal"
    assert meta.original_variable_types["pay"] == "F8.0"


def test_rare_values_are_hidden_and_the_others_keep_code_and_label(tmp_path: Path) -> None:
    frame, meta = carried(tmp_path, "region", {"rare": {"min_count": 4}})
    hidden = frame["region"][:3].unique().tolist()
    assert hidden == [8.0]  # above every code and label of the source
    assert frame["region"][3:].tolist() == [1.0 + i % 2 for i in range(3, 60)]
    assert meta.variable_value_labels["region"] == {1: "North", 2: "South", 8: "*"}
    assert meta.missing_ranges["region"] == [{"lo": 8.0, "hi": 8.0}]
    assert "West" not in str((tmp_path / "out.sav").read_bytes())
    kept, meta = carried(tmp_path, "region", {"rare": {"min_count": 3}})  # three people have it
    assert kept["region"].tolist() == [5.0 if i < 3 else 1.0 + i % 2 for i in range(60)]
    assert meta.variable_value_labels["region"] == {1: "North", 2: "South", 5: "West"}


@pytest.mark.parametrize("ending", ["sav", "dta"])
@pytest.mark.parametrize("step", [{"pram": {"keep": 0.8}}, {"permute": {}}, {"rank_swap": {"percent": 20}}], ids=str)
def test_exchanged_values_keep_codes_labels_and_type(tmp_path: Path, step: dict[str, Any], ending: str) -> None:
    frame, meta = carried(tmp_path, "region", step, ending)
    assert set(frame["region"]) <= {1.0, 2.0, 5.0}
    labels = {1: "North", 2: "South", 5: "West"}
    assert meta.variable_value_labels["region"] == {v: labels[v] for v in sorted(set(frame["region"]))}
    assert meta.column_names_to_labels["region"] == "Region of birth"


def test_a_code_declared_missing_is_not_exchanged_for_a_category(tmp_path: Path) -> None:
    frame, meta = carried(tmp_path, "edu", {"pram": {"keep": 0.3, "invariant": False}})
    codes = [float([1, 2, 3, 4, 5, 8, 9][i % 7]) for i in range(60)]
    assert [c for c in frame["edu"] if c > 5] == [c for c in codes if c > 5]
    assert [(a > 5) for a in frame["edu"]] == [(c > 5) for c in codes]
    assert frame["edu"].tolist() != codes
    assert meta.variable_measure["edu"] == "ordinal"
    assert meta.original_variable_types["edu"] == "F2.0"


def test_an_untouched_file_keeps_its_code_book_and_a_suppressed_one_only_what_is_published(tmp_path: Path) -> None:
    _, whole = carried(tmp_path, "row", {"keep": {}})
    assert whole.variable_value_labels["region"] == LABELS["region"]
    assert (whole.original_variable_types["pay"], whole.variable_display_width["pay"]) == ("F8.0", 11)
    frame, meta = carried(tmp_path, "row", {"keep": {}}, suppress={"k": 4, "columns": ["region"]})
    assert 5.0 not in set(frame["region"])
    assert meta.variable_value_labels["region"] == {1: "North", 2: "South"}
    _, three = carried(tmp_path, "row", {"keep": {}}, suppress={"k": 3, "columns": ["region"]})
    assert three.variable_value_labels["region"] == {1: "North", 2: "South", 5: "West"}


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_suppressed_cells_leave_numbers_numbers(tmp_path: Path, ending: str) -> None:
    frame, meta = carried(tmp_path, "row", {"keep": {}}, ending, suppress={"k": 4, "columns": ["region"], "scope": "cells"})
    star = 8.0 if ending == "sav" else "z"
    assert frame["region"].tolist() == [star] * 3 + [1.0 + i % 2 for i in range(3, 60)]
    assert meta.variable_value_labels["region"] == {1: "North", 2: "South", star: "*"}
    plain = (pyreadstat.read_sav if ending == "sav" else pyreadstat.read_dta)(str(tmp_path / f"out.{ending}"))[0]
    assert plain["region"].isna().sum() == 3


def test_a_release_keeps_refusals_apart_and_says_so_in_the_file(tmp_path: Path) -> None:
    source = survey(tmp_path / "in.sav", rows=240)
    policy = {
        "roles": {
            "quasi": {"pay": {"hierarchy": {"intervals": [2000, 4000]}}, "edu": {}},
            "insensitive": ["region"],
            "direct": ["row"],
        },
        "require": {"k": 3},
        "allow": {"suppress": 0.2},
        "method": "lattice",
    }
    release = shoal.anonymize(source, policy, format="spss")
    release.write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").ok
    frame, meta = pyreadstat.read_sav(str(tmp_path / "release" / "data.sav"), user_missing=True)
    assert meta.missing_ranges["pay"] == [{"lo": REFUSED, "hi": REFUSED}]
    assert meta.variable_value_labels["pay"][REFUSED] == "refused"
    others = set(frame["pay"]) - {REFUSED}
    assert others
    assert max(others) < 100
    assert all("99999" not in label for label in meta.variable_value_labels["pay"].values())
    assert meta.variable_value_labels["edu"][8.0] == "do not know"
    assert min(Counter(zip(frame["pay"], frame["edu"], strict=True)).values()) >= 3
    assert meta.column_names_to_labels["edu"] == "Education"


# -- the parts -----------------------------------------------------------------------------------------------------


@given(st.lists(st.one_of(st.none(), st.integers(-12, 12)), max_size=20), st.integers(-12, 12), st.integers(0, 5))
def test_is_code_is_the_definition(values: list[int | None], low: int, width: int) -> None:
    declared = (low, (low + 2, low + 2 + width))
    slow = [v is not None and (v == low or low + 2 <= v <= low + 2 + width) for v in values]
    for kind in (pa.int64(), pa.float64(), pa.int8()):
        assert is_code(pa.array(values, kind), declared).to_pylist() == slow
    assert [v is not None and is_declared(v, declared) for v in values] == slow
    assert [v is not None and is_declared(str(v), declared) for v in values] == slow


@given(
    st.lists(st.tuples(st.sampled_from([None, 1.0, 2.0, 5.0, -8.0, -9.0]), st.sampled_from([None, 3.0, 4.0, -9.0])), min_size=6),
    st.integers(2, 3),
)
def test_every_combination_of_microaggregated_values_and_codes_is_shared(rows: list[tuple[Any, Any]], k: int) -> None:
    table = pa.table({"x": pa.array([r[0] for r in rows], pa.float64()), "y": pa.array([r[1] for r in rows], pa.float64())})
    if sum(any(v is not None and v > 0 for v in r) for r in rows) < k:
        return
    out = beside_codes(tf.Microaggregate("x", ("y",), k=k), table, 0, {"x": (-8, -9), "y": (-9,)})
    published = list(zip(out["x"].to_pylist(), out["y"].to_pylist(), strict=True))
    assert min(Counter(published).values()) >= k
    for before, after in zip(rows, published, strict=True):
        for was, now in zip(before, after, strict=True):
            assert now is None or (now < 0) == (was is not None and was < 0)
            assert now is None or now > 0 or now == was


@pytest.mark.parametrize(
    ("made", "before", "moved"),
    [(97, 96, 96), (99, 100, 100), (98, 90, 96), (98, 120, 100), (96, 90, 96), (100, 90, 100)],
)
def test_a_number_that_becomes_a_code_by_calculation_moves_beside_it(made: int, before: int, moved: int) -> None:
    declared = {"age": ((97, 99),)}
    result, source = pa.table({"age": [made, 50]}), pa.table({"age": [before, 98]})
    assert with_codes(result, source, declared)["age"].to_pylist() == [moved, 98]
    assert without_codes(source, declared)["age"].to_pylist() == [before, None]


@pytest.mark.parametrize(
    ("step", "declared", "refused"),
    [
        (Round("x", 10), (90.0,), True),
        (Round("x", 10), (91.0,), False),
        (Round("x", 10), ((91.0, 99.0),), False),
        (Round("x", 10), ((91.0, 100.0),), True),
        (Clamp("x", high=99.0), (99.0,), True),
        (Clamp("x", high=98.0), (99.0,), False),
        (Clamp("x", low=-9.0), ((-9.0, -7.0),), True),
    ],
    ids=str,
)
def test_rounding_never_makes_a_code(step: Any, declared: tuple[Any, ...], refused: bool) -> None:
    column = Column("x", "float", user_missing=declared)
    if refused:
        with pytest.raises(UsageError, match="declares missing"):
            step.check(column)
    else:
        step.check(column)


STEPS = [
    Round("x", 10),
    Clamp("x", low=2.0, high=6.0),
    Cut("x", points=(3.0,), labels=("low", "high")),
    Prefix("x", length=1),
    MapValues("x", keys=tuple(map(str, range(-2, 10))), targets=(0,) * 6 + (1,) * 6, labels=("a", "b")),
    tf.Centres("x", (3.0,), ("1.5", "7.0")),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.kind)
@pytest.mark.parametrize("declared", [(-9,), ((-9, -5),), ((-9, -8), -5)], ids=str)
def test_sql_and_arrow_leave_the_same_codes_as_they_are(tmp_path: Path, step: Any, declared: tuple[Any, ...]) -> None:
    values = [*range(-9, -4), *range(-2, 10), None]
    values = [v for v in values if v is None or v > -3 or is_declared(v, declared)]
    found = []
    for scope in ("rows", "cells"):  # by codes; as SQL
        with shoal.open(pa.table({"x": values, "row": range(len(values))})) as table:
            columns = tuple(replace(c, user_missing=declared) if c.name == "x" else c for c in table.schema.columns)
            table._schema = replace(table._schema, columns=columns)
            table._relation = replace(table._relation, columns=columns)
            table.recode(
                Plan((step,), Suppression(2, ("x",), scope) if scope == "cells" else Suppression()), tmp_path / "o.parquet"
            )

        out = pq.read_table(tmp_path / "o.parquet").sort_by("row")["x"].to_pylist()
        found.append(out)
    for value, by_codes, as_sql in zip(values, *found, strict=True):
        if value is not None and is_declared(value, declared):
            assert str(by_codes) in (str(value), str(float(value)))
            assert as_sql in (str(value), str(float(value)), "*")
        elif as_sql != "*":
            assert None is by_codes is as_sql or str(by_codes) == as_sql


def test_orders_of_groups() -> None:
    for texts in itertools.permutations(["<20", "20-29", "85+", "*"]):
        assert in_order(texts) == ["<20", "20-29", "85+", "*"]
    assert in_order(["high", "low"], ("low", "high")) == ["low", "high"]


def test_new_codes_step_over_declared_ones_and_keep_clear_of_labels() -> None:
    column = Column("x", "text", user_missing=(2, -9), labels={-9: "refused"}, grouped=True, order=("a", "b", "c"))
    found = coded(pa.array(["c", "a", "b", "-9", None, "2"]), column, "spss")
    assert found is not None
    assert found.cells == [4, 1, 3, -9, None, 2]
    assert found.labels == {1: "a", 3: "b", 4: "c", -9: "refused"}
    full = Column("x", "text", user_missing=(7, 8, 9), labels={12: "unused"}, coded=True)
    star = coded(pa.array(["1.0", "*", "3.5"]), full, "spss")
    assert star is not None
    assert (star.cells, star.declared) == ([1, 13, 3.5], (7, 8, 9))  # SPSS has no room for a fourth
    assert coded(pa.array(["1", "*"]), Column("x", "text", user_missing=(8, 9), coded=True), "spss").declared == (8, 9, 10)  # type: ignore[union-attr]
    assert coded(pa.array(["x"]), Column("x", "text"), "spss") is None
    assert coded(pa.array([str(2**53), "*"]), Column("x", "text", coded=True), "spss") is not None
    assert coded(pa.array([str(2**53 + 2), "*"]), Column("x", "text", coded=True), "spss") is None


def test_letters_of_stata_go_in_order_and_are_not_given_twice() -> None:
    column = Column("x", "integer", user_missing=(-8, -9), labels={-9: "refused", 1: "one"})
    found = lettered(pa.array([1, -8, -9, None]), column, None)
    assert found is not None
    assert found.cells == [1, "b", "a", None]
    assert found.labels == {1: "one", "a": "refused", "b": "-8"}
    assert lettered(pa.array([1, 2]), column, None) is None


@pytest.mark.parametrize(("k", "scope", "kept"), [(2, "rows", True), (2, "cells", True), (1, "rows", False), (2, "none", False)])
def test_labels_that_could_tell_of_suppressed_records_are_removed_from_k_2_on(k: int, scope: Any, kept: bool) -> None:
    """Suppression removes records from k = 2 on; then every column may have lost a value, so no label of an absent one stays."""
    plan = Plan((Keep("a"),), Suppression(k, ("a",), scope))
    assert hidden_columns(plan, ["a", "b"], None) == (frozenset("ab") if kept else frozenset())


def test_values_of_classes_below_k_2_leave_no_label_behind(tmp_path: Path) -> None:
    """One person alone with code 3: neither the record nor the label of code 3 is in the file."""
    source = tmp_path / "s.sav"
    labels = {"a": {1.0: "one", 2.0: "two", 3.0: "three"}}
    pyreadstat.write_sav(pd.DataFrame({"a": [1.0, 1.0, 2.0, 2.0, 3.0]}), str(source), variable_value_labels=labels)
    with shoal.open(source) as opened:
        opened.recode(Plan((), Suppression(2, ("a",))), tmp_path / "o.sav")
    frame, meta = pyreadstat.read_sav(str(tmp_path / "o.sav"))
    assert sorted(frame["a"]) == [1, 1, 2, 2]
    assert "three" not in str(meta.variable_value_labels)
