"""Counting processes: what they keep, what they say when something is wrong, and that one that ended is started anew."""

from __future__ import annotations

import io
import os
import pickle
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import AmbiguousColumnError, DataError, EmptyTableError, InternalError, ShoalError
from shoal.release.policy.policy import Policy
from shoal.report.charts import Chart, svg
from shoal.studio import counting
from shoal.studio.answers import Answers, patience
from shoal.studio.counting import Counters, Kept, Question, itself, serve
from shoal.studio.views import improved, measured
from shoal.studio.views.measured import draw
from shoal.studio.workspace import Workspace, edits

ASKED = Policy.of(quasi=["age", "sex"], insensitive=["n"], k=3, allow={"suppress": 1})


def table(path: Path, rows: int = 60) -> str:
    path.write_text("age,sex,n\n" + "".join(f"{20 + i % 5},{'fm'[i % 2]},{i % 4}\n" for i in range(rows)), encoding="utf-8")
    return str(path)


def pid_of(_: Any) -> int:
    return os.getpid()


def forever(_: Any) -> None:
    threading.Event().wait(600)


def broken(_: Any) -> None:
    raise KeyError("a value of somebody")


def answered(*asked: Question) -> list[tuple[int, bool, Any]]:
    """What a process answers to these questions."""
    into, out = io.BytesIO(b"".join(pickle.dumps(one) for one in asked)), io.BytesIO()
    serve(into, out)
    out.seek(0)
    return [pickle.load(out) for _ in asked]


def test_counts_are_made_once_and_those_of_four_tables_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def looked(opened: Any, _: Any) -> str:
        made.append(opened.name)
        return str(opened.name)

    monkeypatch.setitem(counting.MAKERS, "columns", looked)
    kept = Kept()
    sources = {n: table(tmp_path / f"t{n}.csv") for n in range(5)}

    def ask(n: int, key: str = "") -> Any:
        return kept.answer(Question(0, str(n), sources[n], "columns", key, work=itself))

    assert [ask(0), ask(0)] == ["t0", "t0"]
    assert made == ["t0"], "the second is answered from what is kept"
    for n in (1, 2, 3):
        ask(n)
    ask(0)
    assert len(made) == 4, "four tables are held"
    ask(4)
    ask(0)
    assert len(made) == 5, "the fifth took the place of the one that nobody asked for longest"
    ask(1)
    assert made[5:] == ["t1"]
    for key in "abcd":
        ask(1, key)
    before = len(made)
    ask(1, "a")
    assert len(made) == before, "four objects of a table are held"
    ask(1)
    assert len(made) == before + 1
    for n in range(5):
        kept.answer(Question(0, str(n), "", "forget"))


def test_errors_are_words_for_whoever_dropped_the_file(tmp_path: Path) -> None:
    twice = tmp_path / "twice.csv"
    twice.write_text("age,\N{CYRILLIC SMALL LETTER A}ge\n1,2\n", encoding="utf-8")
    cut = tmp_path / "cut.xlsx"
    cut.write_bytes(b"PK\x03\x04nothing")
    empty = tmp_path / "empty.csv"
    empty.write_text("age,sex\n", encoding="utf-8")
    good = table(tmp_path / "good.csv")
    said = answered(
        Question(1, "a", str(twice), "columns", work=itself),
        Question(2, "b", str(cut), "columns", work=itself),
        Question(3, "c", str(empty), "columns", work=itself),
        Question(4, "d", good, "columns", work=broken),
        Question(5, "d", good, "columns", work=itself),
    )
    assert [(number, well) for number, well, _ in said] == [(1, False), (2, False), (3, False), (4, False), (5, True)]
    errors: list[Any] = [found for _, _, found in said[:4]]
    assert [type(e) for e in errors[::2]] == [AmbiguousColumnError, EmptyTableError]
    assert all(isinstance(e, ShoalError) for e in errors)
    for e in errors:
        assert str(tmp_path) not in str(e), "no path of this computer"
        assert "--" not in e.hint, "nobody here writes a command"
    assert isinstance(errors[3], InternalError)
    assert "KeyError" in errors[3].message
    assert "somebody" not in str(errors[3])


def test_a_process_that_ended_is_started_anew(tmp_path: Path) -> None:
    source, other = table(tmp_path / "one.csv"), table(tmp_path / "two.csv", 30)
    counters = Counters(1)
    try:
        first = counters.ask(Question(0, "a", source, "columns", work=pid_of)).result(120)
        people = counters.ask(Question(0, "a", source, "measure", "1", ASKED, measured.shown, (3,))).result(120)
        assert (people["people"], people["k"], people["unique"]) == (60, 6, 0)
        tops = counters.ask(Question(0, "a", source, "improve", "1", ASKED, improved.heights)).result(120)
        assert set(tops) == {"age", "sex"}
        waiting = counters.ask(Question(0, "b", other, "columns", work=forever))
        os.kill(first, signal.SIGKILL)
        with pytest.raises(DataError, match="stopped before it was done"):
            waiting.result(120)
        again = counters.ask(Question(0, "a", source, "columns", work=pid_of)).result(120)
        assert again != first
    finally:
        counters.close()


def chart_of(_: Any) -> Any:
    return {"a": [Chart(10, 10, "<t>", "said", ())], "n": (1, "x")}


def test_charts_come_drawn_and_nothing_else_changes(tmp_path: Path) -> None:
    source = table(tmp_path / "one.csv")
    ((_, well, told),) = answered(Question(1, "a", source, "columns", work=chart_of))
    assert well
    assert told == {"a": [svg(chart_of(None)["a"][0])], "n": (1, "x")}
    assert draw(told["a"][0]) is told["a"][0], "a drawing is shown as it is"
    assert draw(chart_of(None)["a"][0]) == told["a"][0]
    assert "&lt;t&gt;" in told["a"][0]


def test_the_process_that_is_ready_gets_the_first_table(tmp_path: Path) -> None:
    source = table(tmp_path / "one.csv")
    counters = Counters(2)
    counters._counters[1].ask(Question(-1, "", "", "forget")).result(120)
    try:
        first = counters.ask(Question(0, "a", source, "columns", work=pid_of)).result(120)
        assert counters._counters[1]._process is not None
        assert first == counters._counters[1]._process.pid, "the other one would have to be started"
        assert not counters._counters[0].started
        counters.ask(Question(0, "a", source, "columns", work=forever))
        other = counters.ask(Question(0, "b", source, "columns", work=pid_of)).result(120)
        assert other != first, "a table of somebody else does not wait"
    finally:
        counters.close()
    with pytest.raises(DataError):
        counters.ask(Question(0, "a", source, "columns", work=pid_of)).result(5)
    assert not counters._counters[0].started, "what was closed is not started again"


def test_levels_that_are_stated_as_they_were_guessed_are_not_counted_again(tmp_path: Path) -> None:
    source = tmp_path / "few.csv"
    source.write_text("age,sex\n" + "".join(f"{20 + i % 30},{'fm'[i % 2]}\n" for i in range(300)), encoding="utf-8")
    with Workspace(tmp_path / "kept") as workspace:
        with workspace.files.incoming("a" * 16) as arrived:
            arrived.write_bytes(source.read_bytes())
            kept = workspace.tables.add(arrived, "few.csv")
        answers = Answers(workspace, processes=1)
        patience.set(600)
        asked: list[str] = []
        counters = answers._counters
        ask = counters.ask
        counters.ask = lambda question: (asked.append(question.key), ask(question))[1]  # type: ignore[method-assign]
        try:
            text = "roles: {quasi: {age: {}, sex: {}}}\nrequire: {k: 5}\n"
            before = Policy.parse(text)
            guessed = answers.improvement(kept, before, improved.guessed)
            now = Policy.parse(edits.with_levels(text, {"age": 1, "sex": 0}, guessed))
            assert now.quasi["age"].hierarchy == guessed["age"]
            found = answers.improvement(kept, now, improved.met, {"age": 1, "sex": 0})
            assert len(set(asked)) == 1, "the same counts answer"
            other = {**guessed["age"], "widths": [10]}
            moved = Policy.parse(edits.with_levels(text, {"age": 1, "sex": 0}, {**guessed, "age": other}))
            answers.improvement(kept, moved, improved.met, {"age": 1, "sex": 0})
            assert len(set(asked)) == 2, "other levels are counted"
            own = {name: value for name, value in guessed["age"].items() if name != "why"}
            stated = Policy.parse(edits.with_levels(text, {"age": 1, "sex": 0}, {**guessed, "age": own}))
            assert answers.improvement(kept, stated, improved.met, {"age": 1, "sex": 0}) == found
            assert len(set(asked)) == 3, "levels that a person stated stay"
        finally:
            answers.close()
