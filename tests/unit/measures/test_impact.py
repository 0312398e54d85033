"""Chance times impact: record by record, its laws, and the faces."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli import build
from shoal.errors import UsageError

rows = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc"), st.sampled_from("xy")), min_size=1, max_size=40)


def slow(people: list[tuple[int, str, str]], weights: tuple[float, float]) -> tuple[float, float, float]:
    """Each person in turn: the most common value among those who look alike, and how often it is right."""
    found = []
    for quasi, _, _ in people:
        alike = [p for p in people if p[0] == quasi]
        best = [Counter(p[1 + j] for p in alike).most_common(1)[0][1] / len(alike) for j in (0, 1)]
        found.append(sum(w * b for w, b in zip(weights, best, strict=True)))
    common = [Counter(p[1 + j] for p in people).most_common(1)[0][1] / len(people) for j in (0, 1)]
    return sum(found) / len(found), max(found), sum(w * b for w, b in zip(weights, common, strict=True))


@given(rows)
def test_equals_the_definition_person_by_person(people: list[tuple[int, str, str]]) -> None:
    table = {"q": [p[0] for p in people], "s": [p[1] for p in people], "t": [p[2] for p in people]}
    m = shoal.measure(table, quasi="q", sensitive=["s", "t"]).with_impact({"s": 5, "t": 0.5})
    assert m.impact is not None
    assert (m.impact.mean, m.impact.max, m.impact.without) == pytest.approx(slow(people, (5, 0.5)))
    assert m.impact.without - 1e-9 <= m.impact.mean <= m.impact.max + 1e-9 <= m.impact.worth + 2e-9 == pytest.approx(5.5)


def test_weights_are_numbers_of_sensitive_columns() -> None:
    m = shoal.measure({"q": [1, 2], "s": ["a", "b"], "t": ["x", "x"]}, quasi="q", sensitive=["s", "t"])
    assert m.impact is None
    assert "impact" not in m.to_json()
    for wrong in ({"q": 1}, {"s": -1}, {"s": float("nan")}, {"s": float("inf")}, {"s": 0}, {}):
        with pytest.raises(UsageError):
            m.with_impact(wrong)
    some = m.with_impact({"s": 0, "t": 2}).impact
    assert some is not None
    assert (some.mean, some.worth) == (2.0, 2.0)


def test_the_command_and_the_report_say_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("q,s\n1,a\n1,a\n2,a\n2,b\n", encoding="utf-8")
    line = ["measure", str(tmp_path / "t.csv"), "--quasi", "q", "--sensitive", "s", "--impact", "s=4"]
    told = CliRunner().invoke(build("measure"), [*line, "--report", str(tmp_path / "r.html")])
    sentence = "Chance times impact: 3 of 4 for a person on average, 4 at worst; 3 by guessing without the table."
    assert sentence in " ".join(told.stdout.split())
    assert sentence in (tmp_path / "r.html").read_text(encoding="utf-8")
    found = json.loads(CliRunner().invoke(build("measure"), [*line, "--json"]).stdout)["impact"]
    assert (found["mean"], found["chances"], found["weights"]) == (3.0, {"s": 0.75}, {"s": 4.0})
    for wrong in ("s", "s=x", "=", "s="):
        assert CliRunner().invoke(build("measure"), [*line[:-1], wrong]).exit_code == 2


def test_households_are_named_with_any_of_their_members(tmp_path: Path) -> None:
    """Slow definition: one minus the product over the members, rows without a household alone."""
    ages, homes = [30, 30, 41, 41, 41, 52], ["a", "a", "a", "b", None, "b"]
    m = shoal.measure({"age": ages, "home": homes}, quasi="age")
    risk = {x: 1 / ages.count(x) for x in ages}
    expected = []
    for home in ("a", "b", None):
        left = 1.0
        for age, where in zip(ages, homes, strict=True):
            left *= 1 - risk[age] if where == home else 1
        expected.append(1 - left)
    assert sorted(m.households("home").risk.tolist()) == pytest.approx(sorted(expected))
    with pytest.raises(UsageError, match="one row per person"):
        shoal.measure({"age": ages, "home": homes, "id": range(6)}, quasi="age", unit="id").households("home")
    lines = "".join(f"{a},{h or ''}\n" for a, h in zip(ages, homes, strict=True))
    (tmp_path / "t.csv").write_text("age,home\n" + lines, encoding="utf-8")
    line = ["measure", str(tmp_path / "t.csv"), "--quasi", "age", "--household", "home"]
    found = json.loads(CliRunner().invoke(build("measure"), [*line, "--json"]).stdout)["households"]
    assert (found["households"], found["max"]) == (3, 1.0)
    assert "Households: 3; somebody of one is named" in CliRunner().invoke(build("measure"), line).stdout
