"""The word lists of the finder: format, spelling, sections, and that they are part of the package."""

from __future__ import annotations

import importlib.resources
import re

import pytest

from shoal.find import vocabulary
from shoal.find.topics import TOPICS
from shoal.find.vocabulary import folded

FILES = sorted(vocabulary.DATA.glob("*/*.txt"))


def test_the_package_contains_the_lists() -> None:
    data = importlib.resources.files("shoal.find") / "data"
    assert "[birth_date]" in (data / "en" / "column_names.txt").read_text(encoding="utf-8")
    assert (data / "README.md").is_file()
    assert {folder.name for folder in data.iterdir() if folder.is_dir()} >= {"all", "de", "en", "es", "fr", "it", "nl", "pt"}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_a_list_has_the_documented_format(file: object) -> None:
    path = vocabulary.Path(str(file))
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    assert lines[0].startswith("# ")
    assert lines[1].startswith("# Source: ")
    assert "\r" not in text
    assert text.endswith("\n")
    section, seen = "", set()
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("# "):
            continue
        if re.fullmatch(r"\[.+\]", line):
            section = line
            continue
        word = line.split("\t")[0]
        assert section, f"line {number} stands before the first section"
        assert word == word.strip(), f"line {number} has blanks around the entry"
        assert line.count("\t") <= 1, f"line {number} has more than one tag"
        if path.stem not in ("schooling", "quantities"):
            assert word == word.lower(), f"line {number} has a capital letter"
        assert (section, line) not in seen, f"line {number} repeats an entry"
        seen.add((section, line))


@pytest.mark.parametrize("name", sorted({file.stem for file in FILES}))
def test_every_section_is_one_that_english_or_all_has(name: str) -> None:
    known = {
        line
        for file in FILES
        if file.stem == name and file.parent.name in ("en", "all")
        for line in file.read_text(encoding="utf-8").split("\n")
        if line.startswith("[")
    }
    assert {f"[{section}]" for section in vocabulary.sections(name)} <= known | {"[street before]", "[street joined]"} | {
        "[street before, number first]",
        "[short month]",
    }


def test_every_topic_has_words() -> None:
    assert all(topic.patterns for topic in TOPICS)


@pytest.mark.parametrize(
    ("name", "section", "words"), [("calendar", "month", 12), ("calendar", "weekday", 7), ("orders", "quality", 8)]
)
def test_ranks_have_no_gap(name: str, section: str, words: int) -> None:
    tags = sorted({int(tag) for tag in vocabulary.tagged(name, section).values()})
    assert tags == list(range(1, len(tags) + 1))
    assert len(vocabulary.ranked(name, section)) == words


def test_no_word_of_a_language_means_something_of_another_role_elsewhere() -> None:
    """All languages are merged: a word without accents must not be a position in one and a wage in another (lon, lön)."""
    roles: dict[str, set[str]] = {}
    for topic in TOPICS:
        for word in vocabulary.texts("column_names", topic.key):
            roles.setdefault(word, set()).add(topic.role.value)
    merged = {word for word, found in roles.items() if len(found) > 1}
    long_lists = ("all", "de", "en", "es", "fr", "it", "nl", "pt")
    new = [f for f in FILES if f.stem == "column_names" and f.parent.name not in long_lists]
    words = {line for file in new for line in folded(file.read_text(encoding="utf-8")).split("\n") if line[:1] not in ("#", "[")}
    assert not merged & words
