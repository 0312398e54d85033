"""Generated people: the same for the same seed, streamed, with the shapes that were promised."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from shoal import datasets
from shoal.errors import OutputError, UsageError


@pytest.fixture(scope="module")
def crowd():
    return datasets.people(150_000, seed=3)


def test_same_seed_same_people_and_a_larger_crowd_begins_with_the_smaller(crowd):
    assert crowd.slice(0, 1000).equals(datasets.people(1000, seed=3))
    assert not crowd.slice(0, 1000).equals(datasets.people(1000, seed=4))


def test_person_numbers_are_distinct_and_keep_their_zeros(crowd):
    assert pc.count_distinct(crowd["person_id"]).as_py() == crowd.num_rows
    assert pc.min(pc.utf8_length(crowd["person_id"])).as_py() == pc.max(pc.utf8_length(crowd["person_id"])).as_py() == 9


def test_a_postcode_lies_in_one_municipality(crowd):
    pairs = crowd.select(["municipality", "postcode"]).group_by(["municipality", "postcode"]).aggregate([])
    assert pc.count_distinct(pairs["postcode"].cast("string")).as_py() == pairs.num_rows


def test_municipalities_differ_in_size_by_more_than_a_factor_twenty(crowd):
    sizes = crowd.group_by("municipality").aggregate([([], "count_all")])["count_all"].to_numpy()
    assert len(sizes) == 340
    assert sizes.max() / sizes.min() > 20


def test_age_pyramid(crowd):
    age = 2026 - pc.year(crowd["date_of_birth"]).to_numpy()
    share = np.bincount(age // 10, minlength=11) / len(age)
    assert 0.15 < share[:2].sum() < 0.25
    assert share[6] > share[7] > share[8] > share[9] > share[10] > 0


def test_income_rises_with_education_and_some_are_missing(crowd):
    means = dict(
        zip(*crowd.group_by("education").aggregate([("income", "mean")]).to_pydict().values(), strict=True),
    )
    assert means["primary"] < means["vocational"] < means["bachelor"] < means["master"]
    assert 0.015 < crowd["income"].null_count / crowd.num_rows < 0.025


def test_illness_rises_with_age(crowd):
    age = 2026 - pc.year(crowd["date_of_birth"]).to_numpy()
    ill = pc.not_equal(crowd["diagnosis"].cast("string"), "none").to_numpy()
    assert ill[age < 30].mean() + 0.1 < ill[age > 70].mean()


def test_visits_have_several_rows_per_person():
    visits = datasets.visits(2000, seed=5)
    assert pc.count_distinct(visits["person_id"]).as_py() < visits.num_rows
    assert visits.num_rows == pc.sum(datasets.people(2000, seed=5)["visits"]).as_py()


def test_a_file_is_written_batch_by_batch_and_leaves_nothing_else(tmp_path):
    path = datasets.write_people(tmp_path / "people.parquet", 200_000, seed=3)
    assert pq.read_metadata(path).num_rows == 200_000
    assert pq.read_metadata(path).num_row_groups == 2
    assert [p.name for p in tmp_path.iterdir()] == ["people.parquet"]


@pytest.mark.parametrize("n", [0, -1, 100_000_001])
def test_numbers_that_make_no_sense_are_refused(n):
    with pytest.raises(UsageError, match="between 1 and"):
        next(datasets.batches(n))


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OutputError, match="nothing can be written in folder"):
        datasets.write_people(tmp_path / "none" / "p.parquet", 10)
