"""Canaries: a unique string in every cell, column name and file name may appear only where it was declared to."""

from __future__ import annotations

import csv
import json
import os
import time

import numpy as np
import pytest

import nursery
from shoal.cli import main

ROWS = 60
PREFIX = "kanarie"


def hostile_table(path, *, ragged=False):
    """Every cell holds a canary of its own; one quasi-identifier also has frequent values."""
    cells = []
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow([f"col{PREFIX}{c}" for c in ("name", "job", "town", "age", "ill", "free")])
        for i in range(ROWS):
            job = f"{PREFIX}job{i}x" if i < 6 else f"work{i % 4}"
            row = [f"{PREFIX}name{i}x", job, f"{PREFIX}town{i}x", 7_000_007 + 30 * i, f"{PREFIX}ill{i}x", f"{PREFIX}free{i}x"]
            cells += [str(c) for c in row if PREFIX in str(c) or str(c).startswith("700")]
            if ragged and i == 40:
                row = row[:3]
            writer.writerow(row)
    return cells


def policy_text(**change):
    roles = {
        "direct": [f"col{PREFIX}name"],
        "quasi": {f"col{PREFIX}{c}": {} for c in ("job", "town", "age")},
        "sensitive": [f"col{PREFIX}ill"],
        "insensitive": [f"col{PREFIX}free"],
    }
    allow = {"suppress": 0.5, "blank": 1, "loss": 1, "identifying": [f"col{PREFIX}ill", f"col{PREFIX}free"]}
    return json.dumps({"roles": roles, "require": {"k": 5}, "allow": allow, **change})


def run(capfd, *words):
    with pytest.raises(SystemExit) as end:
        main([str(w) for w in words])
    said = capfd.readouterr()
    return int(end.value.code or 0), said.out + said.err


def leaks(text, cells):
    return [c for c in cells if c in text]


@pytest.fixture
def scene(tmp_path):
    table = tmp_path / f"file{PREFIX}secret.csv"
    cells = hostile_table(table)
    policy = tmp_path / "policy.yml"
    policy.write_text(policy_text())
    return tmp_path, table, policy, cells


def test_canaries_appear_only_in_the_declared_data(scene, capfd):
    place, table, policy, cells = scene
    code, said = run(capfd, "anonymize", table, "--policy", policy, "--out", place / "out", "--json")
    assert code == 0, said
    assert not leaks(said, cells)
    for path in (place / "out").iterdir():
        found = leaks(path.read_text(encoding="utf-8"), cells)
        if path.name == "data.csv":
            assert all("free" in c or "ill" in c for c in found), "only the columns that are published as they are"
        else:
            assert not found, path.name
        assert "secret" not in path.read_text(encoding="utf-8"), "the name of the input file stays at home"


def test_canaries_stay_out_of_every_other_format(scene, capfd):
    place, table, policy, cells = scene
    for form in ("parquet", "arrow"):
        code, said = run(capfd, "anonymize", table, "--policy", policy, "--out", place / form, "--format", form)
        assert code == 0, said
        assert not leaks(said, cells)
        raw = next((place / form).glob("data.*")).read_bytes()
        assert not [c for c in cells if c.encode() in raw and not ("free" in c or "ill" in c)]


@pytest.mark.parametrize(
    ("name", "words", "code"),
    [
        ("draft", ["anonymize", "TABLE", "--draft", "OUT/draft.yml"], 0),
        ("inspect", ["inspect", "TABLE"], 0),
        ("measure", ["measure", "TABLE", "--qi", f"col{PREFIX}job,col{PREFIX}town", "--sensitive", f"col{PREFIX}ill"], 0),
        ("check", ["check", "TABLE", "--policy", "POLICY"], 1),
        ("check json", ["check", "TABLE", "--policy", "POLICY", "--format", "json"], 1),
        ("check sarif", ["check", "TABLE", "--policy", "POLICY", "--format", "sarif"], 1),
        ("check junit", ["check", "TABLE", "--policy", "POLICY", "--format", "junit"], 1),
        ("check md", ["check", "TABLE", "--policy", "POLICY", "--format", "md"], 1),
        ("unknown option", ["anonymize", "TABLE", "--polcy", "POLICY"], 2),
        ("unknown format", ["anonymize", "TABLE", "--policy", "POLICY", "--out", "OUT/r", "--format", "pdf"], 2),
        ("verify nothing", ["verify", "OUT"], 1),
    ],
)
def test_no_command_repeats_a_cell(scene, capfd, name, words, code):
    place, table, policy, cells = scene
    (place / "o").mkdir()
    names = {"TABLE": str(table), "POLICY": str(policy)}
    ended, said = run(capfd, *[names.get(w, w.replace("OUT", str(place / "o"))) for w in words])
    assert ended == code, said
    assert not leaks(said, cells)
    for path in (place / "o").rglob("*"):
        assert not leaks(path.read_text(), cells)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("infeasible", {"require": {"k": 59, "diversity": {f"col{PREFIX}ill": {"distinct": 80}}}}),
        ("wrong hierarchy", {"gap": True}),
        ("numbers asked of text", {"intervals": True}),
        ("unclassified", {"drop": f"col{PREFIX}free"}),
        ("ragged", {"ragged": True}),
        ("not text", {"binary": True}),
        ("no disk", {"readonly": True}),
    ],
)
def test_no_error_repeats_a_cell(scene, capfd, name, change):
    place, table, policy, cells = scene
    asked = json.loads(policy_text())
    if "require" in change:
        asked["require"] = change["require"]
    if "gap" in change:
        (place / "h.csv").write_text("one;*\ntwo;*\n")
        asked["roles"]["quasi"][f"col{PREFIX}town"] = {"hierarchy": "h.csv"}
    if "intervals" in change:
        asked["roles"]["quasi"][f"col{PREFIX}town"] = {"hierarchy": {"intervals": [5]}}
    if "drop" in change:
        asked["roles"]["insensitive"] = []
    if "ragged" in change:
        hostile_table(table, ragged=True)
    if "binary" in change:
        table.write_bytes(table.read_bytes().replace(b"town7", b"to\xff\xfe7"))
    policy.write_text(json.dumps(asked))
    out = "/proc/nowhere/out" if "readonly" in change else place / "out"
    code, said = run(capfd, "anonymize", table, "--policy", policy, "--out", out)
    if name != "not text":
        assert code in (1, 2, 3), said
    assert code != 4, said
    assert not leaks(said, cells)
    assert not [p for p in place.iterdir() if p.name.startswith(".shoal")]
    if code:
        assert not (place / "out").exists()


def test_python_errors_carry_no_cell_in_message_or_cause(scene):
    import traceback

    import shoal

    place, table, _, cells = scene
    asked = json.loads(policy_text())
    (place / "h.csv").write_text("one;*\ntwo;*\n")
    asked["roles"]["quasi"][f"col{PREFIX}town"] = {"hierarchy": str(place / "h.csv")}
    with pytest.raises(shoal.errors.ShoalError) as caught:
        shoal.anonymize(str(table), asked)
    assert not leaks("".join(traceback.format_exception(caught.value)), cells)


@pytest.mark.slow
def test_kill_at_any_moment_leaves_nothing_under_the_final_name(tmp_path):
    rng = np.random.default_rng(2)
    table = tmp_path / "t.csv"
    with table.open("w") as out:
        out.write("age,town,ill\n")
        out.writelines(f"{rng.integers(18, 90)},t{rng.integers(0, 40)},i{rng.integers(0, 5)}\n" for _ in range(4_000))
    policy = "roles: {quasi: [age, town], sensitive: [ill]}\nrequire: {k: 5}\nallow: {suppress: 0.05}\nmethod: lattice\n"
    (tmp_path / "p.yml").write_text(policy)
    words = ["anonymize", str(table), "--policy", str(tmp_path / "p.yml"), "--out", str(tmp_path / "out")]
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1"}
    none = os.open(os.devnull, os.O_RDWR)

    def ended(kill_after: float | None = None) -> int:
        return nursery.Child(nursery.COMMAND, tmp_path, environment, [none] * 3, arguments=words).wait(kill_after)

    start = time.perf_counter()
    assert ended() == 0
    whole = time.perf_counter() - start
    from shoal.release.verification import verify

    assert verify(tmp_path / "out").ok
    os.rename(tmp_path / "out", tmp_path / "kept")
    killed = 0
    for share in rng.uniform(0.4, 1.0, 40):
        if killed == 4:
            break
        start = time.perf_counter()
        if ended(kill_after=whole * share):
            killed += 1
        else:
            whole = time.perf_counter() - start  # it has become faster since
        if (tmp_path / "out").exists():
            assert verify(tmp_path / "out").ok, "what is there is whole"
            for path in (tmp_path / "out").iterdir():
                path.unlink()
            (tmp_path / "out").rmdir()
    assert killed == 4
    assert ended() == 0
    os.close(none)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".shoal")], "the next run sweeps what killed ones left"


def test_interrupt_leaves_nothing(tmp_path, monkeypatch):
    import pyarrow as pa

    import shoal
    from shoal.release.make import carry_out as room

    table = pa.table({"a": [1, 2] * 20, "s": ["x", "y"] * 20})
    for name in ("recode", "count_again", "certificate_of", "run_attacks", "derive", "seal"):

        def stop(*args, **kwargs):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(room, name, stop)
            with pytest.raises(KeyboardInterrupt):
                shoal.anonymize(table, quasi=["a"], sensitive=["s"], k=2).write(tmp_path / "out")
        assert list(tmp_path.iterdir()) == []
    assert shoal.anonymize(table, quasi=["a"], sensitive=["s"], k=2).write(tmp_path / "out").is_dir()


def test_no_network_is_used(scene, monkeypatch, capfd):
    import socket

    place, table, policy, _ = scene

    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert run(capfd, "anonymize", table, "--policy", policy, "--out", place / "out")[0] == 0
    assert run(capfd, "verify", place / "out")[0] == 0
    page = (place / "out" / "report.html").read_text()
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "<script" not in page


def event_table(path):
    """Visits of 40 people; rare places, every id, note and moment hold a canary, frequent places do not."""
    cells = []
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["who", "at", "where", "note"])
        for i in range(400):
            where = f"{PREFIX}place{i}x" if i % 100 == 0 else f"hall{i * 7 % 3}"
            row = [f"{PREFIX}who{i % 40}x", f"2026-03-{1 + i % 28:02d} {i % 24:02d}:{i % 60:02d}:{i % 59:02d}", where]
            cells += [c for c in (*row, f"{PREFIX}note{i}x") if PREFIX in c]
            writer.writerow([*row, f"{PREFIX}note{i}x"])
    return cells


@pytest.mark.parametrize("tree", [False, True], ids=["levels of its own", "a hierarchy of the places"])
def test_canaries_of_an_event_release(tmp_path, capfd, tree):
    table, policy = tmp_path / f"file{PREFIX}secret.csv", tmp_path / "policy.yml"
    cells = event_table(table)
    events = {"unit": "who", "time": "at", "place": "where", "time_widths": ["part of day", "week", "none"]}
    if tree:
        places = sorted({c for c in cells if "place" in c} | {f"hall{i}" for i in range(3)})
        levels = [f"{p};{'halls' if 'hall' in p else 'others'};*" for p in places]
        (tmp_path / "tree.csv").write_text("\n".join(levels) + "\n")
        events |= {"hierarchy": {"where": str(tmp_path / "tree.csv")}, "place_levels": ["cut", "level:1"]}
    asked = {"events": events, "roles": {"direct": ["note"]}, "require": ["known[2]>=3"], "allow": {"suppress": 0.2, "loss": 1}}
    policy.write_text(json.dumps(asked))
    (tmp_path / "no.txt").write_text(f"{PREFIX}who1x\n{PREFIX}who99x\n")
    out = tmp_path / "out"
    walk = [
        (0, "anonymize", table, "--policy", policy, "--out", out, "--exclude", tmp_path / "no.txt"),
        (0, "verify", out, "--exclude", tmp_path / "no.txt"),
        (0, "attack", out, "--with", table, "--json"),
        (1, "check", table, "--policy", policy),
        (0, "measure", table, "--unit", "who", "--time", "at", "--place", "where", "--report", tmp_path / "r.html"),
        (2, "anonymize", table, "--policy", policy, "--out", tmp_path / "b", "--to-table", "t"),
    ]
    for code, *words in walk:
        ended, said = run(capfd, *words)
        assert ended == code, said
        assert not leaks(said, cells), words[0]
    for path in (*out.iterdir(), tmp_path / "r.html"):
        text = path.read_text(encoding="utf-8")
        assert not leaks(text, cells), path.name
        if path.parent == out:
            assert "secret" not in text, path.name


def test_canaries_of_linked_tables(tmp_path, capfd):
    """Ids, names and rare values of two linked tables appear in no file; what is published as it is, only in its own."""
    people = [(f"{PREFIX}id{i}x", f"{PREFIX}name{i}x", "fm"[i % 2], 40 + i % 2) for i in range(30)]
    visits = [(p[0], f"hall{i % 2}", f"{PREFIX}ill{i}x") for i, p in enumerate(people)]
    visits.append((people[0][0], f"{PREFIX}hall0x", f"{PREFIX}ill99x"))
    for name, heads, rows in (("person", "id,name,sex,age", people), ("visits", "who,hall,ill", visits)):
        (tmp_path / f"{name}.csv").write_text("\n".join([heads, *(",".join(map(str, r)) for r in rows)]) + "\n")
    cells = [str(c) for r in (*people, *visits) for c in r if PREFIX in str(c)]
    asked = {
        "tables": {
            "person": {"table": "person.csv", "roles": {"direct": ["name"], "quasi": ["sex", "age"]}},
            "visits": {"table": "visits.csv", "roles": {"quasi": ["hall"], "sensitive": ["ill"]}, "identifying": ["ill"]},
        },
        "links": {"visits.who": "person.id"},
        "require": {"k": 3},
        "allow": {"suppress": 0.1, "loss": 1},
    }
    (tmp_path / "policy.yml").write_text(json.dumps(asked))
    out = tmp_path / "out"
    for words in (("anonymize", "--policy", tmp_path / "policy.yml", "--out", out), ("verify", out), ("attack", out)):
        code, said = run(capfd, *words)
        assert code == 0, said
        assert not leaks(said, cells)
    for path in out.iterdir():
        found = leaks(path.read_text(encoding="utf-8"), cells)
        assert [c for c in found if not ("ill" in c and path.name == "visits.csv")] == [], path.name
