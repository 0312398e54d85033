"""Linkage by keyed Bloom filters: as good as measured, and silent under the attack that breaks plain filters."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from pattern_mining import guessed_names, patterns, success
from shoal.cli import main
from shoal.errors import DataError, UsageError
from shoal.linkage.encodings import MATCH, POSSIBLE, Encodings, compare, is_encodings
from shoal.linkage.filters import EXCHANGED, LENGTH, WEIGHT, encode_records, features_of, one_filter, tags_of
from shoal.linkage.records import fields_of, records_of
from typing_errors import FIELDS, people_twice

KEY = bytes(range(32))
PEOPLE = {
    "nr": ["a", "b", "c"],
    "first": ["Anna", "Bert", "Chris"],
    "last": ["van der Berg", "Bos", "Smit"],
    "dob": ["1980-02-01", "1970-07-30", "1991-11-11"],
}
MEANT = {"first": "given", "last": "family", "dob": "birth"}


def encoded(table: dict[str, list[str]], **more: Any) -> Encodings:
    return shoal.encode(table, **{"key": KEY, "id": "nr", "fields": MEANT, **more})


def slow_dice(a: Any, b: Any) -> float:
    """The definition: twice the common bits by all bits."""
    one, two = ({i for i, bit in enumerate(side) if bit} for side in (a, b))
    return 2 * len(one & two) / (len(one) + len(two)) if one or two else 0.0


def test_the_same_record_gives_the_same_filters_and_another_key_others() -> None:
    one, again, other = encoded(PEOPLE), encoded(PEOPLE), encoded(PEOPLE, key=bytes(reversed(KEY)))
    assert one.ids == again.ids
    assert np.array_equal(one.filters, again.filters)
    assert one.settings.key_check != other.settings.key_check
    mean = one.filters.mean()
    for a in one.filters.reshape(-1, LENGTH):
        for b in other.filters.reshape(-1, LENGTH):
            assert slow_dice(a, b) < 2.5 * mean
    with pytest.raises(UsageError, match="different keys"):
        shoal.link_encoded(one, other)


@pytest.mark.parametrize("size", [0, 31])
def test_short_keys_are_refused(size: int) -> None:
    with pytest.raises(UsageError, match="32 bytes"):
        encoded(PEOPLE, key=bytes(size))


def test_each_wrong_part_of_the_date_leaves_one_salt_and_two_wrong_ones_none() -> None:
    (start,) = encoded({**{k: v[:1] for k, v in PEOPLE.items()}}).filters
    for dob, intact in (("1980-02-02", 0), ("1980-03-01", 1), ("1981-02-01", 2), ("1981-03-01", None), ("1.2.1980", 0)):
        (other,) = encoded({k: [dob] if k == "dob" else v[:1] for k, v in PEOPLE.items()}).filters
        found = [slow_dice(a, b) for a, b in zip(start, other, strict=True)]
        assert (max(found) >= POSSIBLE) == (intact is not None)
        if intact is not None:
            assert int(np.argmax(found)) == intact


def test_names_in_the_wrong_order_are_still_near() -> None:
    swapped = {**PEOPLE, "first": PEOPLE["last"], "last": PEOPLE["first"]}
    found = shoal.link_encoded(encoded(PEOPLE), encoded(swapped), one_to_one=True)
    assert sorted((p["left"], p["right"]) for p in found.pairs()) == [("a", "a"), ("b", "b"), ("c", "c")]


def test_similarities_equal_the_definition_and_limits_are_inclusive() -> None:
    rng = np.random.default_rng(3)
    left, right = rng.random((7, 2, LENGTH)) < 0.3, rng.random((5, 2, LENGTH)) < 0.3
    right[2] = left[4]
    right[3, 1] = left[0, 1] & (rng.random(LENGTH) < 0.8)
    wanted = {(i, 7 + j): max(slow_dice(left[i, w], right[j, w]) for w in (0, 1)) for i in range(7) for j in range(5)}
    found = compare(left, right, match=0.9, possible=0.001)
    seen = dict(zip(zip(found.left.tolist(), found.right.tolist(), strict=True), found.dice.tolist(), strict=True))
    assert seen.keys() == wanted.keys()
    assert all(abs(seen[pair] - wanted[pair]) < 1e-6 for pair in wanted)
    exact = np.zeros((2, 1, LENGTH), dtype=bool)
    exact[0, 0, :4] = True
    exact[1, 0, 1:5] = True  # 2 * 3 / 8 = 0.75
    assert compare(exact, match=0.75, possible=0.5).matches == 1
    assert compare(exact, match=0.76, possible=0.75).possible == 1
    assert len(compare(exact, match=0.9, possible=0.7501).left) == 0
    assert compare(np.zeros((2, 1, LENGTH), dtype=bool)).matches == 0, "two empty filters agree on nothing"


@pytest.mark.parametrize(("match", "possible"), [(0.5, 0.6), (1.01, 0.5), (0.5, 0.0)])
def test_limits_that_make_no_sense_are_refused(match: float, possible: float) -> None:
    with pytest.raises(UsageError, match="limits"):
        shoal.link_encoded(encoded(PEOPLE), encoded(PEOPLE), match=match, possible=possible)
    with pytest.raises(UsageError, match="two files"):
        shoal.link_encoded(encoded(PEOPLE), one_to_one=True)


def test_a_file_holds_no_value_and_no_order_and_comes_back_whole(tmp_path: Path) -> None:
    rows = [f"{i:02}" for i in range(40)]
    table = {"nr": rows, "first": [f"Anna{i}" for i in rows], "last": ["Berg"] * 40, "dob": ["1980-02-01"] * 39 + [""]}
    made = encoded(table)
    assert (len(made), made.left_out) == (39, 1)
    file = made.write(tmp_path / "a.clk")
    text = file.read_text().casefold()
    assert not any(word in text for word in ("anna", "berg", "1980", "19800201", KEY.hex()))
    assert is_encodings(file)
    assert not is_encodings(tmp_path / "none")
    assert made.ids != sorted(made.ids), "the order of the table may be that of names"
    again = Encodings.read(file)
    assert (again.ids, again.settings, again.left_out) == (made.ids, made.settings, 1)
    assert np.array_equal(again.filters, made.filters)


@pytest.mark.parametrize("spoil", ["cut", "doubled", "other", "letters", "head"])
def test_spoilt_files_are_refused(tmp_path: Path, spoil: str) -> None:
    file = encoded(PEOPLE).write(tmp_path / "a.clk")
    lines = file.read_text().splitlines(keepends=True)
    lines = {
        "cut": lines[:-1],
        "doubled": [lines[0], lines[1], lines[1], lines[2]],
        "other": ["a,b\n", *lines[1:]],
        "letters": [*lines[:-1], lines[-1].replace(lines[-1][5], "ä")],
        "head": [lines[0].replace('"length":1024', '"length":512'), *lines[1:]],
    }[spoil]
    file.write_text("".join(lines))
    with pytest.raises(DataError, match="not a file of encodings"):
        Encodings.read(file)


def test_what_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(UsageError, match="birth date"):
        encoded(PEOPLE, fields={"first": "given", "last": "family"})
    with pytest.raises(UsageError, match="not one of the fields"):
        encoded(PEOPLE, salt="zip")
    with pytest.raises(UsageError, match="nothing to encode"):
        encoded(PEOPLE, fields={"dob": "birth"})
    with pytest.raises(DataError, match="same id"):
        encoded({**PEOPLE, "nr": ["a", "a", "b"]})
    with pytest.raises(DataError, match="cannot be printed"):
        encoded({**PEOPLE, "nr": ["a\tb", "c", "d"]})
    with pytest.raises(UsageError, match="different fields"):
        shoal.link_encoded(encoded(PEOPLE), encoded(PEOPLE, salt="last"))
    with pytest.raises(UsageError, match="different fields"):
        shoal.link_encoded(encoded(PEOPLE), encoded(PEOPLE, fields={"first": "given", "dob": "birth"}))


def test_another_field_may_be_the_salt_and_texts_may_be_renamed() -> None:
    here = {**PEOPLE, "town": ["Delft", "Gouda", "Delft"]}
    there = {("plaats" if k == "town" else k): v for k, v in here.items()}
    one = encoded(here, fields={**MEANT, "town": "text"}, salt="dob")
    two = encoded(there, fields={**MEANT, "plaats": "text"}, rename={"plaats": "town"}, salt="dob")
    found = shoal.link_encoded(one, two)
    assert {(p["left"], p["right"], p["similarity"]) for p in found.pairs() if p["decision"] == "match"} == {
        ("a", "a", 1.0), ("b", "b", 1.0), ("c", "c", 1.0)
    }  # fmt: skip
    with pytest.raises(UsageError, match="town, the other"):
        shoal.link_encoded(one, encoded(there, fields={**MEANT, "plaats": "text"}, salt="dob"))


def test_generated_people_are_found_better_than_by_equal_fields() -> None:
    table = people_twice(300, seed=5)
    table["nr"] = [str(i) for i in range(len(table["first"]))]
    made = encoded(table, fields=FIELDS)
    truth = dict(zip(table["nr"], table["person"], strict=True))
    found = shoal.link_encoded(made).found
    known = [truth[one] for one in made.ids]
    assert found.quality(known).precision == 1.0
    assert found.quality(known).recall >= 0.7
    assert found.quality(known, with_possible=True).recall >= 0.95


def people(count: int, seed: int) -> dict[str, list[str]]:
    """People whose given names are as uneven as in life."""
    rng = random.Random(seed)
    given = "anna maria jan pieter sophie thomas emma lucas julia finn sara noah lotte daan eva bram fleur sem tess milan".split()
    parts = "jan de bos smit dijk vis meer mul berg hof kok bak wit post kuip laan veld horst beek stam".split()
    return {
        "first": rng.choices(given, [1 / (i + 1.5) for i in range(len(given))], k=count),
        "last": [rng.choice(parts) + rng.choice(parts) + rng.choice(("", "sen", "ma")) for _ in range(count)],
        "dob": [f"{rng.randrange(1940, 2010)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}" for _ in range(count)],
    }


def test_the_attack_breaks_plain_filters_and_finds_nothing_in_hardened_ones() -> None:
    """Patterns of frequent names are found in filters without salt, and name their people; in salted ones there are none."""
    table, public = people(1500, 1), people(1500, 2)["first"]
    records = records_of(table, fields_of(MEANT))
    tags = tags_of(records.fields, {})
    parts = [[one for part in features_of(records, tags, i).values() for one in part] for i in range(len(records))]
    plain = np.array([one_filter(KEY, b"", found, exchanged=0) for found in parts])
    always = Counter(table["first"]).most_common(1)[0][1] / len(public)
    named = success(guessed_names(plain, public), table["first"])
    assert len(patterns(plain, most=5)) == 5
    assert named > always > 0.15
    _, hardened, there = encode_records(records, KEY)
    assert there.all()
    for way in range(hardened.shape[1]):
        assert patterns(hardened[:, way], most=5) == []


def test_two_hospitals_get_one_pseudonym_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shoal.protector import keys

    key = keys.write_file(tmp_path / "secret" / "link.key")
    (tmp_path / "north.csv").write_text("code,first,last,dob\nN1,Anna,van der Berg,1980-02-01\nN2,Bert,Bos,1970-07-30\n")
    (tmp_path / "south.csv").write_text("code,vn,an,geb\nS1,Ana,Berg,01.02.1980\nS2,Chris,Smit,11.11.1991\n")
    meant = {"north": "first=given,last=family,dob=birth", "south": "vn=given,an=family,geb=birth"}
    for name, fields in meant.items():
        told = ["--id", "code", "--fields", fields, "--key-file", str(key), "-o", str(tmp_path / f"{name}.clk"), "--json"]
        ended = run("encode", str(tmp_path / f"{name}.csv"), *told)
        shown = json.loads(capsys.readouterr().out)
        assert (ended, shown["records"], shown["left_out"]) == (0, 2, 0)
        assert shown["tags"] == ["birth", "family", "given"]
    sides = [str(tmp_path / f"{name}.clk") for name in meant]
    outs = ["--out", str(tmp_path / "pairs.csv"), "--people", str(tmp_path / "people.csv")]
    assert run("link", *sides, "--one-to-one", *outs) == 0
    assert capsys.readouterr().out.startswith("1 pairs match, 0 are possible")
    rows = csv.DictReader((tmp_path / "people.csv").read_text().splitlines())
    person = {row["id"]: row["person"] for row in rows}
    assert person["N1"] == person["S1"]
    assert len(set(person.values())) == 3
    again = ["--people", str(tmp_path / "again.csv")]
    assert run("link", *sides, "--one-to-one", *again) == 0
    assert set(person.values()).isdisjoint(ids_of(tmp_path / "again.csv").values()), "each run draws anew"
    assert run("link", *sides, "--one-to-one", *again, "--earlier", str(tmp_path / "people.csv")) == 0
    assert ids_of(tmp_path / "again.csv") == person
    (tmp_path / "joined.csv").write_text("table,id,person\nleft,N1,L-1\nright,S1,L-2\nright,N2,L-3\nleft,gone,L-4\n")
    assert run("link", *sides, "--one-to-one", *again, "--earlier", str(tmp_path / "joined.csv")) == 0
    joined = ids_of(tmp_path / "again.csv")
    assert (joined["N1"], joined["S1"]) == ("L-1", "L-1"), "two who are found to be one"
    assert len(joined["N2"]) == len(person["N2"]), "an id of the other table is somebody else"
    (tmp_path / "parted.csv").write_text("table,id,person\nleft,N2,L-1\nright,S2,L-1\nright,S1,L-5\n")
    assert run("link", *sides, "--one-to-one", *again, "--earlier", str(tmp_path / "parted.csv")) == 0
    parted = ids_of(tmp_path / "again.csv")
    assert (parted["N2"], parted["N1"], parted["S1"]) == ("L-1", "L-5", "L-5")
    assert parted["S2"] not in ("L-1", "L-5"), "of one who is found to be two the first keeps it"
    assert run("link", *sides, "--earlier", str(tmp_path / "people.csv")) == 2
    assert run("link", *sides, *again, "--earlier", str(tmp_path / "pairs.csv")) == 3
    assert run("link", *sides, "--fields", "a=given") == 2
    assert run("link", str(tmp_path / "north.csv"), "--fields", meant["north"], "--people", "x.csv") == 2
    assert "Anna" not in (tmp_path / "pairs.csv").read_text() + (tmp_path / "people.csv").read_text()


def ids_of(file: Path) -> dict[str, str]:
    return {row["id"]: row["person"] for row in csv.DictReader(file.read_text().splitlines())}


def run(*words: str) -> Any:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


def test_quality_on_public_tables(shared_data: Path) -> None:
    """splink_fake_1000 against its truth: ahead of equal names and dates (recall .123), nobody wrong."""
    with (shared_data / "splink_fake_1000" / "fake_1000.csv").open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    table = {name: [row[name] for row in rows] for name in rows[0]}
    fields = {"first_name": "given", "surname": "family", "dob": "birth", "city": "text", "email": "email"}
    made = shoal.encode(table, key=KEY, id="unique_id", fields=fields)
    truth = dict(zip(table["unique_id"], table["cluster"], strict=True))
    known = [truth[one] for one in made.ids]
    found = shoal.link_encoded(made).found
    assert (MATCH, POSSIBLE) == (0.7, 0.55)
    assert found.quality(known).precision >= 0.999
    assert found.quality(known).recall >= 0.35
    assert found.quality(known, with_possible=True).recall >= 0.55


def invented(size: int, twins: int, seed: int) -> list[tuple[str, str, str]]:
    """People with frequent and rare names of many lengths; the last ``twins`` are twins of the first."""
    draw = random.Random(seed)
    parts = "an ber ta li jo mar ka do ra vi el no sa ti ro ge wil hel mi na fre da lu os car pe".split()
    given = ["".join(draw.choice(parts) for _ in range(draw.randint(1, 4))).title() for _ in range(300)]
    family = ["".join(draw.choice(parts) for _ in range(draw.randint(2, 6))).title() for _ in range(2000)]
    weights = [1 / (place + 3) for place in range(300)]
    births = [f"{draw.randint(1930, 2010)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}" for _ in range(size)]
    people = [(draw.choices(given, weights)[0], draw.choice(family), birth) for birth in births]
    return people + [(draw.choices(given, weights)[0], last, birth) for _, last, birth in people[:twins]]


@pytest.mark.parametrize("twins", [0, 20])
def test_what_the_comparer_learns_is_what_the_page_says(twins: int) -> None:
    """Without the key: twins are the nearest pairs, near pairs share a birthday; bits tell nothing of the length of a name."""
    people = invented(800, twins, 7)
    columns = {
        "nr": [str(i) for i in range(len(people))],
        **dict(zip(("first", "last", "dob"), zip(*people, strict=True), strict=True)),
    }
    made = encoded({name: list(values) for name, values in columns.items()})
    found = compare(made.filters, match=0.9, possible=0.3)
    nearest = np.argsort(-found.dice, kind="stable")[:40]
    pairs = [sorted((int(made.ids[found.left[i]]), int(made.ids[found.right[i]]))) for i in nearest]
    known = [[i, 800 + i] for i in range(twins)]
    assert sum(pair in pairs for pair in known) >= 0.75 * twins
    assert sum(people[a][2][5:] == people[b][2][5:] for a, b in pairs) >= 10
    assert np.unique(made.filters.sum(axis=2)).tolist() == [WEIGHT]
    lengths = [len(people[int(i)][0] + people[int(i)][1]) for i in made.ids]
    first = made.filters[:, 0].astype(np.float32)
    common = first @ first.T
    np.fill_diagonal(common, 0)
    assert abs(np.corrcoef(common.max(axis=1), lengths)[0, 1]) < 0.4


@pytest.mark.parametrize("features", [[(b"a", 1)], [(b"a", 30), (b"b", 1)], [(bytes([i]), 4) for i in range(200)]])
def test_every_filter_has_the_same_number_of_bits(features: list[tuple[bytes, int]]) -> None:
    plain = one_filter(KEY, b"salt", features, exchanged=0)
    turned = one_filter(KEY, b"salt", features)
    assert (plain.sum(), turned.sum()) == (WEIGHT, WEIGHT)
    assert (plain & ~turned).sum() == (turned & ~plain).sum() == EXCHANGED


def test_a_file_of_an_earlier_version_is_refused_with_the_way_on(tmp_path: Path) -> None:
    made = encoded(people(2, 1) | {"nr": ["1", "2"]})
    file = made.write(tmp_path / "new.clk")
    assert len(Encodings.read(file)) == 2
    file.write_text(file.read_text().replace('"shoal_encodings":2', '"shoal_encodings":1'))
    with pytest.raises(DataError, match="of this version") as refused:
        Encodings.read(file)
    assert "shoal encode" in str(refused.value.hint)
