"""A data frame in, a data frame out: the same rows as in the written release, in the types that were there before."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import EmptyTableError, PolicyError, RoleError, ShoalWarning, UsageError

CANARY = "CANARYPOPE"
QUASI = ["age", "sex", "edu", "job"]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng, n = np.random.default_rng(5), 600
    frame = pd.DataFrame(
        {
            "age": pd.array(rng.integers(20, 60, n), dtype="Int16"),
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "edu": pd.Categorical(rng.choice(["low", "middle", "high"], n), ["low", "middle", "high", CANARY], ordered=True),
            "job": rng.choice(["nurse", "cook"], n),
            "ill": pd.Categorical(rng.choice(["flu", "cold"], n), ["flu", "cold", CANARY]),
            "score": rng.normal(size=n).astype("float32"),
            "visits": pd.array(rng.integers(0, 9, n), dtype="Int8"),
            "smokes": pd.array(rng.integers(0, 2, n).astype(bool), dtype="boolean"),
            "seen": pd.Timestamp("2024-01-01", tz="Europe/Amsterdam") + pd.to_timedelta(rng.integers(0, 9, n), unit="D"),
        }
    )
    frame.loc[0, "job"] = CANARY
    frame.loc[1, "visits"] = pd.NA
    frame.loc[2, "smokes"] = pd.NA
    return frame


@pytest.fixture(scope="module")
def release(people: pd.DataFrame) -> shoal.Release:
    rest = ["score", "visits", "smokes", "seen"]
    return shoal.protect(people, quasi=QUASI, sensitive=["ill"], insensitive=rest, k=5)


def test_the_frame_has_the_k_of_the_certificate(release):
    out = release.to_pandas()
    assert out.groupby(QUASI, dropna=False, observed=True).size().min() == release.k >= 5
    assert len(out) == release.certificate.after.records


def test_kept_columns_keep_their_types_and_values(people, release):
    out = release.to_pandas()
    for name in ("ill", "score", "visits", "smokes", "seen"):
        if name != "ill":
            assert str(out[name].dtype) == str(people[name].dtype).replace("[ns", "[us")
        assert set(out[name].dropna()) <= set(people[name].dropna())
    assert out["ill"].dtype.name == "category"


def test_categories_of_hidden_values_are_not_in_the_frame(people, release):
    assert CANARY not in release.to_pandas().to_csv()
    rest = ["score", "visits", "smokes", "seen"]
    one_level = shoal.protect(people, quasi=QUASI, sensitive=["ill"], insensitive=rest, k=5, method="lattice")
    out = one_level.to_pandas()
    assert list(out["ill"].cat.categories) == ["cold", "flu"]
    assert list(out["edu"].cat.categories) == ["low", "middle", "high"]
    assert out["edu"].cat.ordered
    assert CANARY not in out.to_csv()
    assert CANARY not in repr(out.dtypes.tolist())


def test_neither_repr_nor_card_nor_pickle_hold_a_value(release):
    release.to_pandas()
    assert CANARY not in repr(release)
    assert len(repr(release)) < 200
    assert CANARY not in release._repr_html_()
    assert "smallest class" in release._repr_html_()
    packed = pickle.dumps(release)
    assert CANARY.encode() not in packed
    pd.testing.assert_frame_equal(pickle.loads(packed).to_pandas(), release.to_pandas())


def test_a_decided_release_costs_nothing_to_look_at(people):
    decided = shoal.anonymize(people[["age", "ill"]], quasi=["age"], sensitive=["ill"], k=5, allow={"suppress": 0.1})
    assert decided._repr_html_() is None


def test_the_frame_is_the_written_table(release, tmp_path):
    written = pq.read_table(release.write(tmp_path / "out") / "data.parquet").to_pandas()
    mine = release.to_pandas()
    for name in QUASI:
        assert written[name].astype(str).tolist() == mine[name].astype(str).tolist()


def test_polars_and_arrow_give_the_same_rows(people, release):
    arrow, frame = release.to_arrow(), release.to_polars()
    assert isinstance(arrow, pa.Table)
    assert isinstance(frame, pl.DataFrame)
    assert frame["age"].cast(pl.String).to_list() == arrow["age"].cast(pa.string()).to_pylist()
    from_polars = shoal.protect(
        pl.from_pandas(people[[*QUASI, "ill"]]), quasi=QUASI, sensitive=["ill"], k=5, allow={"suppress": 0.05}
    )
    assert from_polars.to_polars().group_by(QUASI).len()["len"].min() >= 5


def test_ordered_groups_stay_in_order(tmp_path):
    low, high = ["a", "b"], ["y", "z"]
    frame = pd.DataFrame(
        {"grade": pd.Categorical(["z", "y", "y", "z", "a", "b", "b", "a"] * 2, [*low, *high], ordered=True), "x": [1] * 16}
    )
    levels = tmp_path / "levels.csv"
    levels.write_text("".join(f"{v};{'worse' if v in low else 'better'}\n" for v in (*low, *high)), encoding="utf-8")
    told = {"grade": {"hierarchy": str(levels), "min_level": 1}}
    out = shoal.protect(frame, quasi=told, insensitive=["x"], k=4).to_pandas()
    assert out["grade"].cat.ordered
    assert list(out["grade"].cat.categories) == ["worse", "better"]


def test_a_whole_number_with_gaps_stays_a_whole_number():
    table = pa.table({"age": [30, 30, 41, 41], "visits": pa.array([1, None, 3, 4], pa.int64()), "ok": [True, None, None, False]})
    out = shoal.protect(table, quasi=["age"], insensitive=["visits", "ok"], k=2).to_pandas()
    assert str(out["visits"].dtype) == "Int64"
    assert str(out["ok"].dtype) == "boolean"
    assert sorted(out["visits"].dropna().tolist()) == [1, 3, 4]


def test_columns_without_a_role_are_guessed_and_told():
    frame = pd.DataFrame({"age": [30, 30, 41, 41], "email": [f"p{i}@example.org" for i in range(4)], "height_note": ["x"] * 4})
    with pytest.warns(ShoalWarning, match=r"roles were guessed.*email"):
        out = shoal.protect(frame, quasi=["age"], k=2)
    assert list(out.to_pandas().columns) == ["age", "height_note"]


def test_a_further_quasi_identifier_stops_the_run_unless_the_rest_is_said():
    frame = pd.DataFrame({"age": [30, 30, 41, 41], "sex": ["f", "m", "f", "m"]})
    with pytest.raises(RoleError, match="sex"):
        shoal.protect(frame, quasi=["age"], k=2)
    assert list(shoal.protect(frame, quasi=["age"], k=2, rest="drop").to_pandas().columns) == ["age"]
    known = shoal.protect(frame, quasi=["age"], k=2, rest="quasi", allow={"suppress": 0.5, "loss": 1})
    assert known.certificate.data.quasi == ("age", "sex")


def test_without_any_role_all_are_guessed_and_k_is_five():
    frame = pd.DataFrame({"age": [30] * 6 + [41] * 5, "sex": ["f"] * 6 + ["m"] * 5})
    with pytest.warns(ShoalWarning, match="quasi: age, sex"):
        r = shoal.protect(frame)
    assert [(f.requirement, f.asked) for f in r.certificate.requirements] == [("k", 5)]


def test_what_cannot_be_asked_is_refused():
    frame = pd.DataFrame({"age": [30, 30]})
    with pytest.raises(UsageError, match="rest"):
        shoal.protect(frame, quasi=["age"], rest="keep")
    with pytest.raises(EmptyTableError):
        shoal.protect(frame.iloc[:0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shoal.protect(frame, quasi=["age"], k=2)


def test_a_stream_is_read_once() -> None:
    people = pa.table({"age": [31, 32] * 10, "sex": ["f", "m"] * 10})
    assert shoal.protect(people.to_reader(), quasi=["age", "sex"], k=5).to_arrow().num_rows == 20


def test_columns_and_numbers_as_notebooks_hold_them() -> None:
    """Names from ``frame.columns``, an array of numpy, labels that are numbers, and k as numpy counts it."""
    people = pd.DataFrame({"age": [31, 32] * 10, "sex": ["f", "m"] * 10, 7: ["a", "b"] * 10})
    for quasi in (people.columns[:2], np.array(["age", "sex"]), ["age", "sex"]):
        r = shoal.protect(people, quasi=quasi, sensitive=[7], k=np.int64(5))
        assert set(r.to_pandas().columns) == {"age", "sex", "7"}
    with pytest.raises(PolicyError, match="whole number"):
        shoal.protect(people, quasi=["age", "sex"], sensitive=[7], k=np.float64(5.5))
