"""Several users of one PostgreSQL database: own schemas, own jobs, nothing of one seen by another, also after a restart."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from shoal.errors import EngineError
from shoal.studio.accounts import create_house
from shoal.studio.workspace.people import People, has_users, within
from studio_support import Visitor, ended, hostile_table, running

pytestmark = pytest.mark.engine
SECRET = "four words in a row"


@pytest.fixture
def store(postgres_server: Any) -> Iterator[str]:
    name = f"house_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres_server.url, autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"')
    yield f"{postgres_server.url.rpartition('/')[0]}/{name}"
    with psycopg.connect(postgres_server.url, autocommit=True) as db:
        db.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def entered(address: str, name: str) -> Visitor:
    made = Visitor(address)
    assert made.http.post("/login", data={"name": name, "password": SECRET}).status_code == 200
    return made


def test_two_users_of_one_database_see_only_their_own(store: str, tmp_path: Path) -> None:
    assert not has_users(tmp_path / "kept", store=store)
    people = People(tmp_path / "kept", store=store)
    spaces = {name: people.users.add(name, "editor", SECRET).space for name in ("anna", "ben")}
    assert has_users(tmp_path / "kept", store=store)
    tables, cookies = {}, {}
    with running(create_house(people)) as address:
        for name in spaces:
            visitor = entered(address, name)
            tables[name] = visitor.bring(hostile_table(tmp_path / f"of-{name}.csv"))
            cookies[name] = dict(visitor.http.cookies)
            if name == "anna":
                assert visitor.get(f"/t/{tables[name]}/measure").status_code == 200
                page = visitor.get(f"/t/{tables[name]}/improve")
                job = re.search(r'data-job="([0-9a-f]{16})"', page.text)
                assert job is not None
                ended(visitor, page)
            visitor.close()
    people = People(tmp_path / "kept", store=store)
    with running(create_house(people)) as address:
        for name, other in (("anna", "ben"), ("ben", "anna")):
            again = Visitor(address)
            again.http.cookies.update(cookies[name])
            home = again.http.get("/").text
            assert (home.count("table-card"), f"of-{name}" in home, f"of-{other}" in home) == (1, True, False), "after a restart"
            for path in (f"/t/{tables[other]}/measure", f"/t/{tables[other]}/policy.yml"):
                assert again.http.get(path).status_code == 404, path
            assert again.post(f"/t/{tables[other]}/delete", sure="1").status_code == 404
            asked = again.http.get(f"/jobs/{job[1]}")
            assert (asked.status_code, name == "anna" and asked.json()["state"]) == (
                (200, "done") if name == "anna" else (404, False)
            )
            assert again.http.get(f"/t/{tables['anna']}/now?job={job[1]}").status_code == asked.status_code
            again.close()
    with psycopg.connect(store) as db:
        for name, space in spaces.items():
            for kind, mine in (("tables", [tables[name]]), ("jobs", [job[1]] if name == "anna" else [])):
                rows = db.execute(f"SELECT id FROM shoal_studio_{space}.studio_{kind}").fetchall()
                assert [row[0] for row in rows] == mine, "each in a schema of its own"


def test_a_schema_joins_the_options_that_an_address_has(store: str, tmp_path: Path) -> None:
    with People(tmp_path / "kept", store=f"{store}?options=-cstatement_timeout%3D60000&application_name=x") as people:
        space = people.users.add("anna", "editor", SECRET).space
        with people.workspace(space) as kept:
            assert kept.tables.all() == []
    with psycopg.connect(store) as db:
        assert db.execute("SELECT to_regclass(%s)", [f"shoal_studio_{space}.studio_tables"]).fetchone() != (None,)


def test_a_database_that_does_not_answer_is_told_without_its_address(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be opened") as told:
        has_users(tmp_path / "kept", store="postgresql://reader:s3cret@127.0.0.1:1/x")
    assert "s3cret" not in f"{told.value.message} {told.value.hint}"
    assert told.value.__cause__ is None
    assert not (tmp_path / "kept").exists()
    assert within("postgresql://h/d?options=-cx%3D1&a=b", "s1") == "postgresql://h/d?a=b&options=-cx%3D1%20-csearch_path%3Ds1"
