"""The first release makes sense: a draft proposes a plan that tells something, and names what had better stay out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.cli import main
from shoal.cli._releases import write_draft
from shoal.errors import RoleError, UsageError
from shoal.release.plan.loss_limits import blank_columns, blank_shares, mean_share
from shoal.release.plan.prepare import prepare
from shoal.release.plan.starting_plans import MOST_BLANK, NEARLY_ALL, StoppedDraftError, first_plan
from shoal.release.policy.draft import AMOUNT_KNOWN, BEST, MANY, amounts_as_known, draft_policy
from shoal.release.policy.policy import Policy


def people(n: int, towns: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
            "town": [f"town {i}" for i in rng.integers(0, towns, n)],
            "work": [f"firm {i}" for i in rng.integers(0, towns, n)],
            "ill": rng.choice(["flu", "cold", "asthma"], n),
        }
    )


ROLES = {"quasi": ["sex", "age", "town", "work"], "sensitive": ["ill"], "k": 5, "allow": {"suppress": 0.05}}


def test_the_draft_proposes_a_plan_that_the_release_loses_no_more_by():
    """A draft searches less long, so that it is there in seconds."""
    table = shoal.open(people(4000, 3))
    found = first_plan(table, Policy.of(**ROLES))
    made = shoal.anonymize(table, **ROLES)
    assert (found.method, found.left_out) == (made.decision.method, {})
    assert made.decision.loss <= found.loss < made.decision.loss + 0.01
    assert not blank_columns(blank_shares(made.prepared, made.decision))


def test_columns_that_would_be_blank_stay_out_and_the_precious_ones_last():
    """Two hundred people in 150 towns and 150 firms: nothing can be told of either."""
    table = shoal.open(people(200, 150))
    found = first_plan(table, Policy.of(**ROLES), precious=["age", "sex"])
    assert set(found.left_out) == {"town", "work"}
    assert all(share > MOST_BLANK for share in found.left_out.values())
    assert found.blank <= MOST_BLANK
    rest = {**ROLES, "quasi": [c for c in ROLES["quasi"] if c not in found.left_out]}
    made = shoal.anonymize(table, rest="drop", method=found.method, **rest)
    assert mean_share(blank_shares(made.prepared, made.decision)) <= MOST_BLANK
    assert made.certificate.k >= 5


def test_a_policy_that_cannot_be_carried_out_is_said_not_raised():
    table = shoal.open(people(30, 3))
    found = first_plan(table, Policy.of(quasi=["sex"], k=5))
    assert found.method == ""
    assert "are undecided" in found.problem


def test_the_draft_unchanged_gives_a_release_that_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, draft, out = tmp_path / "people.csv", tmp_path / "draft.yml", tmp_path / "out"
    pacsv.write_csv(people(200, 150), source)
    for words, code in ((["--draft", str(draft)], 0), (["--policy", str(draft), "--out", str(out)], 0)):
        with pytest.raises(SystemExit) as left:
            main(["anonymize", str(source), *words])
        assert left.value.code == code
    text = draft.read_text()
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#") and "title" not in line]
    bare = [
        line for line in lines if "#" not in line and line != "roles:" and not re.match(r"  (direct|quasi|sensitive): \[", line)
    ]
    assert bare == [], "a reason stands beside every line but the list of suggestions"
    assert "# ? Does a person have several rows?" in text
    assert re.search(r"^  rest: drop", text, re.M)
    assert shoal.verify(out).ok
    header = (out / "data.csv").read_text().splitlines()[0]
    assert "town" not in header
    assert "work" not in header
    capsys.readouterr()


@pytest.mark.parametrize(("more", "listed"), [(0, True), (1, False)])
def test_many_undecided_columns_are_counted_not_listed(more, listed):
    n = MANY + more
    table = {"sex": ["f", "m"] * 20} | {f"detail {i}": ["left", "right"] * 20 for i in range(n)}
    found = shoal.inspect(table)
    assert len(found.undecided) == n
    text = draft_policy(found, rest="drop")
    assert ("and 1 more" in text) is not listed
    assert f'#   "detail {MANY - 1}": not recognized' in text
    policy = Policy.parse(text).completed(shoal.open(table).schema)
    assert set(policy.direct) == set(found.undecided)


# ---------------------------------------------------------------- rest


ROWS = {"age": [30, 30, 40, 40], "ill": ["x", "y"] * 2, "side": ["a", "b"] * 2, "id": ["q1", "q2", "q3", "q4"]}


@pytest.mark.parametrize(("rest", "published"), [("drop", {"age", "ill"}), ("quasi", {"age", "ill", "side"})])
def test_what_becomes_of_the_rest(tmp_path, rest, published):
    words = {"direct": ["id"], "allow": {"loss": 1, "blank": 1}} if rest == "quasi" else {}
    made = shoal.anonymize(ROWS, quasi=["age"], sensitive=["ill"], k=2, rest=rest, **words)
    folder = made.write(tmp_path / "out")
    assert set((folder / "data.csv").read_text().splitlines()[0].replace('"', "").split(",")) == published
    assert shoal.verify(folder).ok
    assert Policy.of(Policy.of(quasi=["age"], k=2, rest=rest).to_json()).rest == rest


def test_the_unit_and_the_weight_are_no_rest():
    policy = Policy.of(quasi=["age"], k=2, rest="drop", unit="id", weight="ill").completed(shoal.open(ROWS).schema)
    assert policy.direct == {"side": "drop"}


def test_a_rest_that_names_people_is_not_published():
    table = {"age": [30, 40] * 20, "x": [f"ann.{i}@example.org" for i in range(40)]}
    made = shoal.anonymize(table, quasi=["age"], k=2, rest="quasi", allow={"loss": 1, "blank": 1})
    assert {c.name: c.values_after for c in made.certificate.columns}["x"] == 1


def test_an_error_about_roles_names_all_columns_and_offers_rest():
    wide = {f"c{i:02d}": [1, 2] * 4 for i in range(61)}
    with pytest.raises(RoleError, match="rest: drop") as told:
        shoal.anonymize(wide, quasi=["c00"], k=2)
    assert all(f"c{i:02d}" in told.value.message for i in range(1, 61))
    assert "rest: drop" in told.value.hint
    with pytest.raises(RoleError, match=r"c60 \([^)]*\) and 1 more \('shoal inspect TABLE' lists all\)"):
        shoal.anonymize({**wide, "c61": [1, 2] * 4}, quasi=["c00"], k=2)


def test_check_needs_a_role_or_evidence_for_every_column():
    assert shoal.check(ROWS, quasi=["age"], sensitive=["ill"], insensitive=["side", "id"], k=2).met
    named = shoal.check(ROWS, quasi=["age"], sensitive=["ill"], k=2)
    assert [f.requirement.name for f in named.failed] == ["undecided.side", "undecided.id"]
    found = shoal.check(ROWS, quasi=["age"], k=2, rest="drop")
    assert [(f.requirement.name, f.found) for f in found.failed] == [("rest", 3)]
    assert shoal.check({"age": [30, 30]}, quasi=["age"], k=2, rest="drop").met
    named = shoal.check(ROWS, quasi=["age"], direct=["id"], k=2, rest="drop")
    assert [(f.requirement.name, f.found) for f in named.failed] == [("direct", 1), ("rest", 2)]
    with pytest.raises(RoleError, match="3 of 4 columns"):
        shoal.check(ROWS, quasi=["age"], preset="internal")


# ---------------------------------------------------------------- missing spellings in a draft


SPELLED = {"sex": ["f", "m", "?"] * 20, "kg": ["?", *[str(60 + i % 30) for i in range(59)]]}


def test_spellings_of_missing_are_a_question_in_the_draft():
    found = shoal.inspect(SPELLED)
    text = draft_policy(found)
    assert "# ? Do these mean 'no value'?" in text
    assert '#   sex: ["?"]' in text
    assert Policy.parse(text).missing_values == {}
    answered = Policy.parse(draft_policy(found, read=["sex"]))
    assert answered.missing_values == {"sex": ("?",)}
    assert '#   kg: ["?"]' in draft_policy(found, read=["sex"])


@pytest.mark.parametrize(("answer", "read"), [("y\n", {"sex": ("?",), "kg": ("?",)}), ("n\n", {})])
def test_they_are_asked_on_a_terminal(tmp_path: Path, answer, read):
    """In a pseudo-terminal, as a person sees it."""
    import os
    import pty
    import subprocess
    import sys

    source, draft = tmp_path / "s.csv", tmp_path / "d.yml"
    pacsv.write_csv(pa.table(SPELLED), source)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "shoal.cli", "anonymize", str(source), "--draft", str(draft)]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"}) as child:
        os.write(ours, answer.encode())
        os.close(theirs)
        heard = b""
        while True:
            try:
                heard += os.read(ours, 4096)
            except OSError:  # the other end is closed: the command has ended
                break
        assert child.wait() == 0
    os.close(ours)
    assert b"no value" in heard
    assert Policy.parse(draft.read_text()).missing_values == read


def test_a_draft_is_the_same_on_a_machine_that_is_a_million_times_slower(monkeypatch: pytest.MonkeyPatch):
    """Work is counted, not timed: a clock that jumps by an hour at every look changes nothing."""
    table, asked = shoal.open(people(3000, 40)), Policy.of(**ROLES)
    before = first_plan(table, asked)
    hours = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("shoal.search.problem.control.time.perf_counter", lambda: float(next(hours)))
    assert first_plan(table, asked) == before
    assert before.method


def test_a_column_of_which_nearly_every_cell_would_be_blank_stays_out_whatever_the_others_keep():
    rows = people(600, 3).append_column("street", [[f"street {i}" for i in range(600)]])
    asked = Policy.of(**{**ROLES, "quasi": [*ROLES["quasi"], "street"]})
    found = first_plan(shoal.open(rows), asked, precious=["street"])
    assert found.left_out["street"] >= NEARLY_ALL
    assert "sex" not in found.left_out


def test_a_draft_promises_no_loss_that_the_run_may_not_have(monkeypatch: pytest.MonkeyPatch):
    table, asked = shoal.open(people(400, 3)), Policy.of(**ROLES)
    classes = prepare(table, asked).base.n_classes
    assert first_plan(table, asked).method == "local"
    monkeypatch.setattr("shoal.release.plan.decide.MOST_LOCAL", 1)
    found = first_plan(table, asked)
    assert found.method == "lattice"
    (line,) = [words for words in draft_policy(shoal.inspect(table), found).splitlines() if words.startswith("method:")]
    assert line == f"method: best   # {BEST}", "the draft's search is shorter, and columns stay out after it"
    monkeypatch.setattr("shoal.release.plan.starting_plans.MOST_CLASSES", classes - 1)
    assert first_plan(table, asked).method == ""


def test_a_draft_without_a_quasi_identifier_says_what_to_name():
    table = shoal.open(pa.table({"income": [100.5 * i for i in range(40)], "tax": [7.25 * i for i in range(40)]}))
    text = draft_policy(shoal.inspect(table))
    assert "# quasi: {}   # name here what others may know" in text


def test_a_column_left_out_beside_undecided_ones_says_how_to_keep_it():
    found = shoal.inspect({"sex": ["f", "m"] * 20, "income": list(range(40)), "detail": ["left", "right"] * 20})
    text = draft_policy(found, out={"income": "it finds 100 % of the records"})
    assert list(found.undecided) == ["detail"]
    direct = text.partition("  direct:")[2].partition("  quasi:")[0].splitlines()
    assert "Move one to quasi" in direct[-2]
    assert direct[-1].startswith("    income: {}   # it finds 100 %")
    assert "Move one" not in draft_policy(found)


def test_a_draft_carries_the_order_of_answers_that_only_the_table_shows():
    rng = np.random.default_rng(3)
    names = ["traveltime", "famrel", "freetime", "goout", "health"]
    table = pa.table({"age": rng.integers(15, 20, 200), **{n: rng.integers(1, 6, 200) for n in names}})
    text = draft_policy(shoal.inspect(shoal.open(table)))
    assert "scale:   # numbers that are answers in order: neighbours are joined\n  traveltime: ordered\n" in text
    assert Policy.parse(text).scale == {"traveltime": "ordered"}


def test_a_table_of_amounts_only_is_drafted_with_the_amounts_as_known(tmp_path: Path) -> None:
    rows = [f"{20_000 + 37 * i},{900 + i // 5},{i % 2}" for i in range(200)]
    source = tmp_path / "pay.csv"
    source.write_text("wage,tax,paid\n" + "\n".join(rows) + "\n", encoding="utf-8")
    found = shoal.inspect(source)
    assert not found.quasi
    assert amounts_as_known(found, k=5).quasi == ("wage",)  # five rows share each tax
    assert amounts_as_known(found, k=6).quasi == ("wage", "tax")
    assert amounts_as_known(shoal.inspect(source, sensitive=["wage"]), k=6).quasi == ("tax",)
    known = shoal.inspect(source, quasi=["paid"])
    assert amounts_as_known(known) is known
    policy = tmp_path / "policy.yml"
    policy.write_text(draft_policy(amounts_as_known(found)), encoding="utf-8")
    assert AMOUNT_KNOWN in policy.read_text(encoding="utf-8")
    assert shoal.anonymize(source, policy).certificate.k >= 5


@pytest.mark.parametrize(("n", "stops"), [(8, True), (200, False)])
def test_a_draft_says_at_once_that_its_records_are_too_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], n: int, stops: bool
) -> None:
    """Eight people in groups of five: nothing can be told of any of them, and the run would stop."""
    table = people(n, 3, seed=4).select(["sex", "age", "ill"])
    pacsv.write_csv(table, tmp_path / "few.csv")
    policy, out = tmp_path / "policy.yml", tmp_path / "out"
    with pytest.raises(SystemExit) as drafted:
        main(["anonymize", str(tmp_path / "few.csv"), "--draft", str(policy)])
    told = " ".join(capsys.readouterr().out.split())
    assert not drafted.value.code
    assert ("the run will stop: 8 records are too few for k: 5" in told) is stops
    assert ("# ! As it stands, the run will stop" in policy.read_text("utf-8")) is stops
    with pytest.raises(SystemExit) as made:
        main(["anonymize", str(tmp_path / "few.csv"), "--policy", str(policy), "--out", str(out)])
    assert made.value.code == int(stops)
    assert out.exists() is not stops


@pytest.mark.parametrize(("columns", "first"), [(15, 1), (16, 2)])
def test_of_many_columns_several_are_left_out_before_the_next_trial(
    monkeypatch: pytest.MonkeyPatch, columns: int, first: int
) -> None:
    draw = np.random.default_rng(2)
    rows = pa.table({f"c{i:02}": draw.integers(0, 40, 60).astype(str) for i in range(columns)})
    left: list[int] = []
    monkeypatch.setattr("shoal.release.plan.starting_plans.DRAFT_CELLS", 1_000_000)
    monkeypatch.setattr("shoal.release.plan.starting_plans._without", lambda policy, gone: left.append(len(gone)) or policy)
    monkeypatch.setattr("shoal.release.plan.starting_plans.MOST_CLASSES", 60)
    monkeypatch.setattr("shoal.release.plan.starting_plans.prepare", _twice(prepare))
    first_plan(shoal.open(rows), Policy.of(quasi=rows.column_names, k=30))
    assert left == [first]


def _twice(work: Any) -> Any:
    """``prepare`` that ends the trials at its second call."""
    calls: list[int] = []

    def prepared(*given: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise UsageError("enough.")
        return work(*given, **more)

    return prepared


def test_a_plan_that_is_tried_counts_only_sensitive_values_that_are_limited() -> None:
    rows = pa.table({"age": [30, 30, 40, 40], "ill": ["a", "b", "a", "b"], "pay": ["1", "2", "2", "3"]})
    policy = Policy.of(quasi=["age"], sensitive=["ill", "pay"], require={"k": 2, "diversity": {"ill": {"distinct": 2}}})
    plan = first_plan(shoal.open(rows), policy)
    assert plan.tried is not None
    assert list(plan.tried[0].base.sensitive) == ["ill"]
    assert list(prepare(shoal.open(rows), policy).base.sensitive) == ["ill", "pay"]


@pytest.mark.parametrize(("most", "kept"), [(3, 3), (2, 2)])
def test_a_draft_keeps_the_surest_of_many_quasi_identifiers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most: int, kept: int
):
    monkeypatch.setattr("shoal.cli._releases.MOST_TRIED", most)
    draw = np.random.default_rng(6)
    people = {"age": draw.integers(20, 60, 300), "sex": draw.choice(["f", "m"], 300), "code_x": draw.choice(list("ABC"), 300)}
    pq.write_table(pa.table(people), tmp_path / "t.parquet")
    write_draft(str(tmp_path / "t.parquet"), tmp_path / "p.yml", {}, {}, as_json=True)
    text = (tmp_path / "p.yml").read_text(encoding="utf-8")
    assert len(Policy.parse(text).quasi) == kept
    assert (f"code_x: {most} surer ones are tried together" in text) is (kept < 3)


def test_a_draft_does_not_repeat_local_recoding_for_every_level(monkeypatch):
    """Two plans are tried: one level per column, and sets of values; the release tries one level for one column as well."""
    tried = []
    monkeypatch.setattr("shoal.release.plan.decide._mixed", lambda *_: tried.append("mixed"))
    table = shoal.open(people(1000, 3))
    first_plan(table, Policy.of(**ROLES))
    assert not tried
    shoal.anonymize(table, **ROLES)
    assert tried


@pytest.mark.parametrize("plans", [0, 1])
def test_a_draft_that_is_stopped_keeps_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], plans: int
) -> None:
    from shoal.cli import _releases

    table = tmp_path / "people.csv"
    table.write_text("age,sex,disease\n" + "".join(f"{20 + i % 40},{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(90)))
    target = tmp_path / "p.yml"

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_releases, "_finding" if plans else "first_plan", stopped)
    with pytest.raises(KeyboardInterrupt):
        _releases.write_draft(str(table), target, {}, {}, as_json=False)
    assert "age" in Policy.load(target).quasi
    assert ("The best plan" if plans else "No plan") in capsys.readouterr().err


def test_a_draft_that_is_stopped_inside_a_search_keeps_the_best_plan_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan with one level per column is known when the local recoding is interrupted."""

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal.release.plan.decide.local_recoding", stopped)
    with pytest.raises(StoppedDraftError) as caught:
        first_plan(shoal.open(people(1000, 3)), Policy.of(**ROLES))
    assert caught.value.best.method == "lattice"
    assert 0 < caught.value.best.loss <= 1
    monkeypatch.setattr("shoal.release.plan.decide._one_level", stopped)
    with pytest.raises(KeyboardInterrupt) as early:
        first_plan(shoal.open(people(1000, 3)), Policy.of(**ROLES))
    assert not isinstance(early.value, StoppedDraftError)


def test_a_plan_for_all_columns_or_none_tries_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.release.plan import starting_plans

    tried = []
    real = starting_plans.decide
    monkeypatch.setattr(starting_plans, "decide", lambda *a, **k: tried.append(1) or real(*a, **k))
    monkeypatch.setattr(starting_plans, "MOST_BLANK", -1.0)
    found = first_plan(shoal.open(people(1000, 3)), Policy.of(**ROLES), whole=True)
    assert len(tried) == 1
    assert len(found.left_out) == 1


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("release.plan.decide.local_recoding", "one level per column, loss "),
        ("release.plan.decide._one_level", "No plan"),
        ("search.full_domain.lazy_search.exchange", "one level per column, loss "),
    ],
)
def test_a_release_that_is_stopped_names_the_best_plan_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], where: str, words: str
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    pq.write_table(people(1000, 3), tmp_path / "t.parquet")
    monkeypatch.setattr(f"shoal.{where}", stopped)
    monkeypatch.setattr("shoal.search.full_domain.lattice.LISTED", 0)
    options = ["--quasi", "age,sex,town", "--rest", "drop", "--k", "5", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", str(tmp_path / "t.parquet"), *options])
    assert ended.value.code == 130
    assert words in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_a_draft_does_not_look_for_identifiers_of_a_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object, **__: object) -> None:
        raise AssertionError("a draft names no preset")

    pq.write_table(people(100, 3), tmp_path / "t.parquet")
    monkeypatch.setattr("shoal.api.inspect.identifier_class", asked)
    write_draft(str(tmp_path / "t.parquet"), tmp_path / "p.yml", {}, {"quasi": "age"}, as_json=True)
    assert "you said so" in (tmp_path / "p.yml").read_text(encoding="utf-8")
