"""``--previous``: planted intersection and differencing leaks are all caught; harmless repetitions are not refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from release_forging import plain_certificate
from shoal.api.attack import attack
from shoal.errors import VerificationError


def table(rows, **more):
    return pa.table({"age": [r[0] for r in rows], "zip": [r[1] for r in rows], "s": [r[2] for r in rows], **more})


def asked(age, zip_, k=5, **more):
    """A policy that holds the two columns at a level: 0 as they are, 1 not at all."""
    quasi = {c: {"hierarchy": "flat", "min_level": i, "max_level": i} for c, i in (("age", age), ("zip", zip_))}
    allow = {"suppress": more.pop("suppress", 0.0), "scope": more.pop("scope", "rows")}
    return {"roles": {"quasi": quasi, "sensitive": ["s"]}, "require": {"k": k, **more}, "allow": allow}


def twice(tmp_path, first, one, second, two, **how):
    shoal.anonymize(first, one, **how).write(tmp_path / "one")
    return shoal.anonymize(second, two, previous=[tmp_path / "one"], **how).write(tmp_path / "two")


def refused(tmp_path, *args, match, **how):
    with pytest.raises(VerificationError, match=match) as caught:
        twice(tmp_path, *args, **how)
    assert caught.value.exit_code == 1
    assert not (tmp_path / "two").exists()


def verdicts(folder):
    return {a["name"]: a["verdict"] for a in plain_certificate(folder)["attacks"]}


PEOPLE = [("y", "1", v) for v in ("flu", "cold") * 6]
CELLS = [
    (a, z, v) for a, z, v in (("y", "1", "cancer"), ("y", "2", "flu"), ("o", "1", "cold"), ("o", "2", "rash")) for _ in range(10)
]


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "excel", "spss", "stata"])
def test_a_newcomer_to_a_class_is_found_in_every_format(tmp_path, form):
    now = [*PEOPLE, ("y", "1", "HIV")]
    refused(tmp_path, table(PEOPLE), asked(0, 0), table(now), asked(0, 0), match="differencing", format=form)


@pytest.mark.parametrize("form", ["csv", "parquet", "excel", "spss", "stata"])
def test_the_same_release_again_holds_in_every_format(tmp_path, form):
    rows = [*PEOPLE, *CELLS, *(("=o", "-3", "@x"), ("=o", "-3", None)) * 3, *((None, "1", "flu"),) * 5]
    found = verdicts(twice(tmp_path, table(rows), asked(0, 0), table(rows), asked(0, 0), format=form))
    assert found["intersection"] == found["intersection: values of 's'"] == "holds"
    assert found["differencing: 's' against an earlier release"] == "holds"


def test_a_newcomer_is_found_where_the_formats_differ(tmp_path):
    rows = [("=o", "1", v) for v in ("@x", "flu") * 6]
    shoal.anonymize(table(rows), asked(0, 0), format="csv").write(tmp_path / "one")
    now = table([*rows, ("=o", "1", "HIV")])
    with pytest.raises(VerificationError, match="differencing"):
        shoal.anonymize(now, asked(0, 0), previous=[tmp_path / "one"], format="parquet").write(tmp_path / "two")
    shoal.anonymize(table(rows), asked(0, 0), previous=[tmp_path / "one"], format="parquet").write(tmp_path / "two")


def test_one_who_left_and_one_exchanged(tmp_path):
    refused(tmp_path, table([*PEOPLE, ("y", "1", "HIV")]), asked(0, 0), table(PEOPLE), asked(0, 0), match="differencing")
    exchanged = table([*PEOPLE[:-1], ("y", "1", "HIV")])
    with pytest.raises(VerificationError, match="differencing"):
        shoal.anonymize(exchanged, asked(0, 0), previous=[tmp_path / "one"]).write(tmp_path / "three")


def test_a_newcomer_under_coarser_levels(tmp_path):
    """Earlier two classes, now both in one, and one person more."""
    rows = [*PEOPLE, *(("o", "1", v) for v in ("flu", "cold") * 5)]
    refused(tmp_path, table(rows), asked(0, 1), table([*rows, ("o", "1", "HIV")]), asked(1, 1), match="differencing")


def test_people_left_out_earlier_are_read_off_later(tmp_path):
    rows = [*PEOPLE, *(("o", "1", "HIV"),) * 3]
    refused(tmp_path, table(rows), asked(0, 0, suppress=0.5), table(rows), asked(1, 1), match="differencing")


def test_many_newcomers_and_new_classes_are_let_through(tmp_path):
    """Six newcomers to one class, and a class of people whose value the earlier plan has never seen."""
    now = [*PEOPLE, *(("y", "1", v) for v in ("HIV", "flu") * 3), *(("new", "1", v) for v in ("flu", "cold") * 3)]
    found = verdicts(twice(tmp_path, table(PEOPLE), asked(0, 0), table(now), asked(0, 0)))
    assert "broken" not in found.values()
    assert found["differencing: 's' against an earlier release"] == "holds"


def test_newcomers_with_one_value_where_two_are_certified(tmp_path):
    two = {"diversity": {"s": {"distinct": 2}}}
    now = [*PEOPLE, *(("y", "1", "HIV"),) * 6]
    refused(tmp_path, table(PEOPLE), asked(0, 0, **two), table(now), asked(0, 0, **two), match="differencing")


def test_values_that_both_releases_leave_possible(tmp_path):
    two = {"diversity": {"s": {"distinct": 2}}}
    refused(tmp_path, table(CELLS), asked(0, 1, **two), table(CELLS), asked(1, 0, **two), match="values of 's'")


def test_values_left_by_three_releases_though_no_two_tell(tmp_path):
    """{a,b,c} ∩ {a,b,d} ∩ {a,c,d} = {a}: found only when all earlier releases are laid over each other."""
    kinds = {"1": "abc", "2": "abd"}
    rows = [("y", z, v) for z in kinds for v in kinds[z] * 5]
    for name, zip_ in (("one", "1"), ("two", "2")):
        part = [(a, "9", v) for a, z, v in rows if z == zip_]
        shoal.anonymize(table(part), asked(0, 0)).write(tmp_path / name)
    now = table([("y", "9", v) for v in "acd" * 9])
    shoal.anonymize(now, asked(0, 0), previous=[tmp_path / "one"]).write(tmp_path / "three")
    with pytest.raises(VerificationError, match="values of 's'"):
        shoal.anonymize(now, asked(0, 0), previous=[tmp_path / "one", tmp_path / "two"]).write(tmp_path / "four")


def test_a_newcomer_with_many_records_is_one_person(tmp_path):
    rows, person = [*PEOPLE, *PEOPLE], [f"p{i}" for i in range(24)]
    policy = asked(0, 0)
    policy["unit"] = "who"
    more = [*rows, *(("y", "1", "HIV"),) * 9]
    first, second = table(rows, who=person), table(more, who=[*person, *["new"] * 9])
    refused(tmp_path, first, policy, second, policy, match="differencing")


def test_records_blanked_earlier_are_a_class(tmp_path):
    """Blanked with two values earlier, shown apart now: the blanked ones are not taken as absent."""
    rows = [*PEOPLE, *(("o", "1", "x"),) * 3, *(("p", "1", "z"),) * 3]
    blank = asked(0, 0, suppress=1.0, scope="cells")
    now = [*PEOPLE, *(("o", "1", "x"),) * 3, *(("p", "1", "z"),) * 4]
    refused(tmp_path, table(rows), blank, table(now), blank, match="differencing")
    found = verdicts(shoal.anonymize(table(rows), blank, previous=[tmp_path / "one"]).write(tmp_path / "same"))
    assert "broken" not in found.values()


def test_other_quasi_identifiers_are_refused(tmp_path):
    other = asked(0, 0)
    other["roles"] = {"quasi": {"age": other["roles"]["quasi"]["age"]}, "insensitive": ["zip"], "sensitive": ["s"]}
    refused(tmp_path, table(CELLS), asked(0, 0), table(CELLS), other, match="does not name it")


def test_a_column_shown_earlier_that_is_a_quasi_identifier_now(tmp_path):
    """Earlier zip was published as it was beside age; now only zip is: together people of one cell are alone."""
    rows = [*CELLS, ("y", "3", "flu"), ("o", "3", "flu"), ("o", "3", "flu"), ("o", "3", "rash"), ("o", "3", "cold")]
    open_ = asked(0, 0)
    open_["roles"] = {"quasi": {"age": open_["roles"]["quasi"]["age"]}, "insensitive": ["zip"], "sensitive": ["s"]}
    refused(tmp_path, table(rows), open_, table(rows), asked(1, 0), match="intersection")


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_noise_twice_is_said(tmp_path, role):
    rows = table([(a, z, 7 * i % 23) for i, (a, z, _) in enumerate(CELLS)])
    noisy = {**asked(0, 0), "transform": {"s": {"noise": {"scale": 12.0}}}}
    noisy["roles"] = {"quasi": noisy["roles"]["quasi"], role: ["s"]}
    found = twice(tmp_path, rows, noisy, rows, noisy)
    attacks = plain_certificate(found)["attacks"]
    said = next(a for a in attacks if a["name"] == "intersection: values of 's'")
    assert said["verdict"] == "warning"
    assert "at random" in said["sentence"]


@pytest.mark.parametrize("seed", range(12))
def test_planted_differences_are_all_caught(tmp_path, seed):
    """One to four people come or leave, under the same, coarser, finer or other levels: never released."""
    rng = np.random.default_rng(seed)
    rows = [(str(a), str(z), str(v)) for a, z, v in rng.integers(0, [2, 3, 4], (240, 3))]
    more = [(*rows[int(rng.integers(240))][:2], str(rng.integers(5))) for _ in range(int(rng.integers(1, 5)))]
    small, large = table(rows), table([*rows, *more])
    levels = rng.integers(0, 2, (2, 2))
    one, two = (asked(int(a), int(z)) for a, z in levels)
    pair = (small, one, large, two) if seed % 2 else (large, one, small, two)
    refused(tmp_path, *pair, match="differencing|intersection")
    found = verdicts(shoal.anonymize(pair[0], one, previous=[tmp_path / "one"]).write(tmp_path / "same"))
    assert "broken" not in found.values()


def test_a_reader_of_two_folders_subtracts_them_too(tmp_path):
    people = [("=y", z, v) for _, z, v in PEOPLE]  # a label that a CSV writes as '=y
    for name, rows in (("one", people), ("two", [*people, ("=y", "1", "HIV")]), ("same", people)):
        shoal.anonymize(table(rows), asked(0, 0), format="parquet" if name == "two" else "csv").write(tmp_path / name)
    found = attack(tmp_path / "two", previous=[tmp_path / "one"])
    assert {r.name: r.verdict for r in found.results}["differencing: 's' against an earlier release"] == "broken"
    assert not found.holds
    again = attack(tmp_path / "same", previous=[tmp_path / "one"])
    assert {r.name: r.verdict for r in again.results}["differencing: 's' against an earlier release"] == "holds"


def test_a_reader_of_two_folders_intersects_the_values(tmp_path):
    for name, values in (("one", "ab"), ("two", "bc")):
        shoal.anonymize(table([("y", "1", v) for v in values * 9]), asked(0, 0)).write(tmp_path / name)
    found = attack(tmp_path / "two", previous=[tmp_path / "one"])
    assert {r.name: r.verdict for r in found.results}["intersection: values of 's'"] == "broken"


def test_a_sensitive_column_that_is_called_insensitive_now_is_refused(tmp_path):
    other = asked(0, 0)
    other["roles"] = {"quasi": other["roles"]["quasi"], "insensitive": ["s"]}
    refused(tmp_path, table(CELLS), asked(0, 0), table(CELLS), other, match="as insensitive")
