"""A registry as plain files that any web server can host, and the same read back.

``index.json`` names the log head and every topic with its current records; ``records/ID.json`` holds one record each, earlier
and revoked ones too; ``catalogue.json`` every notice and which of them are current; ``statements.json`` and ``log.jsonl`` the
rest. ``head.json`` signs them all (:mod:`.heads`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from shoal.disk.atomic import free, publish, staged
from shoal.errors import DataError, TamperError, UnreadableError, refuse
from shoal.kernels.merkle import Frontier
from shoal.kernels.signatures import Signer, canonical
from shoal.model import strict_json
from shoal.model.roles import look
from shoal.registry.keep.heads import NAME, NOT_SIGNED, REWRITTEN, Head, require_tree, sign_head, tree_of
from shoal.registry.keep.remote import Remote, RemoteNotices
from shoal.registry.records.chain import START, Replay, digest_of
from shoal.registry.records.notice import Notice
from shoal.registry.records.population import key_of
from shoal.registry.records.record import LARGEST_BYTES, Record, check_id
from shoal.registry.records.trust import Statement

if TYPE_CHECKING:
    from shoal.registry.keep.store import Notices, Store

FORMAT = "shoal-registry/1"
LONGEST_LINE = 2000
"""Bytes that a line of the log has at most."""
ENDS_ELSEWHERE = "the log ends elsewhere than the index says."


def write_mirror(
    source: Store | Remote,
    folder: str | Path,
    *,
    earlier: str | Path | None = None,
    also: Callable[[Mirror], Mapping[str, bytes]] = lambda mirror: {},
    signer: Signer | None = None,
) -> Path:
    """Copy a registry into a new folder; it appears whole or not at all.

    ``earlier`` is a mirror made before, or its head: a registry whose log does not go on from there has rewritten its history.
    ``also`` makes further files of the folder from the mirror, such as the page "How exposed am I?". ``signer`` signs the head
    of the copy (:mod:`.heads`).
    """
    target = free(folder)
    with staged(target.absolute().parent) as work:
        promised = source.signed_head() if isinstance(source, Remote) else None
        _write(source, work)
        Mirror(work).verify(earlier=earlier)  # a source that lies makes no mirror
        require_tree(Mirror(work), promised, NOT_SIGNED)  # and one that shows others another log, neither
        if signer is not None:
            sign_head(work, Mirror(work).tree(), signer)
        for name, content in also(Mirror(work)).items():
            (work / name).write_bytes(content)
        publish(work, target)
    return target


def _write(source: Store | Remote, work: Path) -> None:
    (work / "records").mkdir()
    line, head = 0, ""
    with (work / "log.jsonl").open("wb") as out:
        while page := source.log(after=line):
            out.writelines(canonical(entry) + b"\n" for entry in page)
            line, head = page[-1]["line"], page[-1]["hash"]
    topics: dict[str, list[str]] = {}
    holders: dict[str, set[str]] = {}
    after = ""
    while batch := source.history(after=after, limit=500):
        for record, status in batch:
            (work / "records" / f"{check_id(record.id)}.json").write_bytes(canonical(record.to_json()) + b"\n")
            holders.setdefault(record.holder, set()).add(record.key)
            if status == "current":
                topics.setdefault(_topic(record.codes, str(record.population)), []).append(record.id)
        after = batch[-1][0].id
    (work / "statements.json").write_bytes(canonical([s.to_json() for s in source.statements()]) + b"\n")
    _write_catalogue(source.notices, work / "catalogue.json")
    index = {"format": FORMAT, "line": line, "head": head or START, "topics": topics}
    index["holders"] = {name: sorted(keys) for name, keys in holders.items()}
    (work / "index.json").write_bytes(canonical(index) + b"\n")


def _write_catalogue(notices: Notices | RemoteNotices, path: Path) -> None:
    every: list[tuple[Notice, str]] = []
    while page := notices.history(after=every[-1][0].id if every else "", limit=500):
        every += page
    current = [notice.id for notice, status in every if status == "current"]
    path.write_bytes(canonical({"notices": [n.to_json() for n, _ in every], "current": current}) + b"\n")


def verify_store(store: Store) -> dict[str, int]:
    """Replay the log of a store as that of a mirror: a database from elsewhere may hold records that nobody signed."""

    def record(identity: str) -> Record:
        record_found = store.get(identity)
        if record_found is None:
            raise TamperError("a record of the log is missing.", hint="Restore the database from a copy.")
        return Record.from_json(record_found[0].to_json()).verify()

    noticed, shown_notices = list[Notice](), set[str]()
    while some := store.notices.history(after=noticed[-1].id if noticed else "", limit=500):
        noticed += [notice.verify() for notice, _ in some]
        shown_notices |= {notice.id for notice, status in some if status == "current"}
    replay, after = Replay(record, [s.verify() for s in store.statements()], noticed), 0
    while page := store.log(after=after):
        for entry in page:
            replay.take(entry)
        after = replay.head[0]
    shown, last = set[str](), ""
    while batch := store.page(after=last, limit=500):
        shown |= {r.id for r in batch}
        last = batch[-1].id
    if shown != set(replay.current) or shown_notices != set(replay.catalogue):
        raise TamperError("the database shows other records than its log leaves current.", hint="Restore it from a copy.")
    return {"lines": replay.head[0], "records": len(shown), "statements": replay.statements, "notices": len(shown_notices)}


def _topic(codes: Sequence[str], population: str) -> str:
    return f"{','.join(codes)}|{population}"


class Mirror:
    """A registry read from files: every record's signature is checked when it is read, nothing is fetched."""

    reading = nullcontext  # nothing is held for a question

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.signed = Head.read(self.folder / NAME) if (self.folder / NAME).exists() else None
        index = self._read("index.json")
        if not isinstance(index, dict) or index.get("format") != FORMAT or not _well_formed(index):
            hint = "Make one with: shoal registry mirror"
            raise UnreadableError(f"'{self.folder.name}' is not a mirrored registry.", hint=hint)
        self.index: dict[str, Any] = index
        self.notes: list[str] = []
        """What is not known about the copy (:func:`.heads.meet`)."""
        self._by_topic: dict[tuple[str, str], list[str]] | None = None
        self._by_population: dict[str, list[tuple[str, ...]]] | None = None
        self._looks: dict[str, set[str]] | None = None

    def _read(self, name: str, limit: int = 1_000_000_000) -> Any:
        path = self.folder / name
        try:
            if path.stat().st_size > limit:
                raise UnreadableError(f"'{name}' of the mirror is larger than it can be.")
            content = path.read_bytes()
            wanted = self.signed.files.get(name) if self.signed is not None else None
            if wanted is not None and digest_of(content) != wanted:
                raise TamperError(f"'{name}' of the mirror is not the one that was signed.", hint="Mirror the registry again.")
            return strict_json.loads(content.decode("utf-8"))
        except (OSError, ValueError, RecursionError):
            raise UnreadableError(f"'{name}' of the mirror cannot be read.", hint="Mirror the registry again.") from None

    def topic(self, codes: Sequence[str], population: str) -> list[Record]:
        return [self._record(i) for i in self._topics().get((",".join(codes), key_of(population)), [])]

    def _topics(self) -> dict[tuple[str, str], list[str]]:
        """Ids of the current records, by codes and population, however a holder spells it."""
        if self._by_topic is None:
            self._by_topic = {}
            for topic, ids in self.index["topics"].items():
                codes, _, people = topic.partition("|")
                self._by_topic.setdefault((codes, key_of(people)), []).extend(ids)
        return self._by_topic

    def codings(self, population: str) -> list[tuple[str, ...]]:
        if self._by_population is None:
            self._by_population = {}
            for codes, people in sorted(self._topics()):
                self._by_population.setdefault(people, []).append(tuple(codes.split(",")))
        return self._by_population.get(key_of(population), [])

    def topics(self, text: str = "", *, limit: int = 1000) -> list[tuple[str, tuple[str, ...]]]:
        """Population and codes of current records whose population contains the text."""
        parts = (topic.partition("|") for topic in self.index["topics"])
        return sorted((p, tuple(c.split(","))) for c, _, p in parts if text.casefold() in p.casefold())[:limit]

    def holders(self, population: str, *, limit: int = 100) -> list[str]:
        """Keys that publish about a population."""
        keys = {r.key for codes in self.codings(population) for r in self.topic(codes, population)}
        return sorted(keys)[:limit]

    def neighbours(
        self, codes: Sequence[str], area: str, *, limit: int = 500, keys: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        inside = [
            p
            for c, p in sorted(self._topics())
            if c == ",".join(codes) and p.partition("@")[0].rpartition("/")[0] == area.casefold()
        ]
        records = ((p, r) for p in inside for r in self.topic(codes, p) if keys is None or r.key in keys)
        return sorted((p, r.summary.statistics["kappa"].value) for p, r in islice(records, limit))

    def namesakes(self, holder: str, key: str) -> bool:
        if self._looks is None:
            self._looks = {}
            for name, keys in self.index["holders"].items():
                self._looks.setdefault(look(name), set()).update(keys)
        return bool(self._looks.get(look(holder), set()) - {key})

    def statements(self) -> list[Statement]:
        stored = self._read("statements.json")
        if not isinstance(stored, list):
            raise UnreadableError("'statements.json' of the mirror cannot be read.", hint="Mirror the registry again.")
        return [Statement.from_json(s).verify() for s in stored]

    @property
    def notices(self) -> MirroredNotices:
        """The catalogue."""
        catalogue = self._read("catalogue.json")
        lists = [catalogue.get(name) if isinstance(catalogue, dict) else None for name in ("notices", "current")]
        if not all(isinstance(each, list) for each in lists):
            raise UnreadableError("'catalogue.json' of the mirror cannot be read.", hint="Mirror the registry again.")
        every, current = lists[0] or [], lists[1] or []
        return MirroredNotices([Notice.from_json(n).verify() for n in every], {str(i) for i in current})

    def head(self) -> tuple[int, str]:
        return self.index["line"], self.index["head"]

    def _record(self, identity: str) -> Record:
        with refuse(TamperError("the mirror names a record that cannot exist.", hint="Mirror the registry again."), DataError):
            name = check_id(identity)
        record = Record.from_json(self._read(f"records/{name}.json", LARGEST_BYTES)).verify()
        if record.id != identity:
            raise TamperError("a record of the mirror is not the one its name says.", hint="Mirror the registry again.")
        return record

    def _log(self) -> Iterator[Any]:
        """Lines of the log, each read no further than a line can be long."""
        try:
            with (self.folder / "log.jsonl").open("rb") as source:
                while text := source.readline(LONGEST_LINE):
                    yield strict_json.loads(text)
        except (OSError, ValueError, RecursionError):
            raise UnreadableError("'log.jsonl' of the mirror cannot be read.", hint="Mirror the registry again.") from None

    def tree(self, size: int | None = None) -> Frontier:
        """The Merkle tree over the lines of the log, or over the first of them."""
        return tree_of(self._log(), size)

    def require_end(self) -> Self:
        """This mirror, if its log ends where its index says: a copy that was cut short answers no question.

        Only the last line is read; :meth:`verify` checks them all.
        """
        try:
            with (self.folder / "log.jsonl").open("rb") as source:
                source.seek(max(0, source.seek(0, os.SEEK_END) - LONGEST_LINE))
                lines = source.read().splitlines()
            last = strict_json.loads(lines[-1]) if lines else {"line": 0, "hash": START}
        except (OSError, ValueError, RecursionError):
            raise UnreadableError("'log.jsonl' of the mirror cannot be read.", hint="Mirror the registry again.") from None
        if not isinstance(last, dict) or (last.get("line"), last.get("hash")) != self.head():
            raise TamperError(ENDS_ELSEWHERE, hint="Lines were cut off or added. Mirror the registry again.")
        return self

    def verify(self, *, earlier: str | Path | None = None) -> dict[str, int]:
        """Replay the log: its chain, every record and statement it names, every signature; and the index is what results.

        With an ``earlier`` mirror of the same registry, or its signed head: its lines must still be there, unchanged.
        """
        catalogue = self.notices
        replay = Replay(self._record, self.statements(), catalogue.every)
        for entry in self._log():
            replay.take(entry)
        require_tree(self, self.signed, NOT_SIGNED)
        if earlier is not None:
            require_tree(self, _tree_head(Path(earlier)), REWRITTEN)
        if replay.head != self.head():
            raise TamperError(ENDS_ELSEWHERE, hint="Lines were cut off or added.")
        listed = {i: topic for topic, ids in self.index["topics"].items() for i in ids}
        if listed != {i: _topic(r.codes, str(r.population)) for i, r in replay.current.items()}:
            raise TamperError("the index names other records than the log leaves current.", hint="Mirror the registry again.")
        if replay.holders != {name: set(keys) for name, keys in self.index["holders"].items()}:
            raise TamperError("the index names other holders than the records do.", hint="Mirror the registry again.")
        if set(replay.catalogue) != catalogue.ids or len(catalogue.every) != len({n.id for n in catalogue.every}):
            raise TamperError("the catalogue names other notices than the log leaves.", hint="Mirror the registry again.")
        counted = {"lines": replay.head[0], "records": len(listed), "statements": replay.statements}
        return {**counted, "notices": len(catalogue.ids)}


class MirroredNotices:
    """The catalogue of a mirror: every notice, and the ids of the current ones."""

    def __init__(self, every: list[Notice], ids: set[str]) -> None:
        self.every, self.ids = every, ids

    def current(self, text: str = "", *, limit: int = 1000) -> list[Notice]:
        """Current notices about populations whose name contains the text."""
        notices = [n for n in self.every if n.id in self.ids and text.casefold() in n.population.key]
        return sorted(notices, key=lambda n: (n.population.key, n.id))[:limit]


def _tree_head(earlier: Path) -> Head:
    """The head of an earlier mirror, signed or not, or a signed head alone."""
    if earlier.is_file():
        return Head.read(earlier)
    tree = Mirror(earlier).tree()
    return Mirror(earlier).signed or Head(tree.size, tree.root.hex(), {}, "", "")


def _well_formed(index: dict[str, Any]) -> bool:
    """Whether an index has lists of text under every topic and every holder, and a line and a head."""
    groups = [index.get("topics"), index.get("holders")]
    if not all(isinstance(g, dict) and all(isinstance(ids, list) for ids in g.values()) for g in groups):
        return False
    texts = all(isinstance(i, str) for g in groups if g for ids in g.values() for i in ids)
    return texts and type(index.get("line")) is int and isinstance(index.get("head"), str)
