"""No surface of the product is forgotten: what canaries show is what the list says; values of single people stay where declared.

``tests/surfaces.py`` walks the product; its list is ``surfaces.txt`` beside this file. A new file, field or endpoint fails here
until somebody has looked at what it carries and has written the list anew.
"""

from __future__ import annotations

import csv
import json

import pytest

import surfaces

MAY_CARRY_ONE_PERSON = {
    "anonymize csv: OUT-csv/data.csv | (cells)": "sensitive values are published as they are",
    "anonymize parquet: OUT-parquet/data.parquet | (cells)": "sensitive values are published as they are",
    "anonymize safe harbor: OUT-h/data.csv | (cells)": "sensitive values are published as they are",
    "encode: OUT-people.clk | (text)": "the ids that the user named",
    "link encodings: OUT-same.csv | (cells)": "the same ids",
    "link encodings: OUT-who.csv | (cells)": "the same ids",
    "hierarchy --public: OUT-public.csv | (cells)": "the user said that the list is public knowledge",
    "transform: OUT-t.csv | (cells)": "a plan without a proof: what it does not change stays",
    "vault pseudonymize: OUT-pseudonyms.csv | (cells)": "columns that are no identities stay",
    "vault reveal: who.json | /identities/{key}": "the identities that were asked for, approved by a second person",
}
"""Everything that may hold the value of a single person, and why."""


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    with surfaces.watched(tmp_path_factory.mktemp("surfaces")) as done:
        return done


def test_the_list_is_what_the_walk_finds(walked):
    listed = set(surfaces.LIST.read_text(encoding="utf-8").splitlines())
    found = set(walked.surfaces.lines())
    new, gone = sorted(found - listed), sorted(listed - found)
    assert not new, f"surfaces that nobody has looked at; look, then run python tests/surfaces.py: {new[:20]}"
    assert not gone, f"surfaces that are gone; run python tests/surfaces.py: {gone[:20]}"


def test_values_of_single_people_are_only_where_they_are_declared(walked):
    carrying = {line.rsplit(" | ", 1)[0] for line in walked.surfaces.lines() if "one person's values" in line}
    assert carrying == set(MAY_CARRY_ONE_PERSON)


def test_identities_and_quasi_identifiers_of_single_people_are_not_in_the_release(walked):
    with (walked.place / "OUT-csv" / "data.csv").open() as data:
        rows = list(csv.DictReader(data))
    assert "kolomname" not in rows[0]
    assert not any(surfaces.RARE.search(row["kolomjob"] + row["kolomage"]) for row in rows)


NO_TABLE = {
    "names, labels and treatments of the columns of a release that was walked": "export",
    "files of other systems; what is not read is walked with canaries in tests/unit/systems": "import",
    "about no table of the user": "presets explain doctor manual demo",
    "numbers and summaries are typed, no table is read": "predict observe",
    "opens a port; its endpoints are walked": "serve",
    "opens a port; its pages, jobs and database are walked with the same canaries in test_studio_http.py": "studio",
    "the same files and fields as publish, by other keys": "registry",
    "people, keys, domains and pseudonyms; identities are walked by pseudonymize, reveal and audit": "vault",
}
"""Commands, or groups of them, that the walk leaves out, and why."""


def test_no_command_is_forgotten(walked):
    """A new command is walked, or somebody says why it need not be."""
    skipped = {word for words in NO_TABLE.values() for word in words.split()}
    left = {c for c in surfaces.commands() if c not in walked.commands and c.split()[0] not in skipped}
    assert left == set(), "walk them in tests/surfaces.py"


def test_nothing_stays_in_the_temporary_folder(walked):
    assert walked.left == []


def test_the_name_of_the_input_file_leaves_with_nothing(walked):
    named = [line for line in walked.surfaces.lines() if "the file's name" in line]
    leaving = ("OUT-csv", "OUT-parquet", "OUT-h/", "record.json", "copy/", ".vault")
    assert not [line for line in named if any(word in line for word in leaving)]


def test_a_field_with_a_canary_would_be_seen(tmp_path):
    """The detector itself: cells, keys, names of columns, metadata, bytes of a database."""
    seen = surfaces.Surfaces()
    seen.json("x", {"a": [{"kanariekey": 1}], "b": {"kolomage": "gewoonjob1"}, "c": 7_000_000_000_037})
    (tmp_path / "f.json").write_text(json.dumps({"n": "kanarie"}))
    seen.file("f", tmp_path / "f.json")
    lines = seen.lines()
    assert "x | /a[]/{key} | one person's values" in lines
    assert "x | /b/{key} | common values, column names" in lines
    assert "x | /c | one person's values" in lines
    assert "f | /n | one person's values" in lines
