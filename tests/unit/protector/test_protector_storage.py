"""V4: a stolen file tells nothing. V5: every change and every older copy is noticed. Versions."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from protector_support import House, build, new_key, parameter_mark, raw_database
from shoal.errors import AccessError, DataError, ShoalError, TamperError, UsageError
from shoal.protector import Vault, care
from shoal.protector.care import checking
from shoal.protector.store.connection import connect
from shoal.protector.store.entries import size_class
from shoal.protector.store.pages import PER_PAGE

PLANTED = "Xq7CANARY"


def planted(word: str) -> str:
    return f"{PLANTED}-{word}"


def fill(house: House) -> list[str]:
    """Put a planted string wherever the vault takes one; the pseudonyms made."""
    made = []
    for kind in ("random", "keyed", "reversible"):
        house.owner.create_domain(planted(kind), kind=kind)
        made += house.operator.pseudonymize(planted(kind), [planted(f"id-{i}") for i in range(50)], purpose=planted("purpose"))
    own = house.owner.create_domain(planted("own"), kind="self-generated")
    from shoal.protector import Holder

    registration = Holder.generate().registration(house.vault.id, own.id)
    house.operator.register(own.name, registration, identity=planted("holder"))
    made.append(registration["pseudonym"])
    house.add(planted("actor"), ["operator"])
    asked = house["Rita"].request(planted("random"), made[:3], purpose=planted("why"), case=planted("case"))
    house["Aldo"].approve(asked.id)
    assert set(house["Rita"].reveal(asked.id).identities.values()) == {planted(f"id-{i}") for i in range(3)}
    made.append(house.owner.plant_honeytoken(planted("random")).pseudonym)
    return made


def stored_bytes(house: House) -> bytes:
    """Every byte an intruder finds: the files of SQLite, or a dump of all rows of PostgreSQL."""
    if house.vault.store.dialect == "sqlite":
        files = sorted(Path(house.place).parent.glob(Path(house.place).name + "*"))
        return b"".join(f.read_bytes() for f in files)
    import psycopg

    out = b""
    with psycopg.connect(house.place) as connection:
        for table in ("meta", "state", "objects", "entries", "index", "audit", "checkpoints"):
            for row in connection.execute(f"SELECT * FROM vault_{table}").fetchall():
                out += b"|".join(c if isinstance(c, bytes) else str(c).encode() for c in row)
    return out


def test_a_stolen_file_tells_nothing(house: House) -> None:
    """V4: no planted string, no pseudonym, no token, in any encoding, before and after closing."""
    made = fill(house)
    for closed in (False, True):
        if closed:
            house.vault.close()
        content = stored_bytes(house)
        assert len(content) > 100_000
        for text in (PLANTED, *made, *house.tokens.values(), house.owner_share):
            for form in (text.encode(), text.encode("utf-16-le"), text.encode().hex().encode(), text.lower().encode()):
                assert form not in content


@pytest.mark.parametrize("kind", ["random", "reversible", "keyed"])
def test_a_stolen_file_hides_the_count(sqlite_house: House, kind: str) -> None:
    """V4: the number of rows depends on the size class only."""
    sqlite_house.owner.create_domain("d", kind=kind)
    seen = []
    for start, stop in ((0, 5), (5, 600), (600, 1000)):
        sqlite_house.operator.pseudonymize("d", [f"{i}" for i in range(start, stop)])
        with sqlite3.connect(sqlite_house.place) as raw:
            rows = raw.execute("SELECT count(*), min(length(sealed)), max(length(sealed)) FROM vault_entries").fetchone()
        seen.append(rows)
    assert len(set(seen)) == 1
    assert seen[0][0] == (1024 // PER_PAGE if kind == "random" else 0)


def test_size_classes() -> None:
    for n in (1, 1000, 1024, 1025, 5000, 10**6, 10**7 + 1):
        assert n <= size_class(n) <= max(1024, n * 1.25)
    assert len({size_class(n) for n in range(1, 100_000)}) < 32


def test_files_are_private(sqlite_house: House) -> None:
    for file in Path(sqlite_house.place).parent.glob("data.vault*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def _flip(data: bytes, bit: int) -> bytes:
    out = bytearray(data)
    out[(bit // 8) % len(out)] ^= 1 << bit % 8
    return bytes(out)


ROWS = [
    ("vault_entries", "id", "sealed"),
    ("vault_index", "id", "sealed"),
    ("vault_objects", "tag", "sealed"),
    ("vault_audit", "seq", "sealed"),
    ("vault_audit", "seq", "hash"),
    ("vault_checkpoints", "seq", "body"),
    ("vault_checkpoints", "seq", "signature"),
]


def detected(house: House) -> bool:
    """Whether a full check notices something; any refusal to open counts."""
    try:
        vault = house.reopen()
    except TamperError:
        return True
    try:
        return not care.verify(vault.login(house.owner_token)).ok  # type: ignore[attr-defined]
    except TamperError:
        return True
    except AccessError:  # the token itself is gone: let the check run without it
        problems: list[str] = []
        with vault.store.read() as tx:
            checking.check_objects(tx, problems)
        return bool(problems)
    finally:
        vault.close()


@pytest.fixture
def filled(house: House) -> House:
    """A vault with a few people in it, its owner's token at hand."""
    house.owner.create_domain("d")
    house.operator.pseudonymize("d", [f"{i:04d}" for i in range(40)])
    house.owner_token = house.token("Otto")  # type: ignore[attr-defined]
    assert not detected(house)
    return house


@pytest.mark.parametrize(("table", "key", "column"), ROWS)
def test_flipped_bits_are_noticed(filled: House, table: str, key: str, column: str) -> None:
    """V5: one bit in any sealed, hashed or signed cell."""
    mark = parameter_mark(filled)
    database = raw_database(filled)
    found = database.execute(f"SELECT {key}, {column} FROM {table} ORDER BY {key}").fetchall()
    for number, (row, cell) in enumerate(found[:: max(1, len(found) // 4)]):
        bit = (number * 7919 + 13) % (8 * len(cell))
        database.execute(f"UPDATE {table} SET {column} = {mark} WHERE {key} = {mark}", (_flip(bytes(cell), bit), row))
        assert detected(filled)
        database.execute(f"UPDATE {table} SET {column} = {mark} WHERE {key} = {mark}", (cell, row))
    database.close()
    assert not detected(filled)


def test_flipped_state_and_head_are_noticed(filled: House) -> None:
    database = raw_database(filled)
    mark = parameter_mark(filled)
    (state,) = database.execute("SELECT sealed FROM vault_state").fetchone()
    database.execute(f"UPDATE vault_state SET sealed = {mark}", (_flip(bytes(state), 77),))
    assert detected(filled)
    database.execute(f"UPDATE vault_state SET sealed = {mark}", (state,))
    for name in ("root", "vault", "format"):
        (value,) = database.execute(f"SELECT value FROM vault_meta WHERE name = {mark}", (name,)).fetchone()
        database.execute(f"UPDATE vault_meta SET value = {mark} WHERE name = {mark}", (_flip(bytes(value), 9), name))
        assert detected(filled)
        database.execute(f"UPDATE vault_meta SET value = {mark} WHERE name = {mark}", (value, name))
    database.close()
    assert not detected(filled)


def test_swapped_rows_are_noticed(filled: House) -> None:
    """V5: two pages exchange their contents, two buckets likewise."""
    database = raw_database(filled)
    mark = parameter_mark(filled)
    for table in ("vault_entries", "vault_index"):
        (a, sa), (b, sb) = database.execute(f"SELECT id, sealed FROM {table} ORDER BY id LIMIT 2").fetchall()
        update = f"UPDATE {table} SET sealed = {mark} WHERE id = {mark}"
        for one, other in ((sb, sa), (sa, sb)):
            database.execute(update, (one, a))
            database.execute(update, (other, b))
            assert detected(filled) is (one == sb)
    database.close()


@pytest.mark.parametrize(
    "table", ["vault_entries", "vault_index", "vault_objects", "vault_audit", "vault_checkpoints", "vault_state", "vault_meta"]
)
@pytest.mark.parametrize("which", ["ASC", "DESC"])
def test_missing_rows_are_noticed(filled: House, table: str, which: str) -> None:
    """V5: a row cut out at the beginning or the end of any table."""
    key = {"objects": "tag", "meta": "name", "audit": "seq", "checkpoints": "seq"}.get(table.removeprefix("vault_"), "id")
    database = raw_database(filled)
    database.execute(f"DELETE FROM {table} WHERE {key} = (SELECT {key} FROM {table} ORDER BY {key} {which} LIMIT 1)")
    database.close()
    assert detected(filled)


def test_added_and_doubled_rows_are_noticed(filled: House) -> None:
    database = raw_database(filled)
    mark = parameter_mark(filled)
    row_id, sealed = database.execute("SELECT id, sealed FROM vault_entries ORDER BY id DESC LIMIT 1").fetchone()
    insert = f"INSERT INTO vault_entries (id, sealed) VALUES ({mark}, {mark})"
    database.execute(insert, (row_id + 1, sealed))
    assert detected(filled)
    database.execute(f"DELETE FROM vault_entries WHERE id = {mark}", (row_id + 1,))
    assert not detected(filled)
    database.execute(insert, (7 << 40, sealed))
    assert detected(filled)
    database.close()


def test_one_row_put_back_is_noticed(filled: House) -> None:
    """V5: a single object of an older time (a revoked token) put back."""
    database = raw_database(filled)
    mark = parameter_mark(filled)
    everything = "SELECT tag, kind, sealed FROM vault_objects"
    before = {bytes(t): (k, bytes(s)) for t, k, s in database.execute(everything).fetchall()}
    filled.owner.revoke_tokens("Olga")
    after = {bytes(t) for t, _, _ in database.execute(everything).fetchall()}
    gone = next(iter(set(before) - after))
    database.execute(f"INSERT INTO vault_objects (tag, kind, sealed) VALUES ({mark}, {mark}, {mark})", (gone, *before[gone]))
    database.close()
    assert detected(filled)


def test_truncated_file_is_noticed(tmp_path: Path) -> None:
    """V5: a file cut off anywhere does not open as if nothing had happened."""
    house = build(str(tmp_path / "data.vault"), tmp_path)
    house.owner.create_domain("d")
    house.operator.pseudonymize("d", [f"{i:04d}" for i in range(3000)])
    house.owner_token = house.token("Otto")  # type: ignore[attr-defined]
    house.vault.close()
    file = Path(house.place)
    whole = file.read_bytes()
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        for leftover in tmp_path.glob("data.vault-*"):
            leftover.unlink()
        file.write_bytes(whole[: int(len(whole) * share)])
        if share == 0.0:
            with pytest.raises(DataError, match="no vault"):
                house.reopen()
        else:
            assert detected(house)
    for leftover in tmp_path.glob("data.vault-*"):
        leftover.unlink()
    file.write_bytes(whole)
    assert not detected(house)


def test_rollback_is_noticed(tmp_path: Path) -> None:
    """V5: the whole database put back to an older state is refused, by a new process and by a running one."""
    house = build(str(tmp_path / "data.vault"), tmp_path)
    house.owner.create_domain("d")
    house.vault.close()
    shutil.copy(house.place, tmp_path / "old")
    house.operator.pseudonymize("d", ["person"])
    house.vault.close()
    shutil.copy(house.place, tmp_path / "new")
    shutil.copy(tmp_path / "old", house.place)
    with pytest.raises(TamperError, match="older"):
        house.reopen()
    with pytest.raises(TamperError, match="older"):
        house.operator.pseudonymize("d", ["another"])
    house.vault.close()
    shutil.copy(tmp_path / "new", house.place)
    house.reopen().close()


def test_rollback_of_postgresql_is_noticed(filled: House) -> None:
    """The same where the database is a server: all rows of an older time, put back one by one."""
    database = raw_database(filled)
    tables = ("meta", "state", "objects", "entries", "index", "audit", "checkpoints")
    old = {t: database.execute(f"SELECT * FROM vault_{t}").fetchall() for t in tables}
    filled.operator.pseudonymize("d", ["another"])
    for table, rows in old.items():
        database.execute(f"DELETE FROM vault_{table}")
        for row in rows:
            marks = ", ".join([parameter_mark(filled)] * len(row))
            database.execute(f"INSERT INTO vault_{table} VALUES ({marks})", tuple(row))
    database.close()
    with pytest.raises(TamperError, match="older"):
        filled.reopen()


def test_anchor_rules(tmp_path: Path) -> None:
    house = build(str(tmp_path / "data.vault"), tmp_path)
    token, auditor = house.token("Otto"), house.token("Udo")
    anchor = tmp_path / "anchor"
    assert stat.S_IMODE(anchor.stat().st_mode) == 0o600
    anchor.unlink()
    with pytest.raises(TamperError, match="no anchor"):
        house.reopen()
    olga = house.tokens["Olga"]
    for pair, words in (((olga, auditor), "role"), ((token, olga), "role"), ((token, token), "alone")):
        with pytest.raises(ShoalError, match=words):
            Vault.open(house.place, key=house.key, anchor=anchor, accept=pair, clock=house.clock)
        assert not anchor.exists()
    Vault.open(house.place, key=house.key, anchor=anchor, accept=(token, auditor), clock=house.clock).close()
    house.reopen().close()
    kept = anchor.read_bytes()
    anchor.write_bytes(bytes(1024))
    with pytest.raises(TamperError, match="damaged"):
        house.reopen()
    for half in (0, 512):  # a write that broke off damages one slot only
        torn = bytearray(kept)
        torn[half : half + 512] = bytes(512)
        anchor.write_bytes(bytes(torn))
        house.reopen().close()
    with pytest.raises(UsageError, match="another vault"):
        Vault.create(tmp_path / "b.vault", key=new_key(), owner="a", auditor="b", anchor=anchor)
    house.vault.close()


def test_creation_is_whole_or_not(place: str, tmp_path: Path) -> None:
    house = build(place, tmp_path)
    with pytest.raises(UsageError, match="already"):
        Vault.create(place, key=new_key(), owner="a", auditor="b", anchor=tmp_path / "other")
    assert not (tmp_path / "other").exists()
    house.vault.close()
    house.reopen().close()


def test_crash_during_creation_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.protector.store import database as store

    def stop(name: str) -> None:
        if name == "before-commit":
            raise KeyboardInterrupt

    monkeypatch.setattr(store, "step", stop)
    with pytest.raises(KeyboardInterrupt):
        Vault.create(tmp_path / "a.vault", key=new_key(), owner="a", auditor="b", anchor=tmp_path / "anchor")
    monkeypatch.undo()
    build(str(tmp_path / "a.vault"), tmp_path).vault.close()


def test_no_vault_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no vault"):
        Vault.open(tmp_path / "none.vault", key=new_key())
    (tmp_path / "text.vault").write_text("hello, this is not a database at all, but a text of some length" * 50)
    with pytest.raises(ShoalError):
        Vault.open(tmp_path / "text.vault", key=new_key())


def test_a_new_vault_has_the_tables_of_the_schema_and_says_its_version(house: House) -> None:
    from sqlalchemy import inspect

    from shoal.protector.store.schema import metadata

    assert set(metadata.tables) == {n for n in inspect(house.vault.store.engine).get_table_names() if n.startswith("vault_")}
    with contextlib.closing(raw_database(house)) as database:
        (found,) = database.execute("SELECT value FROM vault_meta WHERE name = 'format'").fetchone()
    assert bytes(found) == b"shoal-vault/2"


@pytest.mark.parametrize("version", [b"0", b"1", b"3", b""])
def test_a_vault_of_another_version_is_refused_in_words(house: House, version: bytes) -> None:
    with contextlib.closing(raw_database(house)) as database:
        mark = parameter_mark(house)
        database.execute(f"UPDATE vault_meta SET value = {mark} WHERE name = 'format'", [b"shoal-vault/" + version])
    with pytest.raises(DataError, match="newer version of Shoal" if version == b"3" else "older than Shoal") as refused:
        house.reopen()
    assert ("Upgrade Shoal" if version == b"3" else "version of Shoal that made it") in refused.value.hint


def test_a_head_without_its_format_is_tampering(sqlite_house: House) -> None:
    with contextlib.closing(raw_database(sqlite_house)) as database:
        database.execute("UPDATE vault_meta SET value = ? WHERE name = 'format'", [b"something else"])
    with pytest.raises(TamperError, match="head record"):
        sqlite_house.reopen()


def test_a_database_without_a_vault(place: str, tmp_path: Path) -> None:
    """An empty database is refused when it is opened, and taken when a vault is made."""
    connect(place).dispose()
    with pytest.raises(DataError, match="no vault"):
        Vault.open(place, key=new_key(), anchor=tmp_path / "anchor")
    build(place, tmp_path).vault.close()
