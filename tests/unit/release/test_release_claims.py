"""Claims and what stands behind them: small groups are not named, people are counted once, and the proof says what it proves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from recount_oracle import recount
from release_forging import plain_certificate, sign_anew
from shoal.errors import InfeasibleError
from shoal.model.certificate.parts import LostGroup
from shoal.release.certificate import derive
from shoal.release.proof.recount import FileColumns
from shoal.release.verification import verify

KEY = "a key of at least sixteen characters 1234567890"


def resigned(folder, change):
    """A forger changes the certificate and signs it with his own key."""
    made = plain_certificate(folder)
    change(made)
    sign_anew(folder, made)
    return verify(folder)


# ---------------------------------------------------------------- small groups stay unnamed


@pytest.mark.parametrize("scope", ["rows", "cells"])
def test_a_group_that_is_not_published_is_not_named(tmp_path, scope):
    """Eight people of one faith, k = 10: they are left out of the data, and of certificate and report too."""
    faith = ["SECRETSECT"] * 8 + ["one"] * 250 + ["two"] * 250 + ["three"] * 40
    table = pa.table({"faith": faith, "age": [30, 40] * 274, "ill": ["x", "y"] * 274})
    quasi = {"faith": {"max_level": 0}, "age": {"max_level": 0}}
    asked = {"roles": {"quasi": quasi, "sensitive": ["ill"]}, "require": {"k": 10}, "allow": {"suppress": 0.05, "scope": scope}}
    if scope == "cells":
        asked["require"]["k"] = 6
        table = table.slice(2)
        table = pa.concat_tables([pa.table({"faith": ["SECRETSECT"] * 2, "age": [77, 78], "ill": ["x", "y"]}), table])
    folder = shoal.anonymize(table, asked).write(tmp_path / "out")
    for name in ("certificate.json", "report.html"):
        assert "SECRETSECT" not in (folder / name).read_text(), name
    if scope == "rows":
        assert "SECRETSECT" not in (folder / "data.csv").read_text()


def test_a_group_with_few_published_records_is_not_named_either(tmp_path):
    n = 400
    town = ["rare"] * 14 + ["large"] * (n - 14)
    age = [20] * 7 + list(range(30, 37)) + [20] * (n - 14)
    quasi = {"town": {"max_level": 0}, "age": {"max_level": 0}}
    asked = {"roles": {"quasi": quasi}, "require": {"k": 5}, "allow": {"suppress": 0.05}, "preset": "cms-11"}
    asked["require"]["k"] = 11
    folder = shoal.anonymize(pa.table({"town": town, "age": age}), asked).write(tmp_path / "out")
    made = plain_certificate(folder)
    assert all(line["group"] != "rare" for line in made["utility"]["who"])


def test_what_unnamed_groups_lost_is_added_up():
    town = [f"t{i % 10}" for i in range(60)] + ["large"] * 940
    asked = {"roles": {"quasi": {"town": {"max_level": 0}}}, "require": {"k": 10}, "allow": {"suppress": 0.1}}
    who = shoal.anonymize(pa.table({"town": town}), asked).certificate.utility.who
    assert who == (LostGroup("town", "(groups that are not named)", "", 60, ""),)


# ---------------------------------------------------------------- people


def visits(seed=1, people=120):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.integers(1, 4, people))
    age = (who * 7 % 40) + 20
    ill = rng.choice(["flu", "cold", "hiv"], len(who), p=[0.6, 0.3, 0.1])
    return pa.table({"person": [f"p{w}" for w in who], "age": age, "ill": ill})


def people_asked(publish="drop", **require):
    return {
        "roles": {"quasi": ["age"], "sensitive": ["ill"]},
        "unit": {"column": "person", "publish": publish},
        "require": {"k": 3, **require},
        "allow": {"suppress": 0.3},
    }


def test_the_proof_says_what_the_file_shows_and_what_is_signed(tmp_path, capsys):
    folder = shoal.anonymize(visits(), people_asked()).write(tmp_path / "out")
    result = verify(folder)
    assert result.ok
    made = result.certificate.to_json()
    assert made["proof"]["unit"] == "people"
    assert made["proof"]["recounted"].startswith("records")
    assert "k" in made["proof"]["signed"]
    assert "rest on the publisher's signature" in result.checks[-2].sentence
    said = result.to_json()
    assert said["k"] == made["after_people"]["k"] <= said["k_recounted"] == made["after"]["k"]
    assert "rest on the publisher&#39;s signature" in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["after_people"].update(k=c["after"]["k"] + 1),
        lambda c: c["after_people"].update(classes=c["after"]["classes"] + 1),
        lambda c: c["after_people"].update(sizes={"1000000": c["after"]["classes"]}),
        lambda c: c.pop("after_people"),
        lambda c: c["proof"].update(sentence="k was counted from the file by anyone."),
        lambda c: c["unit"].update(column=None),
    ],
    ids=["k", "classes", "sizes", "none", "proof", "unit"],
)
def test_numbers_of_people_that_the_records_do_not_allow_are_found(tmp_path, change):
    folder = shoal.anonymize(visits(), people_asked()).write(tmp_path / "out")
    assert not resigned(folder, change).ok


def test_people_are_known_by_how_often_they_came(tmp_path, monkeypatch):
    """Ten people in one class, one of them nine times: his pseudonym is the only one with nine records, so it is not released."""
    monkeypatch.setenv("SHOAL_KEY", KEY)
    who = ["p0"] * 9 + [f"p{i}" for i in range(1, 10)]
    table = pa.table({"person": who, "age": [40] * 18, "ill": ["x", "y"] * 9})
    with pytest.raises(InfeasibleError, match="same number of records"):
        shoal.anonymize(table, people_asked("pseudonym")).write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    shoal.anonymize(table, people_asked("drop")).write(tmp_path / "out")
    even = pa.table({"person": [f"p{i // 2}" for i in range(20)], "age": [40] * 20, "ill": ["x", "y"] * 10})
    release = shoal.anonymize(even, people_asked("pseudonym"))
    folder = release.write(tmp_path / "even")
    assert verify(folder).certificate.after.linked_k == 10


@pytest.mark.parametrize("way", ["dictionary", "sorted"])
def test_a_person_counts_once_inside_a_class(tmp_path, way):
    file = tmp_path / "t.csv"
    file.write_text("age,ill,who\n30,flu,a\n30,flu,a\n30,flu,a\n30,hiv,b\n40,flu,c\n40,flu,c\n40,hiv,d\n")
    facts = recount(file, ["age"], ["ill"], unit="who", recursive={"ill": [2]}, way=way)
    assert facts.sensitive["ill"].recursive[2] == 1.0, "one person with each value in both classes; by records it would be 3"
    assert facts.sensitive["ill"].equal == pytest.approx(0.0)
    assert (facts.k, facts.people, facts.linked_k) == (2, 4, 1)


@pytest.mark.parametrize("asked", [{"entropy": 1.8}, {"recursive": {"c": 2, "l": 2}}, {"distinct": 2}], ids=str)
@pytest.mark.parametrize("method", ["lattice", "local"])
@pytest.mark.parametrize("seed", range(4))
def test_people_and_records_are_both_searched_for(tmp_path, asked, method, seed):
    """What is found holds by people and by records, or the search says that there is no plan; never a surprise at the end."""
    policy = {**people_asked(diversity={"ill": asked}), "method": method}
    try:
        release = shoal.anonymize(visits(seed), policy)
    except InfeasibleError:
        return
    folder = release.write(tmp_path / "out")
    made = verify(folder).require().certificate.to_json()
    assert all(f["met"] for f in (*made["requirements"], *made["requirements_people"]))


# ---------------------------------------------------------------- blanked records are a class too


@pytest.mark.parametrize("seed", [23, 32, 44, 51])
def test_blanked_records_have_company(tmp_path, seed):
    rng = np.random.default_rng(seed)
    table = pa.table({"a": rng.integers(0, 25, 60), "s": rng.choice(["x", "y", "z"], 60)})
    asked = {
        "roles": {"quasi": {"a": {"max_level": 0}}, "sensitive": ["s"]},
        "require": {"k": 4, "diversity": {"s": {"distinct": 2}}},
        "allow": {"suppress": 1.0, "scope": "cells"},
    }
    release = shoal.anonymize(table, asked)
    folder = release.write(tmp_path / "out")
    facts = recount(folder / "data.csv", ["a"], ["s"])
    assert facts.k >= 4
    assert facts.sensitive["s"].distinct >= 2
    assert facts.blanked == release.certificate.utility.suppressed
    assert release.decision.released.n_classes == facts.classes


def test_blanked_records_without_company_are_refused_in_plain_words():
    table = pa.table({"a": [1] * 10 + [2] * 10 + [3]})
    asked = {"roles": {"quasi": {"a": {"max_level": 0}}}, "require": {"k": 5}, "allow": {"suppress": 0.1, "scope": "cells"}}
    with pytest.raises(InfeasibleError, match="blanked records would be a class of their own"):
        shoal.anonymize(table, asked)


@pytest.mark.parametrize("form", ["spss", "stata", "excel", "csv", "parquet"])
def test_blanked_records_in_every_format(tmp_path, form):
    pytest.importorskip("pyreadstat")
    pytest.importorskip("xlsxwriter")
    table = pa.table({"a": [1] * 20 + [2] * 20 + [3] * 5, "b": ["p", "q", "r", "s", "t"] * 9})
    quasi = {"a": {"max_level": 0}, "b": {"hierarchy": "flat", "min_level": 1}}
    asked = {"roles": {"quasi": quasi}, "require": {"k": 6}, "allow": {"suppress": 0.7, "scope": "cells"}}
    folder = shoal.anonymize(table, asked, format=form).write(tmp_path / "out")
    made = verify(folder).require().certificate.to_json()
    assert made["after"]["blanked"] == made["utility"]["suppressed"] > 0
    assert "with blanked quasi-identifiers" in made["verdict"]


# ---------------------------------------------------------------- the chosen plan


def test_the_ring_of_the_frontier_is_the_release(tmp_path):
    rng = np.random.default_rng(2)
    table = pa.table({"a": rng.integers(0, 30, 300), "b": rng.integers(0, 8, 300), "s": rng.choice(["x", "y"], 300)})
    for require in ({"k": 4}, {"k": 2, "closeness": {"s": {"t": 0.12}}}):
        made = shoal.anonymize(
            table, quasi=["a", "b"], sensitive=["s"], require=require, allow={"suppress": 0.1}
        ).certificate.to_json()
        rings = [p for p in made["utility"]["frontier"] if p["chosen"]]
        assert [(p["k"], p["loss"]) for p in rings] == [(require["k"], made["utility"]["loss"])]
        assert made["utility"]["proven"] or made["utility"]["gap"] != 0.0


def test_a_search_counts_its_work_unless_seconds_are_given():
    assert shoal.Policy.of(quasi=["a"], k=5).time_limit is None
    assert shoal.Policy.of(quasi=["a"], k=5, time_limit=7).time_limit == 7


# ---------------------------------------------------------------- what a file tells besides its cells


@pytest.mark.parametrize(
    "lie",
    [
        lambda a: {**a, "rate": 0.5, "low": 0.5, "high": 0.5},
        lambda a: {**a, "verdict": "warning"},
        lambda a: {**a, "sentence": "Nothing was looked at."},
        lambda a: None,
    ],
)
@pytest.mark.parametrize("unit", [None, "person"])
def test_verify_works_out_again_what_row_order_and_metadata_tell(tmp_path, lie, unit):
    """The attack needs the file alone, so that no signature is believed: also where people were counted by a removed column."""
    known = {"unit": unit, "direct": []} if unit else {"direct": ["person"]}
    folder = shoal.anonymize(visits(), quasi=["age"], sensitive=["ill"], k=5, **known).write(tmp_path / "out")
    assert verify(folder).ok

    def change(made):
        told = [lie(a) if a["name"] == "leftovers" else a for a in made["attacks"]]
        assert told != made["attacks"]
        made["attacks"] = [a for a in told if a]

    found = resigned(folder, change)
    assert next(check.name for check in found.checks if not check.ok) in ("derived", "certificate")


def test_a_published_file_is_held_in_memory_up_to_the_limit(tmp_path, monkeypatch):
    file = tmp_path / "data.csv"
    file.write_text("age\n1\n2\n3\n", encoding="utf-8")
    monkeypatch.setattr(derive, "MOST_ROWS", 3)
    assert derive.published_table(FileColumns(file), 3, ["age"]).num_rows == 3
    assert derive.published_table(FileColumns(file), 4, ["age"]) is None
