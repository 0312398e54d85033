"""Who was left out stays unknown: neither certificate nor report tells the few who are not in the data."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import shoal


def one_left_out(illness, income=2000):
    """Four hundred people of two towns and one of a third, who is left out."""
    n = 400
    table = pa.table(
        {
            "sex": [*(["f", "m"] * (n // 2)), "f"],
            "town": [*(["Meppel", "Zwolle", "Zwolle", "Meppel"] * (n // 4)), "Urk"],
            "ill": [*(["flu", "cold", "flu", "hiv", "cancer"] * (n // 5)), illness],
            "income": [*(1000 + 5 * i % 2000 for i in range(n)), income],
        }
    )
    asked = {
        "roles": {"quasi": {"sex": {"max_level": 0}, "town": {"max_level": 0}}, "sensitive": ["ill"], "insensitive": ["income"]},
        "require": {"k": 5},
        "allow": {"suppress": 0.05},
        "analyses": [{"mean": "income"}, {"table": ["ill"]}],
        "date": "2026-11-15",
    }
    return shoal.anonymize(table, asked)


def told(release):
    """Everything that is said of a release, without what depends on the key or the bytes of the data."""
    made = json.loads(json.dumps(release.certificate.to_json()))
    for name in ("key", "signature", "files", "plan"):
        made.pop(name)
    made["input"].pop("keyed_hash")
    return made


def test_the_sensitive_value_of_one_left_out_changes_nothing_that_is_said():
    first, *others = [told(one_left_out(illness)) for illness in ("hiv", "cancer", "flu")]
    assert first["utility"]["suppressed"] == 1
    for other in others:
        assert other == first


def test_an_outlier_left_out_is_not_in_the_mean():
    ordinary, outlier = (told(one_left_out("flu", income)) for income in (2000, 77_665_544))
    mean = outlier["utility"]["analyses"][0]
    assert mean["before"] == "not shown: records were left out"
    assert mean["change"].startswith("above 0.1")
    assert outlier["utility"]["analyses"][0]["after"] == ordinary["utility"]["analyses"][0]["after"]


def test_the_group_of_one_left_out_is_not_named():
    made = told(one_left_out("flu"))
    assert made["utility"]["who"] == []
    assert '"Urk"' not in json.dumps(made)


@pytest.mark.parametrize("seed", range(20))
def test_no_small_count_of_the_left_out_follows_by_subtraction(seed):
    """Of each column: what is named and what is not add up to all who were left out, and none of the parts is small."""
    import numpy as np

    rng = np.random.default_rng(seed)
    n = 600
    table = pa.table({"a": rng.geometric(0.25, n), "b": rng.choice(["x", "y", "z"], n, p=[0.9, 0.08, 0.02])})
    quasi = {"a": {"max_level": 0}, "b": {"max_level": 0}}
    release = shoal.anonymize(table, {"roles": {"quasi": quasi}, "require": {"k": 6}, "allow": {"suppress": 0.5}})
    utility = release.certificate.utility
    for column in ("a", "b"):
        lines = [line for line in utility.who if line.column == column]
        assert all(line.suppressed >= 6 for line in lines)
        rest = utility.suppressed - sum(line.suppressed for line in lines)
        assert rest == 0 or rest >= 6 or not lines


def test_people_in_a_joined_group_are_linked_too(tmp_path):
    """A value that the plan joins with others is linked as the plan says, not left aside."""
    from shoal.api.attack import attack

    town = ["A"] * 60 + ["B"] * 30 + ["C"] * 7 + ["D"] * 3
    table = pa.table({"town": town * 3, "s": ["x", "y", "z"] * 100})
    policy = {"roles": {"quasi": {"town": {"min_level": 1}}, "sensitive": ["s"]}, "require": {"k": 5}}
    release = shoal.anonymize(table, policy)
    found = attack(release.write(tmp_path / "out"), with_=table)
    known = next(r for r in found.results if r.name == "linkage: known person")
    published = release.certificate.after.records
    assert f"{published} people match a class" in known.sentence
