"""Logs of other systems, from standard input to standard output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from protector_support import House
from shoal.errors import AccessError, DataError, UsageError
from shoal.protector import Limit
from shoal.protector.pseudonyms import filtering
from shoal.protector.pseudonyms.filtering import LogFilter

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def logged(sqlite_house: House) -> House:
    sqlite_house.owner.create_domain("log")
    return sqlite_house


def test_fields_of_json_lines(logged: House) -> None:
    lines = [
        {"user": "anna", "n": 1, "src": {"ip": "10.0.0.1"}, "text": "anna"},
        {"user": None, "src": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
        {"user": 12, "other": "é"},
        {},
    ]
    out = list(LogFilter(logged.operator, "log", fields=["user", "src.ip"]).run(json.dumps(line) + "\n" for line in lines))
    found = [json.loads(line) for line in out]
    anna, first, second, twelve = logged.operator.pseudonymize("log", ["anna", "10.0.0.1", "10.0.0.2", "12"])
    assert found == [
        {"user": anna, "n": 1, "src": {"ip": first}, "text": "anna"},
        {"user": None, "src": [{"ip": first}, {"ip": second}]},
        {"user": twelve, "other": "é"},
        {},
    ]


def test_patterns_in_text(logged: House) -> None:
    lines = ["user=anna did x; user=bob", "nothing here", "user=", "user=anna"]
    out = list(LogFilter(logged.operator, "log", pattern=r"user=(\w*)").run(lines))
    anna, bob = logged.operator.pseudonymize("log", ["anna", "bob"])
    assert out == [f"user={anna} did x; user={bob}", "nothing here", "user=", f"user={anna}"]
    whole = list(LogFilter(logged.operator, "log", pattern=r"\b\d{4}\b").run(["id 0012 end 12345"]))
    assert whole == [f"id {logged.operator.pseudonymize('log', ['0012'])[0]} end 12345"]


@pytest.mark.parametrize("bad", ["not json", "[1]", '"text"', '{"user": {"id": 1}}', '{"user": ["a"]}', '{"user": true}', ""])
def test_nothing_of_a_part_passes_when_a_line_does_not_fit(logged: House, monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setattr(filtering, "PART", 3)
    good = '{"user":"anna"}'
    out = []
    with pytest.raises(DataError, match="nothing more is passed on"):
        out.extend(LogFilter(logged.operator, "log", fields=["user"]).run([good] * 3 + [good, bad, good]))
    for line in LogFilter(logged.operator, "log", fields=["user"]).run([good] * 3):
        assert "anna" not in line


def test_a_refusal_of_the_vault_passes_nothing(logged: House) -> None:
    logged.set_limit("pseudonymize", Limit(3600.0, 1, None))
    lines = ['{"user":"anna"}', '{"user":"bob"}']
    seen: list[str] = []
    with pytest.raises(AccessError):
        seen.extend(LogFilter(logged.operator, "log", fields=["user"]).run(lines))
    assert seen == []


def test_what_makes_no_filter(logged: House) -> None:
    for given in ({}, {"fields": ["a"], "pattern": "b"}, {"pattern": "("}, {"pattern": "(a)(b)"}):
        with pytest.raises(UsageError):
            LogFilter(logged.operator, "log", **given)  # type: ignore[arg-type]


def test_lines_as_they_arrive() -> None:
    """Blocks cut anywhere, also inside a letter: the same lines."""
    text = "första\r\nandra\n\nsist\nrest".encode()
    for size in range(1, len(text) + 1):
        blocks = iter([*(text[i : i + size] for i in range(0, len(text), size)), b""])
        found = [line for part in filtering.arriving(lambda _, it=blocks: next(it)) for line in part]  # type: ignore[misc]
        assert found == ["första", "andra", "", "sist", "rest"]
    with pytest.raises(DataError, match="UTF-8"):
        list(filtering.arriving(lambda _: b"\xff\n"))


def test_the_command(logged: House, tmp_path: Path) -> None:
    """A real pipe: good lines come out, a broken byte ends it with an error and without the line."""
    from shoal.protector import care, keys

    key = keys.generate()
    os.environ["SHOAL_TEST_FILTER_KEY"] = key
    logged.catch_up()
    logged.agree(care.rotate_master, keys.from_env("SHOAL_TEST_FILTER_KEY", forget=True))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "SHOAL_VAULT_KEY": key, "SHOAL_VAULT_TOKEN": logged.tokens["Olga"]}
    words = ["filter", "--vault", logged.place, "--anchor", str(logged.folder / "anchor"), "--domain", "log", "--field", "user"]
    for name in ("SHOAL_VAULT_KEY_FILE", "SHOAL_VAULT_TOKEN_FILE"):
        env.pop(name, None)

    def piped(text: bytes) -> subprocess.CompletedProcess[bytes]:
        line = [sys.executable, "-m", "shoal.cli", "vault", *words]
        return subprocess.run(line, input=text, env=env, capture_output=True, check=False)

    good = piped(b'{"user":"anna","n":1}\n{"user":"anna","n":2}\n')
    assert good.returncode == 0, good.stderr
    found = [json.loads(line) for line in good.stdout.splitlines()]
    assert found[0]["user"] == found[1]["user"] != "anna"
    bad = piped(b'{"user":"anna"}\n\xff\xfe{"user":"bob"}\n')
    assert bad.returncode == 3
    assert b"anna" not in bad.stdout + bad.stderr
    assert b"bob" not in bad.stdout + bad.stderr


TRICKY = [
    '{"user":"anna"}',
    ' { "user" : "anna" , "n": 1.50, "big": 12345678901234567890 }',
    '{"user":12,"id":0}',
    '{"user":1.50}',
    '{"user":-0}',
    '{"user":"an\\u006ea"}',
    '{"us\\u0065r":"anna"}',
    '{"user":"anna","user":"bob"}',
    '{"meta":{"user":"carl"},"user":"anna"}',
    '{"text":"\\"user\\": \\"dora\\"","user":"anna"}',
    '{"x\\"user":"dora","user":"anna"}',
    '{"user":null,"src":{"user":"anna"}}',
    '{"src":[{"user":"anna"},{"user":"bob"}]}',
    '{"src":[[{"user":"anna"}]],"user":""}',
    '{"text":"é: user","user":"é"}',
    '{"user":"user","x":"user"}',
    "{}",
]


def test_against_the_slow_definition(logged: House) -> None:
    """Whatever way a line is handled: the object with its identities swapped, and no identity is left in its fields."""
    logged.owner.create_domain("raw", clean=())
    fields = [("user",), ("src", "user")]

    def swapped(body: object, path: tuple[str, ...]) -> object:
        if isinstance(body, list):
            return [swapped(item, path) for item in body]
        if not isinstance(body, dict) or path[0] not in body:
            return body
        value = body[path[0]]
        if len(path) == 1:
            new = None if value is None else logged.operator.pseudonymize("raw", [str(value)])[0]
        else:
            new = swapped(value, path[1:])
        return {**body, path[0]: new}

    found = list(LogFilter(logged.operator, "raw", fields=["user", "src.user"]).run(TRICKY))
    for line, out in zip(TRICKY, found, strict=True):
        expected: object = json.loads(line)
        for path in fields:
            expected = swapped(expected, path)
        assert json.loads(out) == expected, line
    assert found[1].endswith(', "n": 1.50, "big": 12345678901234567890 }')  # the rest of the line stays as it was


def test_every_record_its_own_pseudonym_where_the_domain_says_so(logged: House) -> None:
    logged.owner.create_domain("each", scope="transaction")
    logged.owner.create_domain("twice", renewal={"uses": 2})
    for given, lines in (({"fields": ["u"]}, ['{"u":"anna"}'] * 4), ({"pattern": r"^\w+"}, ["anna"] * 4)):
        each = list(LogFilter(logged.operator, "each", **given).run(lines))  # type: ignore[arg-type]
        assert len(set(each)) == 4
        twice = list(LogFilter(logged.operator, "twice", **given).run(lines))  # type: ignore[arg-type]
        assert len(set(twice)) == 2
        assert "anna" not in "".join(each + twice)


def test_what_is_known_is_asked_for_again(logged: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.protector import care

    now = [100.0]
    monkeypatch.setattr(filtering.time, "monotonic", lambda: now[0])
    lines = LogFilter(logged.operator, "log", fields=["u"])
    before = lines.part(['{"u":"anna"}', '{"u":"bob"}'])
    logged.agree(care.merge, "log", "bob", "anna")
    now[0] += filtering.KEPT_SECONDS - 1
    assert lines.part(['{"u":"bob"}']) == before[1:]
    now[0] += 1
    assert lines.part(['{"u":"bob"}']) == before[:1]


def test_what_is_no_text_is_not_passed_on(logged: House) -> None:
    lines = LogFilter(logged.operator, "log", fields=["u"]).part(['{"u":"a","x":"\\ud800"}'])
    with pytest.raises(DataError, match="nothing more is passed on"):
        filtering.encoded(lines)
    with pytest.raises(DataError, match="nothing more is passed on"):
        LogFilter(logged.operator, "log", fields=["u"]).part(['{"u":' + "[" * 100_000])
