"""κ, degree of anonymity, ANVC and RR of a measured table, by slow definitions; the plots and the table of ``predict``."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import UsageError

rows = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["f", "m", None])), min_size=1, max_size=25)


@settings(max_examples=25, deadline=None)
@given(rows)
def test_entropy_degree_and_kappa_by_their_definitions(table: list[tuple[int, str | None]]) -> None:
    m = shoal.measure({"a": [r[0] for r in table], "b": [r[1] for r in table]}, quasi=["a", "b"])
    n, sizes = len(table), Counter(table)
    entropy = -sum(c / n * math.log2(c / n) for c in sizes.values())
    doubt = sum(c / n * math.log2(c) for c in sizes.values())  # bits left to one who knows both columns
    cells = len({r[0] for r in table}) * len({r[1] for r in table})
    found = m.entropy_risk
    assert found["entropy_bits"] == pytest.approx(entropy, abs=1e-9)
    assert found["anvc"] == pytest.approx(2**entropy)
    assert found["rr"] == pytest.approx(min(1, 2**entropy / n))
    assert found["rr"] <= found["exact_marketer"] + 1e-9, "never above the average risk"
    assert found["degree"] == pytest.approx(doubt / math.log2(n) if n > 1 else 0.0, abs=1e-9)
    assert found["cells"] == cells
    even = sum(c / n * math.log(c / n * cells) for c in sizes.values())
    assert found["kappa"] == pytest.approx(even, abs=1e-9)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    from shoal.cli import main

    with pytest.raises(SystemExit) as stop:
        main([str(w) for w in words])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def test_the_numbers_are_shown_in_terminal_page_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "t.csv", tmp_path / "m.html"
    file.write_text("age,sex\n30,f\n30,f\n41,m\n41,f\n")
    code, out, _ = run(capsys, "measure", file, "--quasi", "age,sex", "--report", page)
    assert code == 0
    assert "degree of anonymity" in out
    assert "1.5 bits" in out
    assert "degree of anonymity" in page.read_text(encoding="utf-8")
    found = json.loads(run(capsys, "measure", file, "--quasi", "age,sex", "--json")[1])["entropy_risk"]
    assert (found["degree"], found["cells"]) == (pytest.approx(0.25), 4)


def test_people_in_several_classes_have_no_such_numbers() -> None:
    found = shoal.measure({"id": [1, 1, 2], "a": [1, 2, 2]}, quasi=["a"], unit="id").entropy_risk
    assert found["degree"] is None
    assert found["kappa"] is None


def test_the_test_of_source_001_on_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age,sex\n" + "".join(f"{20 + i % 5},{'fm'[i % 2]}\n" for i in range(40)) + "99,f\n")
    code, out, _ = run(capsys, "predict", "quasi", "--table", file, "--quasi", "age,sex", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["combinations"] == 12
    assert found["observed"] == {"records": 41, "combinations": 11, "unique": 1, "unique_share": pytest.approx(1 / 41)}
    typed = shoal.predict("quasi", values={"age": 6, "sex": 2}, people=41)
    assert found["value"] == pytest.approx(typed.value)
    many = shoal.predict("quasi", table=file, columns=["age"], people=1000)
    assert many.value == pytest.approx(shoal.predict("quasi", values={"age": 6}, people=1000).value)
    for wrong in ({"people": 5}, {"values": {"a": 2}}, {"table": file, "values": {"a": 2}}, {"table": file}):
        with pytest.raises(UsageError):
            shoal.predict("quasi", **wrong)


def test_every_answer_from_a_distribution_has_a_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "u.svg"
    code, _, err = run(capsys, "predict", "uniqueness", "--p", "0.5,0.3,0.2", "--group-size", "3", "--plot", picture)
    assert code == 0
    assert "Plot written" in err
    drawn = picture.read_text(encoding="utf-8")
    assert "3 equally likely cells" in drawn
    assert "asked: 3" in drawn
    quasi = tmp_path / "q.svg"
    assert run(capsys, "predict", "quasi", "--values", "a=2,b=50", "--people", "50", "--plot", quasi)[0] == 0
    assert "2 per person" in quasi.read_text(encoding="utf-8")
    assert run(capsys, "predict", "uniqueness", "--kappa", "0.1", "--cells", "9", "--group-size", "3", "--plot", picture)[0] == 0
