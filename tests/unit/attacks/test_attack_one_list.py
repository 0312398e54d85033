"""One list of attacks: certificate, report and ``shoal attack`` have the same names, numbers, verdicts and exit code."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.cli import main
from shoal.model.attack import AttackResult, worst_first
from shoal.report.numbers import percent

N = 24
PEOPLE: dict[str, list[Any]] = {
    "age": [20 + i % 12 for i in range(N)],
    "sex": ["fm"[i % 2] for i in range(N)],
    "ill": [f"i{i % 4}" for i in range(N)],
    "income": [1000 + 137 * i % 911 for i in range(N)],
}


def table(**more: Any) -> Any:
    roles: dict[str, Any] = {"quasi": {"age": {"hierarchy": {"intervals": [2, 4, 12]}}, "sex": {}}, "sensitive": ["ill"]}
    return shoal.anonymize(PEOPLE, **{**roles, "insensitive": ["income"], "k": 3, "method": "lattice", **more})


def events(*require: str, roles: dict[str, Any] | None = None, **more: Any) -> Any:
    rows = [(i, hour) for i in range(8) for hour in range(3)]
    columns = {
        "card": [f"p{i}" for i, _ in rows],
        "at": [f"2026-03-0{2 + i // 4 + hour} {8 + hour:02d}:00:00" for i, hour in rows],
        "station": [f"{'AB'[i % 2]}{hour}" for i, hour in rows],
        "pay": [f"v{(i + hour) % 3}" for i, hour in rows],
        "ill": [f"v{i // 2 % 2}" for i, _ in rows],
    }
    rules = {"unit": "card", "time": "at", "place": "station", "time_widths": ["1d"], "place_levels": ["exact"], **more}
    policy = {"events": rules, "roles": {**(roles or {}), "rest": "drop"}, "seed": 3**80}
    return shoal.anonymize(columns, {**policy, "require": ["known[1]>=2", *require]})


def linked(**require: int) -> Any:
    age = {"age": {"hierarchy": {"intervals": [10]}}}
    person = {"table": {"id": [*range(6)], "age": [30, 30, 30, 40, 40, 40], "sex": ["f"] * 6}}
    visits = {"table": {"who": [*range(6)], "ward": [*"aabbab"], "ill": [*"xyxyxy"]}}
    tables = {
        "person": {**person, "roles": {"quasi": age, "sensitive": ["sex"]}},
        "visits": {**visits, "roles": {"quasi": {"ward": {}}, "sensitive": ["ill"]}},
    }
    links = {"visits.who": "person.id"}
    return shoal.anonymize_tables({"tables": tables, "links": links, "require": {"k": 2, **require}, "allow": {"loss": 1}})


KINDS: dict[str, Callable[[], Any]] = {
    "table": table,
    "table, local recoding": lambda: table(method="local"),
    "table, sets": lambda: table(method="local", cells="sets"),
    "table, noise": lambda: table(transform={"income": {"noise": {"scale": 5000}}}),
    "table, sample": lambda: table(sample={"share": 0.8}, k=2),
    "events": events,
    "events, renewed": lambda: events(renew="7 days"),
    "events, a pseudonym per record": lambda: events(renew="every record"),
    "events, shifted": lambda: events(shift=7),
    "events, no time": lambda: events(time_widths=["none"]),
    "events, further column": lambda: events(roles={"insensitive": ["pay"]}),
    "events, sensitive column": lambda: events("distinct[ill]>=1", roles={"sensitive": ["ill"]}),
    "events, length and absence": lambda: events("length[1]>=2", "absent[1]>=2"),
    "events, flows": lambda: events(flows=True),
    "linked": linked,
    "linked, one known row": lambda: linked(known=1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_certificate_report_and_attack_list_the_same(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = KINDS[kind]()
    place = made.write(tmp_path / "out")
    certified = [a.to_json() for a in made.certificate.attacks]
    with pytest.raises(SystemExit) as ended:
        main(["attack", str(place), "--json"])
    tried = json.loads(capsys.readouterr().out)
    assert tried["attacks"] == certified
    assert len({a["name"] for a in certified}) == len(certified), "a name is one attack"
    assert (ended.value.code, tried["holds"]) == (0, True), "a release with a broken claim is not written"
    assert _reported((place / "report.html").read_text(encoding="utf-8")) == [
        (a["name"], a["sentence"], "" if a["rate"] is None else percent(a["rate"]), a["verdict"]) for a in certified
    ]


def _reported(page: str) -> list[tuple[str, str, str, str]]:
    """Name, sentence, rate and verdict of each row in the report's table of attacks."""
    body = page[page.index(">attack</th>") :]
    out = []
    for row in re.findall(r"<tr.*?>(.*?)</tr>", body[: body.index("</table>")], re.S):
        cells = [html.unescape(re.sub(r"<.*?>", "", c)).strip() for c in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.S)]
        out.append((cells[0], cells[1], cells[2], cells[-1].lstrip("✓⚠✗– ")))
    return out


def _result(name: str, verdict: Any, rate: float | None = None) -> AttackResult:
    return AttackResult(name, "", rate, rate, rate, None, "", verdict, "")


@pytest.mark.parametrize(
    ("certified", "tried", "listed"),
    [
        pytest.param([("a", "holds", 0.1)], [("a", "holds", 0.2)], [("a", 0.1)], id="no worse: as certified"),
        pytest.param([("a", "holds", 0.1)], [("a", "broken", 0.2)], [("a", 0.2)], id="worse now"),
        pytest.param([("a", "broken", 0.9)], [("a", "holds", 0.0)], [("a", 0.9)], id="broken stays broken"),
        pytest.param([("a", "not run")], [("a", "not run")], [("a", None)], id="once"),
        pytest.param([("a", "not run")], [("a: x", "holds", 0.2)], [("a: x", 0.2)], id="run now"),
        pytest.param([("a", "not run"), ("a: x", "holds", 0.2)], [], [("a: x", 0.2), ("a", None)], id="not run stays listed"),
        pytest.param([("a: x", "holds", 0.2)], [("a", "not run")], [("a: x", 0.2)], id="not run is no news"),
        pytest.param([], [("a", "not run")], [("a", None)], id="not run is listed"),
    ],
)
def test_of_two_runs_the_better_attack_counts(certified: Any, tried: Any, listed: Any) -> None:
    from shoal.api.attack import one_list

    found = one_list([_result(*r) for r in certified], [_result(*r) for r in tried])
    assert [(r.name, r.rate) for r in found] == listed
    assert list(found) == worst_first(found)


def test_a_count_table_has_its_attack_in_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of counts has no certificate: command and data give the one attack that its making ran."""
    rows = {"ward": ["a", "b", "c"] * 20 + ["a"] * 3, "ill": [*"xyzw"] * 15 + ["v"] * 3}
    file = tmp_path / "people.csv"
    file.write_text("\n".join(["ward,ill", *(f"{w},{i}" for w, i in zip(*rows.values(), strict=True))]))
    made = shoal.count_table(file, rows="ward", columns="ill", threshold=4, public=True)
    with pytest.raises(SystemExit) as ended:
        main(["table", str(file), "--rows", "ward", "--columns", "ill", "--threshold", "4", "--public", "--json"])
    assert json.loads(capsys.readouterr().out)["attack"] == made.to_json()["attack"] == made.attack.to_json()
    assert (ended.value.code, made.attack.verdict, made.attack.rate) == (0, "holds", 0.0)
    assert made.hidden > 0


def test_a_count_table_that_hides_nothing_has_nothing_to_recover() -> None:
    made = shoal.count_table({"ward": [*"ab"] * 20, "ill": [*"xxyy"] * 10}, rows="ward", columns="ill", threshold=4)
    assert (made.hidden, made.attack.verdict, made.attack.rate) == (0, "not run", None)
