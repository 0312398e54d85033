"""The registry through the command line and over HTTP, as holders, endorsers and strangers use it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from pathlib import Path

import pytest

from registry_support import AGES, five_years, make
from shoal.cli import main
from shoal.kernels.signatures import signer
from shoal.registry.keep.mirror import Mirror


@pytest.fixture
def shoal(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own; its JSON answer, or its error with the exit code."""
    monkeypatch.chdir(tmp_path)
    for name in ("SHOAL_SIGNING_KEY", "SHOAL_SIGNING_KEY_FILE", "SHOAL_REGISTRY_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, expect: int = 0):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([*words, "--json"])
        told = capsys.readouterr()
        assert stop.value.code == expect, told.err
        return json.loads(told.out)

    return run


@pytest.fixture
def people(tmp_path) -> Path:
    file = tmp_path / "people.csv"
    rows = [f"{age},{'FM'[i % 2]}" for age, many in enumerate(AGES) for i in range(many // 30)]
    file.write_text("age,sex\n" + "\n".join(rows) + "\n")
    return file


PUBLISH = ("registry", "publish", "people.csv", "--qi", "age=age/years", "--population", "NL/Test@2026")


def test_several_rows_of_a_person_are_counted_once(shoal, people):
    """Three visits each give the record of one visit each; somebody in two cells is refused."""
    once = shoal(*PUBLISH, "--dry-run")
    head, *rows = people.read_text().splitlines()
    people.write_text("\n".join([head + ",person", *(f"{row},P{i}" for i, row in enumerate(rows) for _ in range(3))]) + "\n")
    assert shoal(*PUBLISH, "--dry-run", "--unit", "person")["leaves"] == once["leaves"]
    assert shoal(*PUBLISH, "--dry-run")["leaves"] != once["leaves"], "rows were counted"
    people.write_text(people.read_text() + "99,F,P0\n")
    refused = shoal(*PUBLISH, "--dry-run", "--unit", "person", expect=2)
    assert "1 times a person is in more than one cell of age" in refused["error"]["message"]


def test_a_key_is_made_where_it_is_asked_for_and_nowhere_else(shoal, people, tmp_path):
    """`registry key --key FILE` makes the file, readable by its owner only; a mistyped file elsewhere is told, not made."""
    refused = shoal(*PUBLISH, "--holder", "A", "--key", "holder.key", "--registry", "r.db", expect=3)["error"]
    assert "key file 'holder.key' does not exist" in refused["message"]
    assert "shoal registry key --key holder.key" in refused["hint"]
    assert not (tmp_path / "holder.key").exists()
    made = shoal("registry", "key", "--key", "holder.key")
    assert (tmp_path / "holder.key").stat().st_mode & 0o777 == 0o600
    assert shoal("registry", "key", "--key", "holder.key") == made
    assert made["key"] == signer(tmp_path / "holder.key").public
    assert "cannot be written" in shoal("registry", "key", "--key", "no/holder.key", expect=3)["error"]["message"]


def test_publish_shows_exactly_what_leaves_and_repeating_it_changes_nothing(shoal, people):
    seen = shoal(*PUBLISH, "--dry-run")
    assert not Path("registry.key").exists()
    first = shoal(*PUBLISH, "--holder", "A hospital", "--registry", "r.db", "--out", "record.json")
    assert first["submitted"]
    assert {k: v for k, v in seen["leaves"].items() if k not in ("holder", "key")} == {
        k: v for k, v in first["leaves"].items() if k not in ("holder", "key", "id", "signature")
    }
    assert json.loads(Path("record.json").read_text()) == first["leaves"]
    assert Path("registry.key").stat().st_mode & 0o077 == 0
    again = shoal(*PUBLISH, "--holder", "A hospital", "--registry", "r.db")
    assert (again["unchanged"], again["submitted"], again["id"]) == (True, False, first["id"])
    Path("registry-ledger.json").unlink()
    lost = shoal(*PUBLISH, "--holder", "A hospital", "--registry", "r.db")
    assert (lost["unchanged"], lost["id"]) == (True, first["id"])  # the registry itself is remembered
    found = shoal("registry", "query", "--attributes", "age/years", "--population", "NL/Test@2026", "--registry", "r.db")
    assert found["records"] == [first["leaves"]]


def test_one_record_with_noise_has_every_subset_and_band(shoal, people):
    """One signature and one budget; each coarser question is answered from it, and ε is added up once."""
    ladder = ("registry", "publish", "people.csv", "--qi", "age=age/years,sex=sex", "--population", "NL/Test@2026")
    drawn = (*ladder, "--answers", "sex=F,M", "--noise", "2", "--holder", "A", "--registry", "r.db")
    leaves = shoal(*drawn)["leaves"]
    assert leaves["noise"]["epsilon"] == 2
    assert (len(leaves["counts"]["people"]), leaves["counts"]["answers"]["sex"]) == (202, ["F", "M"])
    assert shoal(*drawn)["unchanged"], "nothing is drawn a second time"
    about = ("--population", "NL/Test@2026", "--registry", "r.db")
    for codes in ("sex", "age/years", "age/10y", "age/20y,sex"):
        assert shoal("registry", "query", "--attributes", codes, *about)["fit"] == "joint counts"
    found = shoal("registry", "decide", "--attributes", "age/20y,sex", "--group", "200", *about)
    assert (found["verdict"], found["before"]["level"]) == ("within", 0.99)
    for more in (("--answers", "sex=F,M"), ("--answers", "sex=F,M", "--noise", "1", "--cells", "9")):
        assert "of one population" in shoal(*ladder, *more, "--dry-run", expect=2)["error"]["message"]
    message = shoal(*ladder, "--answers", "sex=F", "--noise", "1", "--dry-run", expect=2)["error"]["message"]
    assert message == "a value of 'sex' is not among its public answers."


def test_publishing_from_postgresql_and_parquet_equals_csv(shoal, people, postgres_server):
    import psycopg
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.csv.read_csv("people.csv"), "people.parquet")
    with psycopg.connect(postgres_server.url, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS registry_people")
        db.execute("CREATE TABLE registry_people (age integer, sex text)")
        with db.cursor() as cursor, cursor.copy("COPY registry_people FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write(people.read_bytes())
    what = ("--qi", "age=age/years,sex=sex", "--population", "NL/Test@2026", "--dry-run")
    tables = ("people.csv", "people.parquet", f"{postgres_server.url}::registry_people")
    told = [shoal("registry", "publish", table, *what)["leaves"] for table in tables]
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("code", ["age/5y", "age/20y", "sex"])
def test_a_column_with_more_values_than_its_coding_is_refused(shoal, people, code):
    publish = ("registry", "publish", "people.csv", "--qi", f"age={code}", "--population", "NL/Test@2026", "--dry-run")
    told = shoal(*publish, expect=3)["error"]
    assert "95 different values" in told["message"]
    assert shoal(*publish[:4], "age=x/age", *publish[5:])["leaves"]["attributes"] == ["x/age"]


def test_bands_named_as_single_years_are_refused(shoal, tmp_path):
    (tmp_path / "bands.csv").write_text("age\n" + "0-19\n20-39\n40 - 59\n60+\n" * 500)
    publish = ("registry", "publish", "bands.csv", "--population", "NL/Test@2026", "--dry-run", "--qi")
    assert "holds bands" in shoal(*publish, "age=age/years", expect=3)["error"]["message"]
    assert shoal(*publish, "age=age/20y")["leaves"]["attributes"] == ["age/20y"]


def test_endorse_trust_and_revoke(shoal, people):
    shoal(*PUBLISH, "--holder", "A hospital", "--registry", "r.db")
    hospital = shoal("registry", "key")["key"]
    Path("registry.key").rename("hospital.key")
    office = shoal("registry", "key")["key"]
    ask = ("registry", "query", "--attributes", "age/years", "--population", "NL/Test@2026", "--registry", "r.db")
    assert "not endorsed" in " ".join(shoal(*ask, "--trust", office)["notes"])
    shoal("registry", "endorse", hospital, "--registry", "r.db")
    known = shoal(*ask, "--trust", office)
    assert known["trust"] == {office: 0, hospital: 1}
    assert "not endorsed" not in " ".join(known["notes"])
    shoal("registry", "revoke", "--endorsed", hospital, "--registry", "r.db")
    assert shoal(*ask, "--trust", office)["trust"] == {office: 0}
    record = known["best"]
    refused = shoal("registry", "revoke", "--record", record, "--registry", "r.db", expect=1)
    assert "only the holder" in refused["error"]["message"]
    shoal("registry", "revoke", "--record", record, "--registry", "r.db", "--key", "hospital.key")
    assert shoal(*ask)["fit"] == "nothing"
    shoal("registry", "revoke", "--registry", "r.db", "--own-key", "--key", "hospital.key")
    gone = shoal("registry", "endorse", office, "--registry", "r.db", "--key", "hospital.key", expect=1)
    assert "revoked" in gone["error"]["message"]
    assert shoal("registry", "endorse", office, "--registry", "r.db", expect=2)["error"]["type"] == "UsageError"  # oneself
    assert shoal("registry", "revoke", "--registry", "r.db", expect=2)["error"]["type"] == "UsageError"
    assert shoal("registry", "endorse", "no key", "--registry", "r.db", expect=3)["error"]["type"] == "DataError"


def test_a_mirror_answers_an_individual_offline_like_the_registry(shoal, people, monkeypatch):
    shoal(*PUBLISH, "--holder", "A hospital", "--registry", "r.db")
    ask = ("--attributes", "age/years", "--population", "NL/Test@2026", "--group", "100")
    here = shoal("registry", "analyse", *ask, "--registry", "r.db")
    advice = shoal("registry", "decide", *ask, "--target", "0.5", "--registry", "r.db")
    shoal("registry", "mirror", "copy", "--registry", "r.db")

    def no_net(*_, **__):
        raise AssertionError("a mirror is asked without the net")

    monkeypatch.setattr(socket.socket, "connect", no_net)
    assert shoal("registry", "analyse", *ask, "--registry", "copy") == here
    assert shoal("registry", "decide", *ask, "--target", "0.5", "--registry", "copy") == advice
    assert advice["advice"][0]["advice"] == "collect"
    assert shoal("registry", "verify", "copy")["records"] == 1
    mine = shoal("registry", "analyse", *ask, "--registry", "copy", "--my-share", "0.0125")
    assert mine["you"]["alone"] == pytest.approx(0.9875**99)
    assert mine["you"]["alike"] == pytest.approx(1 + 99 * 0.0125)
    two = shoal("registry", "analyse", *ask, "--registry", "copy", "--my-share", "0.5, 1/40")["you"]
    assert two["alone"] == pytest.approx(0.9875**99)
    assert (two["alone_at_least"], two["alone_at_most"]) == (pytest.approx(0.975**99), 1.0)
    assert (
        shoal("registry", "analyse", *ask, "--registry", "copy", "--my-share", "1.5", expect=2)["error"]["type"] == "UsageError"
    )


def test_asking_makes_no_registry(shoal, tmp_path):
    ask = ("--attributes", "sex", "--population", "NL@2021")
    assert "does not exist" in shoal("registry", "query", *ask, "--registry", "typo.db", expect=3)["error"]["message"]
    assert "does not exist" in shoal("registry", "mirror", "copy", "--registry", "typo.db", expect=3)["error"]["message"]
    assert "copy" in shoal("registry", "query", *ask, "--registry", "https://x.example", expect=2)["error"]["message"]
    (tmp_path / "text.txt").write_text("no database")
    assert shoal("registry", "query", *ask, "--registry", "text.txt", expect=3)["error"]["type"] == "EngineError"
    assert {p.name for p in tmp_path.iterdir()} == {"text.txt"}


def test_seed_and_token_tell_json(shoal):
    made_up = shoal("registry", "seed", "--registry", "seed.db", "--generated")
    assert (made_up["records"] > 100, made_up["source"]) == (True, "generated people")
    assert len(shoal("registry", "token", "A hospital", "--registry", "seed.db")["token"]) > 30


@contextlib.contextmanager
def served(store):
    """The application on a port of its own."""
    import uvicorn

    from shoal.server.app import create_app

    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(create_app(store), log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:  # the socket listens already: anyone who calls before the server is ready waits
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def test_publishing_endorsing_and_mirroring_over_http(shoal, people, store, monkeypatch):
    store.submit(make(five_years(AGES), codes=("age/5y",), cells=19))
    with served(store) as url:
        refused = shoal(*PUBLISH, "--holder", "A hospital", "--registry", url, expect=2)
        assert "SHOAL_REGISTRY_TOKEN" in refused["error"]["message"]
        monkeypatch.setenv("SHOAL_REGISTRY_TOKEN", "wrong")
        assert "token" in shoal(*PUBLISH, "--holder", "A hospital", "--registry", url, expect=1)["error"]["message"]
        monkeypatch.setenv("SHOAL_REGISTRY_TOKEN", store.tokens.add("A hospital"))
        first = shoal(*PUBLISH, "--holder", "A hospital", "--registry", url)
        Path("registry-ledger.json").unlink()
        assert shoal(*PUBLISH, "--holder", "A hospital", "--registry", url)["id"] == first["id"]
        other = signer().public
        assert shoal("registry", "endorse", other, "--registry", url)["stated"]["number"] == 1
        assert shoal("registry", "revoke", "--endorsed", other, "--registry", url)["stated"]["number"] == 2
        shoal("registry", "mirror", "copy", "--registry", url)
    assert Mirror("copy").verify() == {"lines": 4, "records": 2, "statements": 2, "notices": 0}
    assert Mirror("copy").head() == store.head()
    assert "does not answer" in shoal("registry", "mirror", "copy2", "--registry", url, expect=3)["error"]["message"]


def test_a_token_never_goes_over_the_net_in_the_clear(monkeypatch):
    from shoal.errors import UsageError
    from shoal.registry.keep.remote import Remote

    monkeypatch.setenv("SHOAL_REGISTRY_TOKEN", "secret")
    with pytest.raises(UsageError, match="clear"):
        Remote("http://registry.example.org").submit_many([make(AGES)])
    for wrong in ("ftp://x", "http://", "https://user:word@host", "https://host?x=1"):
        with pytest.raises(UsageError, match="address"):
            Remote(wrong)


def test_a_name_of_somebody_else_is_refused(shoal, people, tmp_path):
    ask = [*PUBLISH[:-1], "NL/Test@2026", "--holder", "Statistics Office", "--registry", "r.db"]
    shoal(*ask)
    (tmp_path / "registry.key").unlink()
    (tmp_path / "registry-ledger.json").unlink()
    refused = shoal(*[*PUBLISH[:-1], "BE/Test@2026"], "--holder", "STATISTICS OFFICE", "--registry", "r.db", expect=1)
    assert "belongs to another key" in refused["error"]["message"]


def test_a_token_of_the_command_line_is_for_its_holder(shoal, tmp_path):
    assert shoal("registry", "token", "A hospital", "--registry", "r.db")["token"]
    assert shoal("registry", "token", "...", "--registry", "r.db", expect=2)["error"]
    assert shoal("registry", "token", "A hospital", "--registry", "r.db", "--key", "nonsense", expect=3)["error"]
