"""Connections: who answers is proven, options are understood or refused, passwords stay secret, failures have their words."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import shoal
from authorities import Authority
from engines.targets import MariaDBTarget, PostgresTarget, Target
from engines.tls_front import TlsFront
from servers import need_server, tools
from shoal.engines.connect import certificate_refused
from shoal.errors import EngineError, UsageError
from shoal.model.plan import Plan

pytestmark = pytest.mark.engine

ROWS = [{"a": "x", "n": i % 5} for i in range(20)]
TYPES = {"a": "text", "n": "integer"}
CA = {"postgres": "sslrootcert", "mariadb": "ssl_ca"}
KINDS = {"postgres": PostgresTarget, "mariadb": MariaDBTarget}


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Authority]:
    folder = tmp_path_factory.mktemp("authorities")
    return Authority(folder, "ours"), Authority(folder, "theirs")


@pytest.fixture(scope="module", params=["postgres", "mariadb"])
def encrypted(request: pytest.FixtureRequest, authorities: tuple[Authority, Authority]) -> Iterator[Target]:
    """A server whose certificate, by our own authority, is for ``localhost``."""
    certificate = authorities[0].certificate("localhost")
    if request.param == "postgres":
        server = request.getfixturevalue("postgres_server")
        front = TlsFront(server.port, certificate)
        behind = PostgresTarget("postgres", server)
        behind.execute('DROP TABLE IF EXISTS "t"')
        behind.load(ROWS, TYPES, table="t")
        yield PostgresTarget("postgres", replace(server, port=front.port))
        assert front.encrypted >= 1
        front.stop()
        return
    handle = need_server(lambda: tools.start_mariadb(tls=certificate))
    made = MariaDBTarget("mariadb", handle)
    made.load(ROWS, TYPES, table="t")
    yield made
    handle.stop()


@pytest.fixture(scope="session", params=["postgres", "mariadb"])
def plain(request: pytest.FixtureRequest) -> Target:
    made: Target = KINDS[request.param](request.param, request.getfixturevalue(f"{request.param}_server"))
    if "plain_t" not in made.tables():
        made.load(ROWS, TYPES, table="plain_t")
    return made


def url(server: Target, query: str = "", host: str = "127.0.0.1", table: str = "t") -> str:
    return str(server.handle.url).replace("127.0.0.1", host) + f"?{query}::{table}"


def rows(source: str) -> int:
    with shoal.open(source) as table:
        return table.n_rows()


# -- who answers ----------------------------------------------------------------------------------------------------------


def test_a_man_in_the_middle_with_another_authority_is_refused(
    encrypted: Target, authorities: tuple[Authority, Authority]
) -> None:
    ours, theirs = authorities
    option = CA[encrypted.name]
    assert rows(url(encrypted, f"{option}={ours.file}", "localhost")) == 20
    with pytest.raises(EngineError, match="not signed by an authority") as caught:
        rows(url(encrypted, f"{option}={theirs.file}", "localhost"))
    assert encrypted.handle.password not in str(caught.value)


def test_a_certificate_of_another_host_is_refused_unless_only_the_authority_is_asked_for(
    encrypted: Target, authorities: tuple[Authority, Authority]
) -> None:
    option = f"{CA[encrypted.name]}={authorities[0].file}"
    with pytest.raises(EngineError, match="for another host"):
        rows(url(encrypted, option))
    only = "sslmode=verify-ca" if encrypted.name == "postgres" else "ssl_mode=verify_ca"
    assert rows(url(encrypted, f"{option}&{only}")) == 20
    if encrypted.name == "mariadb":
        assert rows(url(encrypted, f"{option}&ssl_verify_identity=false")) == 20
        with pytest.raises(EngineError, match="for another host"):
            rows(url(encrypted, f"{option}&ssl_verify_identity=true"))
        with pytest.raises(EngineError, match="not signed by an authority"):
            rows(url(encrypted, "ssl_verify_cert=true", "localhost"))


def test_an_expired_certificate_is_called_expired(authorities: tuple[Authority, Authority]) -> None:
    """It was called "not signed by an authority that is trusted", with advice to switch verification off."""
    pytest.importorskip("adbc_driver_postgresql", reason="needs the PostgreSQL driver")
    front = TlsFront(9, authorities[0].certificate("localhost", days=-1))
    for authority, reason in zip(authorities, ("has expired", "not signed by an authority"), strict=True):
        with pytest.raises(EngineError, match=reason) as caught:
            rows(f"postgresql://u:secret@localhost:{front.port}/db?sslrootcert={authority.file}::t")
        assert "sslmode" not in str(caught.value)
        assert "secret" not in str(caught.value)
    front.stop()


@pytest.mark.parametrize(
    ("code", "reason"), [(9, "not valid yet"), (10, "has expired"), (19, "authority"), (62, "another host"), (0, "could not be")]
)
def test_a_refused_certificate_is_named_by_its_cause(code: int, reason: str) -> None:
    error = certificate_refused("the server at db", code, "ssl_ca")
    assert reason in error.message
    assert "verification" not in str(error), "no advice to go without"


def test_a_server_without_encryption_cannot_stand_in_for_one_that_must_prove_itself(
    plain: Target, authorities: tuple[Authority, Authority]
) -> None:
    with pytest.raises(EngineError, match=r"offers no encryption|not signed by an authority"):
        rows(url(plain, f"{CA[plain.name]}={authorities[0].file}", "localhost", "plain_t"))


def test_beyond_this_machine_a_server_proves_itself_unless_told_otherwise(plain: Target) -> None:
    """0.0.0.0 reaches this machine and is no loopback address."""
    with pytest.raises(EngineError, match=r"offers no encryption|not signed by an authority"):
        rows(url(plain, "", "0.0.0.0", "plain_t"))
    without = "sslmode=disable" if plain.name == "postgres" else "ssl_mode=DISABLED"
    assert rows(url(plain, without, "0.0.0.0", "plain_t")) == 20


def test_an_unverified_but_encrypted_connection_can_be_asked_for(encrypted: Target) -> None:
    mode = "sslmode=require" if encrypted.name == "postgres" else "ssl_mode=REQUIRED"
    with shoal.open(url(encrypted, mode, "0.0.0.0")) as table:
        engine: Any = table._engine
        assert table.n_rows() == 20  # the front of PostgreSQL answers in no other way
        if encrypted.name == "mariadb":
            assert engine._rows("SHOW STATUS LIKE 'Ssl_cipher'")[0][1]


def test_an_authority_that_nothing_is_verified_by_is_refused(plain: Target, authorities: tuple[Authority, Authority]) -> None:
    option = f"{CA[plain.name]}={authorities[0].file}"
    modes = {"postgres": ["sslmode=disable", "sslmode=prefer"], "mariadb": ["ssl_mode=PREFERRED", "ssl_verify_cert=no"]}
    for mode in modes[plain.name]:
        with pytest.raises(UsageError, match="authority is named"):
            rows(url(plain, f"{option}&{mode}", table="plain_t"))


# -- options --------------------------------------------------------------------------------------------------------------


def test_options_that_nobody_knows_are_refused(plain: Target) -> None:
    wrong = "sslmod=verify-full" if plain.name == "postgres" else "ssl_verify_identiy=true"
    with pytest.raises(UsageError, match="Did you mean 'ssl"):
        rows(url(plain, wrong, table="plain_t"))
    known = "connect_timeout=5"
    with pytest.raises(UsageError, match="given twice"):
        rows(url(plain, f"{known}&{known}", table="plain_t"))
    assert rows(url(plain, known, table="plain_t")) == 20


def test_password_files_services_and_sockets(plain: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = plain.handle
    monkeypatch.setenv("HOME", str(tmp_path))
    if plain.name == "postgres":
        secret = tmp_path / ".pgpass"
        secret.write_text(f"*:{handle.port}:*:shoal:{handle.password}\n")
        secret.chmod(0o600)
        service = tmp_path / ".pg_service.conf"
        service.write_text(f"[clinic]\nhost=127.0.0.1\nport={handle.port}\nuser=shoal\ndbname=postgres\n")
        monkeypatch.setenv("PGPASSFILE", str(secret))
        monkeypatch.setenv("PGSERVICEFILE", str(service))
        assert rows(f"postgresql://shoal@127.0.0.1:{handle.port}/postgres::plain_t") == 20
        assert rows("postgresql:///?service=clinic::plain_t") == 20
        assert rows(f"postgresql://shoal@:{handle.port}/postgres?host={handle.folder}::plain_t") == 20
        with pytest.raises(EngineError, match="service is in no service file"):
            rows("postgresql:///?service=nowhere::plain_t")
        return
    mine = tmp_path / ".my.cnf"
    mine.write_text(
        f"!include nothing\n[client]\nuser = shoal\npassword = '{handle.password}'\nport={handle.port}\nhost=127.0.0.1\n"
    )
    mine.chmod(0o600)
    assert rows("mysql:///shoal::plain_t") == 20
    other = mine.rename(tmp_path / "other.cnf")
    assert rows(f"mysql:///shoal?defaults_file={other}::plain_t") == 20
    assert rows(f"mysql://localhost/shoal?defaults_file={other}&unix_socket={handle.folder}/s::plain_t") == 20
    other.chmod(0o602)
    with pytest.raises(UsageError, match="everybody may write"):
        rows(f"mysql:///shoal?defaults_file={other}::plain_t")
    with pytest.raises(UsageError, match=r"option file .* cannot be read"):
        rows("mysql:///shoal?defaults_file=/no/such.cnf::plain_t")


# -- words ----------------------------------------------------------------------------------------------------------------


def test_a_server_that_never_answers_is_told_from_one_that_refuses(plain: Target) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"{plain.handle.url.partition('://')[0]}://u:pw@127.0.0.1:{silent.getsockname()[1]}/d?connect_timeout=2::t"
        with pytest.raises(EngineError, match="did not answer in time"):
            rows(address)
    with pytest.raises(EngineError, match="was refused"):
        rows(address)


def test_a_connection_that_an_administrator_ends_is_gone_not_an_internal_error(plain: Target) -> None:
    with shoal.open(url(plain, table="plain_t")) as table:
        engine: Any = table._engine
        if plain.name == "postgres":
            number = engine._run("SELECT pg_backend_pid()").column(0)[0].as_py()
            plain.execute(f"SELECT pg_terminate_backend({number})")
        else:
            plain.execute(f"KILL {engine._rows('SELECT connection_id()')[0][0]}")
        with pytest.raises(EngineError, match="broke off"):
            table.count(["a"])


@pytest.mark.parametrize(
    "source",
    [
        "postgresql://u:12/ssSECRET@127.0.0.1/db::t",
        "postgresql://u:12?ssSECRET@127.0.0.1/db::t",
        "postgresql://u:12#ssSECRET@127.0.0.1/db::t",
        "mysql://u:p@ss/SECRET@127.0.0.1/db::t",
        "mysql://u:12::ssSECRET@127.0.0.1/db::t",
        "mysql://u:ssSECRET@127.0.0.1:port/db::t",
        "postgresql:/u:ssSECRET@127.0.0.1/db::t",
        "postgresql:u:ssSECRET@127.0.0.1/db::t",
        "postgres ://u:ssSECRET@127.0.0.1/db::t",
        "postgres//u:ssSECRET@127.0.0.1/db::t",
        "u:ssSECRET@127.0.0.1/db::t",
        "ann-b.c:ssSECRET@127.0.0.1/db::t",
        "../u:ssSECRET@127.0.0.1/db::t",
        "postgresql://u:ssSECRET@127.0.0.1/db",
        "oracle://u:ssSECRET@127.0.0.1/db::t",
        "mysql://u:ssSECRET@127.0.0.1:1/db?ssl_mod=x::t",
        "mysql://u@127.0.0.1:1/db?password=ssSECRET::t",
    ],
)
def test_no_spelling_of_a_url_shows_its_password(source: str, tmp_path: Path) -> None:
    with pytest.raises((UsageError, EngineError)) as caught:
        shoal.open(source)
    assert "SECRET" not in str(caught.value) + repr(caught.value)
    with shoal.open({"a": [1, 2]}) as table, pytest.raises((UsageError, EngineError)) as caught:
        table.recode(Plan(), source)
    assert "SECRET" not in str(caught.value) + repr(caught.value)
