"""Every surface of the product: each file, field, message and endpoint, and what of a table it carries.

A small table is walked through the commands. Its cells are canaries: some that only single people have (``kanarie…`` and long
numbers), some that many have (``gewoon…``); so are the names of its columns (``kolom…``) and of its file (``bestand…``).
What is printed or written is taken apart into fields, and each field is marked by what it carries. Of what is only printed,
fields that carry nothing of the table are left out of the list; of files and endpoints every field is on it.

Run ``python tests/surfaces.py`` to write the list anew (``tests/system/surfaces.txt``) after a surface was added on purpose.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import io
import json
import os
import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LIST = Path(__file__).parent / "system" / "surfaces.txt"
ROWS = 120
NUMBER = 7_000_000_000_007
RARE = re.compile(r"kanarie|700000000\d{4}")  # long: digests and keys are hex digits too, and hold any short number by chance
MARKS = (
    ("one person's values", RARE),
    ("common values", re.compile("gewoon(?:job|ill|free)")),
    ("column names", re.compile("kolom(?:name|job|age|ill|free|x)")),
    ("the file's name", re.compile("bestand")),
)
_ID = re.compile(r"^[A-Za-z]+-[A-Za-z0-9_-]{6,}$|^[0-9a-f]{12,}$|^[A-Za-z0-9+/_=-]{22,}$|^[A-Z0-9]{16,}$")


def canary_table(path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["kolomname", "kolomjob", "kolomage", "kolomill", "kolomfree"])
        for i in range(ROWS):
            job = f"kanariejob{i}x" if i < 4 else f"gewoonjob{i % 4}"
            ill = "kanarieillx" if i == 9 else f"gewoonill{i % 3}"
            writer.writerow([f"kanariename{i}x", job, NUMBER + 30 * i, ill, f"gewoonfree{i % 3}"])


class Surfaces:
    """What was seen: lines ``place | field | what it carries``, without the values themselves."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], set[str]] = {}

    def add(self, place: str, field: str, text: str) -> None:
        marks = {name for name, form in MARKS if form.search(text)}
        self.seen.setdefault((place, field), set()).update(marks)

    def json(self, place: str, value: Any, path: str = "") -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                self.add(place, f"{path}/{{key}}" if _free(key) else path or "/", key if _free(key) else "")
                self.json(place, inner, f"{path}/{_named(key)}")
        elif isinstance(value, list):
            for inner in value:
                self.json(place, inner, f"{path}[]")
        else:
            self.add(place, path or "/", str(value))

    def file(self, place: str, path: Path) -> None:
        self.add(place, "(name)", path.name)
        suffix = path.suffix
        if suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as source:
                rows = list(csv.reader(source, delimiter=";" if ";" in source.readline() else ","))
            self.add(place, "(cells)", path.read_text(encoding="utf-8"))
            self.add(place, f"({len(rows[0]) if rows else 0} columns)", "")
        elif suffix == ".json":
            self.json(place, json.loads(path.read_text(encoding="utf-8")))
        elif suffix in (".parquet", ".arrow"):
            self._arrow(place, path)
        elif suffix in (".db", ".vault"):
            self._sqlite(place, path)
        else:
            self.add(place, "(text)", path.read_bytes().decode("utf-8", "replace"))

    def _arrow(self, place: str, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(str(path)).read_all()
        for field in table.schema:
            self.add(place, "(cells)", str(table[field.name].to_pylist()))
            for key, value in (field.metadata or {}).items():
                self.add(place, f"(metadata of a column) {key.decode()}", value.decode("utf-8", "replace"))
        for key, value in (table.schema.metadata or {}).items():
            self.add(place, f"(metadata) {key.decode()}", value.decode("utf-8", "replace"))

    def _sqlite(self, place: str, path: Path) -> None:
        with contextlib.closing(sqlite3.connect(path)) as db:
            for (table,) in db.execute("select name from sqlite_master where type = 'table'").fetchall():
                found = db.execute(f'select * from "{table}"')
                for column in found.description or ():
                    self.add(place, f"{table}.{column[0]}", "")
                for row in found:
                    for column, cell in zip(found.description, row, strict=True):
                        text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
                        self.add(place, f"{table}.{column[0]}", text)

    def lines(self) -> list[str]:
        return sorted(
            f"{place} | {field} | {', '.join(name for name, _ in MARKS if name in marks) or 'nothing'}"
            for (place, field), marks in self.seen.items()
            if marks or not (place.endswith(": stdout") and field.startswith("/"))
        )


def _free(key: str) -> bool:
    """Whether a key of a JSON object is not a word of the product: a column, a number, an id, a value."""
    return bool(re.search(r"kolom|kanarie|gewoon|bestand", key) or re.fullmatch(r"-?\d+(\.\d+)?", key) or _ID.match(key))


def _named(key: str) -> str:
    return "{key}" if _free(key) else key


class Walk:
    """The commands, run one after another in one folder; after each, what it printed and wrote is taken apart."""

    def __init__(self, place: Path) -> None:
        self.place, self.surfaces = place, Surfaces()
        self.temporary = place / "temporary"
        self.temporary.mkdir()
        self.known: set[Path] = set()
        self.left: list[str] = []
        self.commands: set[str] = set()

    def run(self, label: str, *words: str, code: int | tuple[int, ...] = 0, also: bool = True) -> Any:
        """A command with ``--json``, and (``also``) as a person sees it; ``OUT`` in a word is different for the two."""
        answer = self._once(label, [*words, "--json"], code)
        if also:
            self._once(f"{label} (text)", [w.replace("OUT", "OUT2") for w in words], code)
        return answer

    def _once(self, label: str, words: list[str], code: int | tuple[int, ...]) -> Any:
        from shoal.cli import main

        self.commands |= {words[0], " ".join(words[:2]), " ".join(words[:3])}
        out, err = io.StringIO(), io.StringIO()
        ended: int = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(words)
            except SystemExit as end:
                ended = int(end.code or 0)
        allowed = code if isinstance(code, tuple) else (code,)
        assert ended in allowed, f"{label}: {ended}\n{out.getvalue()}\n{err.getvalue()}"
        answer = None
        if words[-1] == "--json":
            answer = json.loads(out.getvalue())
            self.surfaces.json(f"{label}: stdout", answer)
        else:
            self.surfaces.add(f"{label}: stdout", "(text)", out.getvalue())
        self.surfaces.add(f"{label}: stderr", "(text)", err.getvalue())
        self._files(label)
        return answer

    def _files(self, label: str) -> None:
        for path in sorted(self.place.rglob("*")):
            if not path.is_file() or path in self.known:
                continue
            if self.temporary in path.parents:
                self.left.append(f"{label}: {path.name}")
                continue
            self.known.add(path)
            name = re.sub(r"[0-9a-f]{8,}", "{id}", str(path.relative_to(self.place)).replace("OUT2", "OUT"))
            self.surfaces.file(f"{label.removesuffix(' (text)')}: {name}", path)


def commands() -> set[str]:
    """Every command that a person can type, by its words."""
    import typer

    from shoal.cli import build

    def below(command: Any, words: str) -> set[str]:
        inner = getattr(command, "commands", None)
        if not inner:
            return {words}
        return {one for name, sub in inner.items() for one in below(sub, f"{words} {name}".strip())}

    return below(typer.main.get_command(build()), "")


def walk(place: Path) -> Walk:
    """The whole product once, on canaries; ``place`` is an empty folder and the working folder."""
    it = Walk(place)
    table = "bestand.csv"
    canary_table(place / table)
    it.known.add(place / table)
    _statistics(it, table)
    _releases(it, table)
    _registry(it)
    _vault(it, table)
    _refusals(it, table)
    _endpoints(it)
    return it


ROLES = {
    "direct": ["kolomname"],
    "quasi": {"kolomjob": {}, "kolomage": {}},
    "sensitive": ["kolomill"],
    "insensitive": ["kolomfree"],
}


def _write(it: Walk, name: str, text: str) -> str:
    (it.place / name).write_text(text, encoding="utf-8")
    it.known.add(it.place / name)
    return name


def _statistics(it: Walk, table: str) -> None:
    it.run("inspect", "inspect", table)
    it.run(
        "measure", "measure", table, "--quasi", "kolomjob,kolomage", "--sensitive", "kolomill", "--suda", "--report", "OUT-m.html"
    )
    it.run("measure by", "measure", table, "--quasi", "kolomjob", "--by", "kolomfree", "--population", "5000", also=False)
    study = ["study", table, "--sets", _write(it, "sets.txt", "kolomjob,kolomage\n"), "--by", "kolomfree"]
    it.run("study", *study, "--quasi", "kolomjob,kolomage", "--up-to", "2", "--report", "OUT-study.html")
    sample = ["predict", "population", "--table", table, "--quasi", "kolomjob,kolomill", "--population", "5000"]
    it.run("predict population", *sample, "--household", "kolomfree", "--records", "OUT-records.csv", "--plot", "OUT-p.svg")
    pilot = ["design", "--pilot", table, "--quasi", "kolomjob,kolomill", "--population", "5000", "--respondents", "300"]
    it.run("design --pilot", *pilot, "--letter")
    it.run("hierarchy", "hierarchy", table, "--column", "kolomjob", "--out", "OUT-job.csv")
    it.run("hierarchy --public", "hierarchy", table, "--column", "kolomjob", "--out", "OUT-public.csv", "--public", also=False)
    it.run("table", "table", table, "--rows", "kolomjob", "--threshold", "5", "--out", "OUT-table.csv")
    meant = "kolomname=family,kolomjob=text,kolomage=number"
    it.run("link", "link", table, "--fields", meant, "--out", "OUT-pairs.csv", "--save-model", "OUT-model.json")
    key = _write(it, "link.key", base64.b64encode(bytes((7 * i * i + 3 * i) % 256 for i in range(32))).decode() + "\n")
    (it.place / key).chmod(0o600)
    fields = "kolomname=family,kolomjob=text"
    coded = ["encode", table, "--id", "kolomage", "--fields", fields, "--salt", "kolomjob", "--key-file", key]
    it.run("encode", *coded, "--out", "OUT-people.clk")
    it.run("link encodings", "link", "OUT-people.clk", "--out", "OUT-same.csv", "--people", "OUT-who.csv", also=False)
    questions = "population: 5000\nrespondents: 120\nquestions:\n  age: {range: [18, 97], band: 5}\n  sex: {shares: [0.5, 0.5]}\n"
    it.run("design", "design", _write(it, "questions.yml", questions))
    plan = "steps:\n  - {column: kolomname, drop: {}}\n  - {column: kolomage, drop: {}}\n"
    it.run(
        "transform",
        "transform",
        table,
        "--plan",
        _write(it, "steps.yml", plan),
        "--out",
        "OUT-t.csv",
        "--save-plan",
        "OUT-p.json",
    )


def _releases(it: Walk, table: str) -> None:
    it.run("anonymize --draft", "anonymize", table, "--draft", "OUT-draft.yml")
    asked = {
        "roles": ROLES,
        "require": {"k": 5},
        "allow": {"suppress": 0.3, "loss": 1},
        "title": "Canaries",
        "date": "2026-11-15",
    }
    policy = _write(it, "policy.yml", json.dumps(asked))
    for form in ("csv", "parquet"):
        it.run(f"anonymize {form}", "anonymize", table, "--policy", policy, "--out", f"OUT-{form}", "--format", form)
    for form in ("text", "json", "junit", "sarif", "md"):
        it._once(f"check {form}: (text)", ["check", table, "--policy", policy, "--format", form], 1)
    it.run("verify", "verify", "OUT-csv")
    it.run("attack", "attack", "OUT-csv", "--with", table, code=(0, 1))
    it.run("attack numbers", "attack", table, "--original", table, "--key", "kolomname", "--numbers", "kolomage", code=(1, 3))
    it.run("compare", "compare", table, "OUT-csv", "--no-models", "--report", "OUT-compare.html")
    harbor = {
        **asked,
        "preset": "hipaa-safe-harbor",
        "roles": {**ROLES, "quasi": ["kolomjob"], "direct": ["kolomname", "kolomage"]},
    }
    reasons = {"kolomfree": "answers that many people give", "kolomill": "names of illnesses", "kolomjob": "names of jobs"}
    harbor["allow"] = {"suppress": 0.3, "loss": 1, "none_of_the_eighteen": reasons}
    it.run(
        "anonymize safe harbor", "anonymize", table, "--policy", _write(it, "harbor.yml", json.dumps(harbor)), "--out", "OUT-h"
    )


def _registry(it: Walk) -> None:
    rows = "\n".join(f"{age},{sex}" for age in range(20, 80) for sex in "FM" for _ in range(12))
    people = _write(it, "people.csv", f"age,sex\n{rows}\n")
    publish = ["registry", "publish", people, "--qi", "age=age/years", "--population", "NL/Test@2026"]
    it.run("registry publish", *publish, "--registry", "r.db", "--out", "record.json", "--holder", "Office", also=False)
    ask = ["--attributes", "age/years", "--population", "NL/Test@2026", "--registry", "r.db"]
    it.run("registry query", "registry", "query", *ask)
    it.run("registry analyse", "registry", "analyse", *ask, "--group", "50")
    it.run("registry decide", "registry", "decide", *ask, "--group", "50")
    said = ["--attributes", "age/years,sex", "--population", "NL/Test@2026", "--title", "People", "--holder", "Office"]
    it.run("registry catalogue holds", "registry", "catalogue", "holds", *said, "--registry", "r.db", also=False)
    it.run("registry catalogue list", "registry", "catalogue", "list", "--registry", "r.db")
    it.run("registry catalogue matches", "registry", "catalogue", "matches", "--registry", "r.db")
    it.run("registry mirror", "registry", "mirror", "copy", "--registry", "r.db", also=False)


def _vault(it: Walk, table: str) -> None:
    (it.place / "safe").mkdir()
    os.environ["SHOAL_VAULT_KEY_FILE"] = str(it.place / "safe" / "vault.key")
    at = ["--vault", "study.vault"]
    it.run("vault key", "vault", "key", "--out", "safe/vault.key", also=False)
    people = ["--owner", "Otto", "--auditor", "Udo", "--secrets", "hands", "--domain", "study"]
    it.run("vault init", "vault", "init", *at, *people, also=False)

    def enrol(who: str, *codes: str) -> None:
        halves = [f"--code-file=hands/{code}" for code in codes]
        it.run("vault enrol", "vault", "enrol", *halves, "--token-out", f"hands/{who}.token", *at, also=False)

    def by(who: str) -> list[str]:
        return [*at, "--token-file", f"hands/{who}.token"]

    enrol("auditor", "auditor.code")
    for name, role in (("Olga", "operator"), ("Rita", "requester"), ("Aldo", "approver")):
        add = ["vault", "actor", "add", name, "--role", role, "--code-out", f"hands/{name}.one"]
        change = it.run("vault actor add", *add, *by("owner"), also=False)["change"]
        it.run("vault confirm", "vault", "confirm", change, "--code-out", f"hands/{name}.two", *by("auditor"), also=False)
        enrol(name, f"{name}.one", f"{name}.two")
    words = ["vault", "pseudonymize", table, "--domain", "study", "--id", "kolomname", "-o", "OUT-pseudonyms.csv"]
    it.run("vault pseudonymize", *words, *by("Olga"))
    with (it.place / "OUT-pseudonyms.csv").open() as out:
        first = next(csv.DictReader(out))["kolomname"]
    request = ["vault", "request", first, "--domain", "study", "--reason", "adverse event", "--case", "12"]
    asked = it.run("vault request", *request, *by("Rita"), also=False)
    it.run("vault approve", "vault", "approve", asked["id"], *by("Aldo"), also=False)
    it.run("vault reveal", "vault", "reveal", asked["id"], "-o", "who.json", *by("Rita"), also=False)
    it.run("vault audit", "vault", "audit", "--last", "50", *by("auditor"))
    it.run("vault verify", "vault", "verify", *by("auditor"), code=(0, 1))


def _refusals(it: Walk, table: str) -> None:
    """Errors: each as JSON and as a person sees it."""
    asked = {"roles": ROLES, "require": {"k": 119}, "allow": {"suppress": 0.0}}
    infeasible = {**asked, "require": {"k": 5, "diversity": {"kolomill": {"distinct": 50}}}}
    (it.place / "gap.csv").write_text("one;*\ntwo;*\n")
    gap = {**asked, "roles": {**ROLES, "quasi": {"kolomjob": {"hierarchy": "gap.csv"}, "kolomage": {}}}}
    direct = {
        **asked,
        "roles": {"quasi": ["kolomjob"], "sensitive": ["kolomill"], "insensitive": ["kolomfree", "kolomname", "kolomage"]},
    }
    for name, policy in (("infeasible", infeasible), ("gap", gap), ("identifying", direct)):
        file = _write(it, f"{name}.yml", json.dumps(policy))
        it.run(f"refused: {name}", "anonymize", table, "--policy", file, "--out", "OUT-no", code=(1, 2, 3))
    lines = (it.place / table).read_text().splitlines()
    ragged = _write(it, "bestandragged.csv", "\n".join([*lines[:60], "kanarieragged,1", *lines[60:]]) + "\n")
    it.run("refused: ragged", "measure", ragged, "--quasi", "kolomjob", code=(0, 2, 3))
    it.run("refused: no such column", "measure", table, "--quasi", "kolomage,kolomx", code=(2, 3))
    it.run("refused: a changed release", "verify", _changed(it), code=1)
    it.run("refused: no release", "attack", "safe", code=(1, 2, 3))


def _changed(it: Walk) -> str:
    import shutil

    shutil.copytree(it.place / "OUT-csv", it.place / "changed")
    file = it.place / "changed" / "data.csv"
    file.write_text(file.read_text().replace("gewoonill1", "kanarieillx", 1))
    it.known |= set((it.place / "changed").rglob("*"))
    return "changed"


def _endpoints(it: Walk) -> None:
    """Paths of the services, with what each takes and gives back."""
    from shoal.protector import Vault, keys
    from shoal.registry.keep.store import Store
    from shoal.server.app import create_app

    vault = Vault.open("study.vault", key=keys.from_file("safe/vault.key"))
    store = Store(f"sqlite:///{it.place / 'r.db'}")
    try:
        described = create_app(store, vault).openapi()
    finally:
        store.close()
        vault.close()
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            it.surfaces.add(f"endpoint: {method.upper()} {path}", "(path)", "")
            for taken in one.get("parameters", ()):
                it.surfaces.add(f"endpoint: {method.upper()} {path}", f"(takes) {taken['name']}", "")


@contextlib.contextmanager
def watched(place: Path) -> Iterator[Walk]:
    """The walk in ``place``: temporary files go to a folder of their own, and no socket may be opened."""
    import socket

    before, folder = dict(os.environ), Path.cwd()
    real = socket.socket.connect

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a socket was opened")

    try:
        os.chdir(place)
        for name in [n for n in os.environ if n.startswith("SHOAL_")]:
            del os.environ[name]
        os.environ.update(TMPDIR=str(place / "temporary"), NO_COLOR="1", COLUMNS="200", XDG_STATE_HOME=str(place / "state"))
        tempfile.tempdir = None
        socket.socket.connect = refuse  # type: ignore[method-assign]
        yield walk(place)
    finally:
        socket.socket.connect = real  # type: ignore[method-assign]
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)
        tempfile.tempdir = None


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as somewhere, watched(Path(somewhere)) as done:
        found = done.surfaces.lines()
    LIST.write_text("\n".join(found) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(found)} surfaces\n")
