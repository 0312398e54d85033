"""Tables of counts: the same numbers as of the table in which every person has a row."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli import main
from shoal.errors import DataError, RoleError, ShoalError, UsageError


def tables(seed: int) -> tuple[pa.Table, pa.Table]:
    """Random rows with counts, some 0 and some rows alike, missing values among them; and the same people one by one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    columns = {
        "age": pa.array(rng.integers(20, 26, n), mask=rng.random(n) < 0.1),
        "sex": pa.array(rng.choice(["f", "m"], n).tolist(), mask=rng.random(n) < 0.1),
        "town": pa.array(rng.choice(["a", "b", "c"], n).tolist()),
        "ill": pa.array(rng.choice(["flu", "hiv", "cold"], n).tolist(), mask=rng.random(n) < 0.1),
    }
    people = rng.choice([0, 1, 1, 2, 3, 7, 40], n)
    short = pa.table({**columns, "people": pa.array(people.astype(np.float64) if seed % 2 else people)})
    return short, pa.table(columns).take(np.repeat(np.arange(n), people))


def without_rows(found: dict) -> dict:
    """The JSON without what speaks of rows (the first note) and of the name of the table."""
    return {k: v[1:] if k == "notes" else v for k, v in found.items() if k not in ("table", "repeating_id")}


@pytest.mark.parametrize("seed", range(8))
def test_measure_of_counts_equals_measure_of_people(seed: int) -> None:
    short, long = tables(seed)
    options = {"quasi": ["age", "sex"], "sensitive": ["ill"], "missing": ("own", "drop", "wildcard")[seed % 3]}
    got = shoal.measure(short, counts="people", by="town", **options)
    want = shoal.measure(long, by="town", **options)
    assert json.dumps(without_rows(got.to_json())) == json.dumps(without_rows(want.to_json()))
    assert got.counts.sizes.tolist() == want.counts.sizes.tolist()
    population = {"population": 10_000} if seed % 3 != 2 else {}
    assert (
        shoal.measure(short, counts="people", **options, **population).sentence
        == shoal.measure(long, **options, **population).sentence
    )


def test_a_row_of_counts_is_not_called_a_person() -> None:
    short, long = tables(1)
    options = {"quasi": ["age", "sex"]}
    notes = shoal.measure(short, counts="people", **options).notes
    assert "Each row stands for as many people as column 'people' says." in notes
    assert not any("each row counts as one person" in note for note in notes)
    assert any("each row counts as one person" in note for note in shoal.measure(long, **options).notes)


@pytest.mark.parametrize("seed", range(20, 24))
def test_compare_of_counts_equals_compare_of_people(seed: int) -> None:
    """Numbers, classes, trade-off and models: each row counts as its people do, a row of nobody not at all."""
    short, long = tables(seed)
    coarse = [None if age is None else f"{age - age % 2}-{age - age % 2 + 1}" for age in short["age"].to_pylist()]
    release, released = (t.set_column(0, "age", pa.array(a)) for t, a in ((short, coarse), (long, _repeated(short, coarse))))
    options = {"quasi": ["age", "sex"], "sensitive": ["ill"], "models": seed == 20, "frontier": seed < 22}
    got = shoal.compare(short, release, counts="people", **options).to_json()
    want = shoal.compare(long, released, **options).to_json()
    assert json.dumps(got) == json.dumps(want)
    assert got["records"] == {"before": long.num_rows, "after": long.num_rows}


def _repeated(short: pa.Table, values: list) -> list:
    return [v for v, n in zip(values, short["people"].to_pylist(), strict=True) for _ in range(int(n))]


def test_compare_refuses_counts_that_are_no_counts_and_a_key() -> None:
    short, _ = tables(2)
    with pytest.raises(UsageError, match="has no key"):
        shoal.compare(short, short, counts="people", key="town")
    with pytest.raises(RoleError, match="Leave it out"):
        shoal.compare(short, short, counts="people", quasi="people")
    wrong = short.set_column(4, "people", pa.array([0.5] * short.num_rows))
    with pytest.raises(DataError, match="not whole"):
        shoal.compare(short, wrong, counts="people")


def test_predictions_and_a_pilot_of_counts_equal_those_of_people() -> None:
    rng = np.random.default_rng(7)
    n = 400
    rows = {"age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n), "town": rng.choice(list("abcdef"), n)}
    people = rng.choice([0, 1, 1, 2, 3], n)
    short = pa.table({**{k: pa.array(v.tolist()) for k, v in rows.items()}, "people": pa.array(people)})
    long = short.drop_columns("people").take(np.repeat(np.arange(n), people))
    asked = list(rows)
    about = {"columns": asked, "population": 20_000}
    got = shoal.predict("population", table=short, counts="people", **about)
    assert json.dumps(got.to_json()) == json.dumps(shoal.predict("population", table=long, **about).to_json())
    with pytest.raises(UsageError, match="need the table"):
        got.fitted.per_record()
    about = {"columns": asked, "population": 20_000, "respondents": 500}
    meter = shoal.design(pilot=short, counts="people", **about)
    assert json.dumps(meter.to_json()) == json.dumps(shoal.design(pilot=long, **about).to_json())
    quasi = [
        shoal.predict("quasi", table=t, columns=asked, **c).to_json() for t, c in ((short, {"counts": "people"}), (long, {}))
    ]
    assert json.dumps(quasi[0]) == json.dumps(quasi[1])
    with pytest.raises(RoleError, match="together with a unit"):
        shoal.predict("population", table=short, counts="people", unit="town", columns=["age"], population=20_000)
    with pytest.raises(UsageError, match="those of a pilot"):
        shoal.design(counts="people")


@pytest.mark.parametrize("seed", range(8, 13))
def test_study_of_counts_equals_study_of_people(seed: int) -> None:
    short, long = tables(seed)
    options = {"sets": [["age"], ["age", "sex"], ["sex", "town"]], "by": "town", "quasi": ["age", "sex", "town"], "up_to": 2}
    got, want = shoal.study(short, counts="people", **options).to_json(), shoal.study(long, **options).to_json()
    assert json.dumps({**got, "table": "", "sentence": ""}) == json.dumps({**want, "table": "", "sentence": ""})


@pytest.mark.parametrize(
    ("people", "error"),
    [([1, -1], DataError), ([1.5, 2.0], DataError), ([1, None], DataError), (["1", "2"], RoleError), ([0, 0], ShoalError),
     ([2**53, 2**53], DataError)],
)  # fmt: skip
def test_what_is_not_a_count_of_people_is_refused(people: list, error: type[ShoalError]) -> None:
    with pytest.raises(error):
        shoal.measure({"age": [30, 41], "n": people}, quasi=["age"], counts="n")


def test_counts_go_with_neither_unit_nor_weight_nor_another_role() -> None:
    table = {"age": [30, 41], "n": [2, 3], "w": [1.0, 2.0], "id": ["a", "b"]}
    for more in ({"unit": "id"}, {"weight": "w"}, {"sensitive": ["n"]}):
        with pytest.raises(ShoalError):
            shoal.measure(table, quasi=["age"], counts="n", **more)
    with pytest.raises(RoleError):
        shoal.study(table, sets=[["age", "n"]], counts="n")
    with pytest.raises(UsageError):
        shoal.study(table, sets=[["age"]], counts="n", unit="id")


def test_the_commands_take_counts(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("age,sex,n\n30,f,4\n30,f,2\n41,m,1\n50,m,0\n", encoding="utf-8")
    for command in (["measure", "--quasi", "age,sex"], ["study", "--quasi", "age,sex"]):
        with pytest.raises(SystemExit) as stop:
            main([command[0], str(tmp_path / "t.csv"), *command[1:], "--count", "n", "--json"])
        assert stop.value.code == 0
        got = json.loads(capsys.readouterr().out)
        found = got if command[0] == "measure" else got["sets"][0]
        assert (found["unique"], found["classes"]) == (1, 2)


def test_postcodes_of_other_towns_are_not_empty_cells_of_this_one() -> None:
    rng = np.random.default_rng(5)
    town = rng.integers(0, 8, 6000)
    table = pa.table({"town": town, "postcode": 100 * town + rng.integers(0, 4, 6000), "age": rng.integers(0, 30, 6000)})
    found = shoal.study(table, sets=[["postcode", "age"], ["age"]], by="town")
    both, age = found.sets
    assert (both.nested, age.nested) == (("postcode",), ())
    assert any("postcode belong to one town each" in note for note in found.notes)
    for group in both.groups:
        assert group.kappa < 0.2, "spread evenly over its own four postcodes and thirty ages"
        assert group.predicted[0] == pytest.approx(group.observed[0], abs=0.05)
    inside = table.filter(pa.compute.equal(table["town"], 3))
    alone = shoal.study(inside, sets=[["postcode", "age"]]).sets[0]
    assert alone.kappa == pytest.approx(next(g for g in both.groups if g.name == "3").kappa)


@pytest.mark.parametrize("seed", range(4))
def test_a_column_that_only_chance_kept_apart_is_not_nested(seed: int) -> None:
    rng = np.random.default_rng(seed)
    few = pa.table({"town": rng.integers(0, 6, 30), "age": rng.integers(0, 60, 30)})
    assert shoal.study(few, sets=[["age"]], by="town").sets[0].nested == ()
    many = pa.table({"town": rng.choice(3, 2000, p=[0.97, 0.02, 0.01]), "age": rng.integers(0, 60, 2000)})
    assert shoal.study(many, sets=[["age"]], by="town").sets[0].nested == ()


def test_a_search_for_sets_opens_with_what_it_found() -> None:
    table = {"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "c": [1, 1, 1, 1]}
    sentence = shoal.study(table, quasi=["a", "b", "c"], up_to=2, k=2).sentence
    assert "1 identifying set of columns, such as a + b" in sentence
    assert "safe set" in sentence


def test_a_column_of_lists_beside_the_measured_ones_is_no_error():
    table = pa.table({"a": [1, 2] * 30, "b": ["x", "y"] * 30, "lists": [[1], [2, 3], None] * 20})
    assert shoal.measure(table, quasi=["a"], sensitive=["b"]).k == 30
