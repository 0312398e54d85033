"""Publishing from a table of the workspace: first exactly what would leave, then, when somebody says so, signed and kept."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shoal
from shoal.errors import UsageError
from shoal.kernels.signatures import Signer, signer
from shoal.registry.answer.query import Registry
from shoal.registry.keep.store import Store
from shoal.registry.publish.proposals import Ledger, Proposal, make_key, propose, publish
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.vocabulary import canonical, check_values
from shoal.studio.here import Studio
from shoal.studio.workspace.database import Kept


@dataclass(frozen=True)
class Asked:
    """What somebody wants to publish: columns of a table with their codes, about whom, in whose name."""

    kept: Kept
    columns: tuple[str, ...]
    codes: tuple[str, ...]
    population: Population
    holder: str
    method: str
    unit: str | None


def asked_of(studio: Studio, names: list[str], fields: dict[str, str]) -> Asked:
    """What the form says; ``names`` are the table's columns, which the form counts."""
    kept = studio.workspace.tables.get(fields.get("table", ""))
    pairs = [(names[i], code) for i in range(len(names)) if (code := fields.get(f"code.{i}", "").strip())]
    if not pairs:
        raise UsageError("no column was given a code.", hint="Write for instance age/years beside the column with ages.")
    holder = " ".join(fields.get("holder", "").split())
    if not holder:
        raise UsageError("a record needs its holder's name.", hint="Write who publishes.")
    number = fields.get("unit", "")
    unit = names[int(number)] if number.isdecimal() and int(number) < len(names) else None
    method = "sample" if fields.get("sample") == "1" else "complete count"
    people = Population.parse(fields.get("population", ""))
    return Asked(kept, tuple(c for c, _ in pairs), tuple(k for _, k in pairs), people, holder, method, unit)


def proposal_of(studio: Studio, shelf: Shelf, asked: Asked) -> Proposal:
    """Exactly what would leave; nothing is signed or kept yet."""
    with shoal.open(studio.workspace.tables.path(asked.kept), **asked.kept.read) as table:
        counts = table.count(asked.columns, unit=asked.unit)
    if counts.n_people is not None and counts.n_members != counts.n_people:
        what = f"{counts.n_members - counts.n_people:,} times a person is in more than one cell of these columns."
        raise UsageError(what, hint="A record counts each person once: keep one row per person, or fewer columns.")
    for column, code, values in zip(asked.columns, asked.codes, counts.categories, strict=True):
        check_values(code, column, values if len(values) > 100_000 else values.to_pylist())
    published = None
    if shelf.has_own:
        with shelf.store() as store:
            published = store.latest(canonical(asked.codes), str(asked.population), signer_of(shelf).public)
    today, ledger = datetime.datetime.now(datetime.UTC).date().isoformat(), Ledger.load(shelf.ledger_file)
    about: dict[str, Any] = {"holder": asked.holder, "date": today, "method": asked.method}
    return propose(counts.sizes, asked.codes, asked.population, ledger=ledger, published=published, **about)


def leaves(proposal: Proposal) -> str:
    """What would leave, as it is written."""
    return json.dumps(proposal.shown(), indent=1, ensure_ascii=False)


def published(shelf: Shelf, proposal: Proposal) -> Record:
    """Sign and keep it in the workspace's registry; the ledger remembers it."""
    own = signer_of(shelf)
    with shelf.store() as store:
        store.check_name(proposal.record.holder, own.public)
        book = Ledger.load(shelf.ledger_file)
        record = publish(proposal, own, book)
        if not proposal.unchanged:
            store.submit(record)
            book.save(shelf.ledger_file)
    return record


def signer_of(shelf: Shelf) -> Signer:
    """The key of this workspace, made when it is first needed."""
    shelf.folder.mkdir(mode=0o700, exist_ok=True)
    if not shelf.key_file.exists():
        make_key(shelf.key_file)
    return signer(shelf.key_file)


def as_file(record: Record) -> Any:
    return json.dumps(record.to_json(), indent=1, ensure_ascii=False) + "\n"


OWN, SHIPPED = "own", "shipped"


class Shelf:
    """Both registries of one workspace. The own one is a file beside the tables, made by the first publication."""

    def __init__(self, studio: Studio) -> None:
        self.folder: Path = studio.workspace.files.root / "registry"
        self.shipped = Registry()

    @property
    def has_own(self) -> bool:
        return self._file.is_file()

    @property
    def key_file(self) -> Path:
        """The key that signs what this workspace publishes."""
        return self.folder / "key"

    @property
    def ledger_file(self) -> Path:
        return self.folder / "ledger.json"

    @property
    def _file(self) -> Path:
        return self.folder / "registry.db"

    @contextmanager
    def asked(self, which: str) -> Iterator[Registry]:
        """The registry to ask: the own one where it is there and wanted."""
        if which != OWN or not self.has_own:
            yield self.shipped
            return
        with self.store() as opened:
            yield Registry(opened)

    @contextmanager
    def store(self) -> Iterator[Store]:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        opened = Store(f"sqlite:///{self._file}")
        try:
            self._file.chmod(0o600)
            yield opened
        finally:
            opened.close()
