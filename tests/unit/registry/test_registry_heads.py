"""Signed heads of mirrors: records left out, copies put back, histories rewritten, and what stays unknown."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from registry_support import AGES, UTRECHT, make
from shoal.cli import main
from shoal.errors import DataError, OutputError, TamperError, UnreadableError
from shoal.kernels.signatures import Signer, canonical, signer
from shoal.registry.answer.query import Registry
from shoal.registry.keep import heads
from shoal.registry.keep.heads import FILES, NAME, Head
from shoal.registry.keep.mirror import Mirror, write_mirror
from shoal.registry.keep.remote import Remote
from shoal.registry.keep.store import Store
from shoal.registry.records.population import Population
from shoal.registry.records.trust import Statement
from shoal.server.registry.api import create_router

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

STEEP = [9 * i + 1 for i in range(95)]
OPERATOR = signer()


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def copy(store: Store, tmp_path: Path) -> Path:
    store.submit(make(AGES))
    store.submit(make(STEEP, holder="B"))
    return write_mirror(store, tmp_path / "copy", signer=OPERATOR)


def ask(folder: Path) -> Any:
    return Registry(folder).query(["age/years"], str(UTRECHT))


def grown(store: Store, folder: Path) -> Path:
    store.submit(make(AGES, population=Population.parse("BE@2021")))
    return write_mirror(store, folder, signer=OPERATOR)


def test_a_copy_that_goes_on_is_taken(store: Store, copy: Path, tmp_path: Path) -> None:
    first = Registry(copy)
    assert OPERATOR.fingerprint in first.source.notes[0], "the first time there is nothing to compare with"
    assert Registry(copy).source.notes == []
    assert len(ask(copy).records) == 2
    new = grown(store, tmp_path / "new")
    assert Registry(new).source.notes == []
    assert Mirror(new).verify(earlier=copy / NAME) == Mirror(new).verify(earlier=copy)
    shutil.rmtree(copy)
    shutil.move(new, copy)
    assert len(ask(copy).records) == 2


def _read_all(folder: Path) -> None:
    asked = Registry(folder)
    asked.source.statements()
    assert asked.source.notices


@pytest.mark.parametrize("file", FILES)
def test_what_was_left_out_is_seen(store: Store, copy: Path, file: str) -> None:
    """Every file that answers are read from: without the record, the statement or the notice that somebody dislikes."""
    key = make(AGES).key
    store.state(Statement("endorse", key, OPERATOR.public, "2025-01-15", 1).signed(OPERATOR))
    shutil.rmtree(copy)
    write_mirror(store, copy, signer=OPERATOR)
    body = json.loads((copy / file).read_text())
    if file == "index.json":
        body["topics"] = {topic: ids[:1] for topic, ids in body["topics"].items()}
    elif file == "statements.json":
        body = []
    else:
        body["current"] = ["0" * 64]
    (copy / file).write_bytes(canonical(body) + b"\n")
    with pytest.raises(TamperError, match=f"'{file}' of the mirror is not the one that was signed"):
        _read_all(copy)


def test_an_older_copy_put_back_is_seen(store: Store, copy: Path, tmp_path: Path) -> None:
    ask(copy)
    shutil.copytree(copy, tmp_path / "kept")
    shutil.rmtree(copy)
    ask(grown(store, copy))
    shutil.rmtree(copy)
    shutil.move(tmp_path / "kept", copy)
    with pytest.raises(TamperError, match="put back: it has 2 log lines, 3 were seen"):
        ask(copy)
    elsewhere = shutil.copytree(copy, tmp_path / "archive")
    assert "An older copy" in Registry(elsewhere).source.notes[0], "an archive may be asked, and is named as one"


def test_a_copy_that_lost_its_head_is_seen(copy: Path) -> None:
    ask(copy)
    (copy / NAME).unlink()
    with pytest.raises(TamperError, match="lost its signed head"):
        ask(copy)


def test_a_copy_without_a_head_says_so(store: Store, copy: Path, tmp_path: Path) -> None:
    plain = write_mirror(store, tmp_path / "plain")
    assert "cannot see whether records were left out" in Registry(plain).source.notes[0]


def test_another_key_is_seen(store: Store, copy: Path) -> None:
    ask(copy)
    shutil.rmtree(copy)
    write_mirror(store, copy, signer=signer())
    with pytest.raises(TamperError, match="another key than before"):
        ask(copy)


def test_a_signer_who_rewrites_history_is_seen(copy: Path, tmp_path: Path) -> None:
    """The operator signs a longer log without a record: every signature fits, the tree does not."""
    ask(copy)
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    for place in ("NL/Utrecht@2021", "BE@2021", "DE@2021"):
        other.submit(make(AGES, population=Population.parse(place)))
    with pytest.raises(TamperError, match="rewritten or cut"):
        ask(write_mirror(other, tmp_path / "second", signer=OPERATOR))
    short = Store(f"sqlite:///{tmp_path / 'short.db'}")
    for place in ("BE@2021", "DE@2021"):  # as long as the first one
        short.submit(make(AGES, population=Population.parse(place)))
    with pytest.raises(TamperError, match="rewritten or cut"):
        Registry(write_mirror(short, tmp_path / "third", signer=OPERATOR))
    other.close()
    short.close()


def test_a_shorter_copy_must_fit_the_shorter_heads_seen(copy: Path, store: Store, tmp_path: Path) -> None:
    """The longest log seen is elsewhere: a copy of another history is still compared with the heads that are not longer."""

    def of(name: str, *places: str) -> Path:
        with closing(Store(f"sqlite:///{tmp_path / name}.db")) as other:
            for place in places:
                other.submit(make(AGES, population=Population.parse(place)))
            return write_mirror(other, tmp_path / name, signer=OPERATOR)

    ask(copy)
    store.submit(make(AGES, population=Population.parse("FR@2021")))
    Registry(grown(store, tmp_path / "four lines"))
    with pytest.raises(TamperError, match="rewritten or cut"):
        Registry(of("three other lines", "BE@2021", "DE@2021", "ES@2021"))
    lie = of("two other lines", "BE@2021", "DE@2021")
    with pytest.raises(TamperError, match="rewritten or cut"):
        Registry(lie)
    shutil.rmtree(copy)
    shutil.move(lie, copy)
    with pytest.raises(TamperError, match="rewritten or cut"):
        Registry(copy)
    assert "does not know" in Registry(of("one other line", "BE@2021")).source.notes[0]


def _signed(folder: Path, **changes: Any) -> None:
    """The head of a copy with other content, signed again."""
    head = Head.read(folder / NAME)
    content = {**head.content(), **changes}
    (folder / NAME).write_bytes(canonical({**content, "signature": OPERATOR.sign(content)}))


def test_a_head_over_another_log_is_seen(copy: Path) -> None:
    _signed(copy, root="00" * 32)
    with pytest.raises(TamperError, match="not the one that was signed"):
        ask(copy)
    with pytest.raises(TamperError, match="not the one that was signed"):
        Mirror(copy).verify()


def test_two_heads_of_one_log_are_seen(copy: Path, tmp_path: Path) -> None:
    """The signer leaves a record out of a second copy of the same log."""
    ask(copy)
    lie = shutil.copytree(copy, tmp_path / "lie")
    index = json.loads((lie / "index.json").read_text())
    index["topics"] = {topic: ids[:1] for topic, ids in index["topics"].items()}
    (lie / "index.json").write_bytes(canonical(index) + b"\n")
    from shoal.kernels.signatures import sha256_file

    _signed(lie, files={name: sha256_file(lie / name) for name in FILES})
    with pytest.raises(TamperError, match="signed with other records before"):
        ask(lie)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format":"shoal-tree-head/1"}', '{"a":1,"a":2}', "[" * 9000, "x" * 20_000, "\ud800"]
)
def test_files_that_are_no_head(copy: Path, text: str) -> None:
    (copy / NAME).write_text(text, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(UnreadableError, match="not the signed head"):
        ask(copy)


@pytest.mark.parametrize("changes", [{"size": -1}, {"size": True}, {"files": {}}, {"files": {"x": "y"}}, {"more": 1}])
def test_heads_of_another_form(copy: Path, changes: dict[str, Any]) -> None:
    _signed(copy, **changes)
    with pytest.raises(UnreadableError, match="not the signed head"):
        ask(copy)


@pytest.mark.parametrize("text", ["{", "[]", '{"a": {}}', '{"a": 1}'])
def test_a_list_of_seen_heads_that_was_altered(copy: Path, tmp_path: Path, text: str) -> None:
    ask(copy)
    (tmp_path / "state" / "shoal" / "registry-heads.json").write_text(text)
    with pytest.raises(UnreadableError, match="heads seen before"):
        ask(copy)


def test_a_folder_that_cannot_be_written_is_reported(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert "cannot be remembered" in Registry(copy).source.notes[-1]


def test_a_user_without_a_home_is_told(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", _no_home)
    assert "not compared" in Registry(copy).source.notes[0]


def _no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store(f"sqlite:///{tmp_path / 'registry.db'}")
    store.submit(make(AGES))
    store.close()

    def run(*words: str) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["registry", *words])
        return ended.value.code, *capsys.readouterr()

    question = ("query", "--registry", "copy", "--attributes", "age/years", "--population", str(UTRECHT))
    assert run("mirror", "copy", "--registry", "registry.db")[0] == 0
    code, out, err = run(*question)
    assert (code, "First copy seen of the signer" in err, "exact" in out) == (0, True, True)
    assert "First copy" not in run(*question)[2]
    assert run("verify", "copy", "--earlier", os.path.join("copy", NAME))[0] == 0
    (tmp_path / "copy" / "statements.json").write_text("[ ]\n")
    assert run("verify", "copy")[0] != 0


class Served:
    """A registry that a service offers with its own key, as the client sees it; ``tampered`` changes its answers."""

    def __init__(self, store: Store, own: Signer | None = OPERATOR) -> None:
        app = FastAPI()
        app.include_router(create_router(store, signer=own))
        self.client = TestClient(app)

    def remote(self, monkeypatch: pytest.MonkeyPatch, **tampered: Any) -> Remote:
        def call(self_: Remote, path: str, body: Any = None, **asked: Any) -> Any:
            found = self.client.get(f"/registry/v1{path}", params=asked)
            assert found.status_code == 200, found.text
            return {**found.json(), **(tampered if path == "/" else {})}

        monkeypatch.setattr(Remote, "call", call)
        return Remote("http://127.0.0.1:1")


def filled(path: Path, *counts: list[int]) -> Store:
    made = Store(f"sqlite:///{path}")
    for number, ages in enumerate(counts):
        made.submit(make(ages, holder=f"Holder {number}", key=KEYS[number]))
    return made


KEYS = [signer() for _ in range(4)]


def test_a_service_whose_log_goes_on_is_mirrored_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path / "a.db", AGES)
    write_mirror(Served(store).remote(monkeypatch), tmp_path / "one")
    for number in (1, 2, 3):
        store.submit(make(STEEP, holder=f"Holder {number}", key=KEYS[number]))
        assert write_mirror(Served(store).remote(monkeypatch), tmp_path / f"more {number}").is_dir()
    head = Served(store).remote(monkeypatch).signed_head()
    assert head is not None
    assert (head.size, head.key) == (4, OPERATOR.public)
    assert Served(store).remote(monkeypatch).query(["age/years"], str(UTRECHT)).records


@pytest.mark.parametrize("others", [[AGES, AGES], [STEEP], [STEEP, AGES], [STEEP, STEEP, AGES]])
def test_a_service_that_drops_or_rewrites_a_record_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: list[list[int]]
) -> None:
    """The same key signs a log of other, fewer, exchanged or more lines: each is consistent in itself."""
    Served(filled(tmp_path / "a.db", AGES, STEEP)).remote(monkeypatch).signed_head()
    liar = Served(filled(tmp_path / "b.db", *others)).remote(monkeypatch)
    with pytest.raises(TamperError, match="history was rewritten or cut"):
        write_mirror(liar, tmp_path / "copy")
    with pytest.raises(TamperError, match="history was rewritten or cut"):
        liar.query(["age/years"], str(UTRECHT))
    assert not (tmp_path / "copy").exists()


def test_a_service_that_signs_another_log_than_it_serves_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Served(filled(tmp_path / "b.db", STEEP, AGES)).client.get("/registry/v1/").json()
    liar = Served(filled(tmp_path / "a.db", AGES, STEEP)).remote(monkeypatch, signed=other["signed"])
    with pytest.raises(TamperError, match="not the one that was signed"):
        write_mirror(liar, tmp_path / "copy")


def test_a_service_cannot_lose_its_head_or_change_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path / "a.db", AGES)
    assert Served(store, None).remote(monkeypatch).signed_head() is None, "a service without a key signs nothing"
    assert Served(store).remote(monkeypatch).signed_head()
    with pytest.raises(TamperError, match="no longer"):
        Served(store, None).remote(monkeypatch).signed_head()
    with pytest.raises(TamperError, match="another key"):
        Served(store, signer()).remote(monkeypatch).signed_head()


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("size", -1),
        ("size", True),
        ("root", "0" * 63),
        ("root", "0" * 64),
        ("files", {"x": "y"}),
        ("signature", ""),
        ("format", "x"),
    ],
)
def test_a_head_that_was_not_signed_so_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, value: object
) -> None:
    served = Served(filled(tmp_path / "a.db", AGES))
    signed = served.client.get("/registry/v1/").json()["signed"] | {part: value}
    with pytest.raises((TamperError, DataError)):
        served.remote(monkeypatch, signed=signed).signed_head()


@pytest.mark.parametrize("proof", [None, [], ["00" * 32], ["no hex"], [1], "ab"])
def test_a_proof_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proof: object) -> None:
    store = filled(tmp_path / "a.db", AGES)
    Served(store).remote(monkeypatch).signed_head()
    store.submit(make(STEEP, holder="B", key=KEYS[1]))
    with pytest.raises((TamperError, DataError)):
        Served(store).remote(monkeypatch, consistency=proof).signed_head()


def test_nothing_is_remembered_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise OutputError("no home")

    monkeypatch.setattr(heads, "state_folder", homeless)
    assert Served(filled(tmp_path / "a.db", AGES)).remote(monkeypatch).signed_head() is None


def test_the_service_signs_with_the_key_of_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.registry.publish.proposals import make_key
    from shoal.server.app import create_app

    store = filled(tmp_path / "a.db", AGES)
    assert "signed" not in TestClient(create_app(store), base_url="http://localhost").get("/registry/v1/").json()
    make_key(tmp_path / "key")
    monkeypatch.setenv("SHOAL_SIGNING_KEY_FILE", str(tmp_path / "key"))
    found = TestClient(create_app(store), base_url="http://localhost").get("/registry/v1/").json()
    assert found["signed"]["key"] == signer(tmp_path / "key").public
    assert found["signed"]["size"] == found["line"] == 1


def test_service_and_copy_may_be_signed_by_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path / "a.db", AGES, STEEP)
    copy = write_mirror(Served(store).remote(monkeypatch), tmp_path / "copy", signer=OPERATOR)
    assert Registry(copy).source.notes == [], "the service has shown the head of this log before"
    again = write_mirror(Served(store).remote(monkeypatch), tmp_path / "again", signer=OPERATOR)
    assert Registry(again).source.notes == []
    other = write_mirror(filled(tmp_path / "b.db", STEEP, AGES), tmp_path / "other", signer=OPERATOR)
    with pytest.raises(TamperError, match="history was rewritten or cut"):
        Registry(other)


# --- heads and trees by themselves --------------------------------------------------------------------------------------------


class Log:
    """A copy of the first lines of a log, signed over its first ``signed`` lines."""

    def __init__(
        self, folder: Path, lines: list[Any], signed: int | None = None, files: str = "a", by: Signer = OPERATOR
    ) -> None:
        self.folder, self._lines = folder, lines
        tree = self.tree(signed)
        body = Head.sign(tree.size, tree.root, dict.fromkeys(FILES, files * 64), by)
        self.signed: Head | None = Head.parse(body, FILES, AssertionError())

    def tree(self, size: int | None = None) -> Any:
        return heads.tree_of(self._lines, size)


LINES = [{"n": n} for n in range(6)]


def test_the_longest_head_that_a_copy_must_continue_decides(tmp_path: Path) -> None:
    heads.meet(Log(tmp_path / "a", LINES[:2]))
    heads.meet(Log(tmp_path / "b", [*LINES[:3], {"n": "other"}]))
    with pytest.raises(TamperError, match="does not go on from the earlier mirror"):
        heads.meet(Log(tmp_path / "c", LINES[:5]))


def test_the_longest_log_of_a_signer_is_named(tmp_path: Path) -> None:
    heads.meet(Log(tmp_path / "a", LINES[:2]))
    assert heads.meet(Log(tmp_path / "b", LINES)) == []
    (note,) = heads.meet(Log(tmp_path / "c", LINES[:4]))
    assert "had 6 lines" in note
    assert "here 4" in note
    assert heads.meet(Log(tmp_path / "d", LINES)) == [], "as long as the longest"


def test_the_log_of_another_signer_is_another_log(tmp_path: Path) -> None:
    heads.meet(Log(tmp_path / "a", [{"n": "other"}] * 5, by=signer()))
    heads.meet(Log(tmp_path / "b", [{"n": "other"}] * 9, by=signer()))
    (note,) = heads.meet(Log(tmp_path / "c", LINES))
    assert note.startswith("First copy seen of the signer")


def test_a_head_with_files_is_compared_before_one_without(tmp_path: Path) -> None:
    log = Log(tmp_path / "a", LINES)
    heads.meet(log)
    served = Head.parse(Head.sign(6, log.tree().root, {}, OPERATOR), (), AssertionError())
    heads._remember({**heads._seen_heads(), "https://service": served})
    with pytest.raises(TamperError, match="signed with other records"):
        heads.meet(Log(tmp_path / "b", LINES, files="b"))


def test_lines_behind_the_signed_ones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TamperError, match="not the one that was signed"):
        heads.meet(Log(tmp_path / "a", LINES, signed=3))


@pytest.mark.parametrize(("size", "root"), [(-1, bytes(32)), (1, bytes(31)), (1, bytes(33)), (1, b"")])
def test_a_signed_head_still_has_a_size_and_a_root(size: int, root: bytes) -> None:
    wrong = DataError("wrong")
    assert Head.parse(Head.sign(0, bytes(32), {}, OPERATOR), (), wrong).size == 0
    with pytest.raises(DataError, match="wrong"):
        Head.parse(Head.sign(size, root, {}, OPERATOR), (), wrong)


@pytest.mark.parametrize(("length", "good"), [(9_999, True), (10_000, False)])
def test_the_length_of_the_file_of_a_head(tmp_path: Path, length: int, good: bool) -> None:
    log = Log(tmp_path, LINES)
    body = canonical(Head.sign(6, log.tree().root, dict.fromkeys(FILES, "a" * 64), OPERATOR))
    (tmp_path / NAME).write_bytes(body.ljust(length))
    if good:
        assert Head.read(tmp_path / NAME).size == 6
    else:
        with pytest.raises(UnreadableError):
            Head.read(tmp_path / NAME)
