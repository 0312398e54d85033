"""A registry as plain files that any web server can host, and the same read back.

``index.json`` names the log head and every topic; ``records/ID.json`` holds one record each; ``statements.json`` and
``log.jsonl`` the rest.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.errors import OutputError, TamperError, UnreadableError
from shoal.registry.record import LARGEST_BYTES, Record
from shoal.registry.store import START, Store, link
from shoal.registry.trust import Statement
from shoal.release.sign import canonical

FORMAT = "shoal-registry/1"


def write_mirror(store: Store, folder: str | Path) -> Path:
    """Copy a registry into a new folder; it appears whole or not at all."""
    target = Path(folder)
    if target.exists():
        raise OutputError(f"'{target.name}' exists already.", hint="Mirror into a new folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=target.parent, prefix=".mirror-"))
    try:
        (work / "records").mkdir()
        topics: dict[str, list[str]] = {}
        after = ""
        while batch := store.page(after=after, limit=500):
            for record in batch:
                (work / "records" / f"{record.id}.json").write_bytes(canonical(record.to_json()) + b"\n")
                topics.setdefault("|".join((",".join(record.codes), str(record.population))), []).append(record.id)
            after = batch[-1].id
        lines: list[bytes] = []
        last = 0
        while page := store.log(after=last):
            lines.extend(canonical(line) for line in page)
            last = page[-1]["line"]
        (work / "log.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
        (work / "statements.json").write_bytes(canonical([s.to_json() for s in store.statements()]) + b"\n")
        line, head = store.head()
        index = {"format": FORMAT, "line": line, "head": head, "topics": topics}
        (work / "index.json").write_bytes(canonical(index) + b"\n")
        work.chmod(0o755)
        os.rename(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


class Mirror:
    """A registry read from files: every record's signature is checked when it is read, nothing is fetched."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        index = self._read("index.json")
        if not isinstance(index, dict) or index.get("format") != FORMAT or not isinstance(index.get("topics"), dict):
            raise UnreadableError(
                f"'{self.folder.name}' is not a mirrored registry.", hint="Make one with: shoal registry mirror"
            )
        self.index: dict[str, Any] = index

    def _read(self, name: str, limit: int = 200_000_000) -> Any:
        path = self.folder / name
        try:
            if path.stat().st_size > limit:
                raise UnreadableError(f"'{name}' of the mirror is larger than it can be.")
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise UnreadableError(f"'{name}' of the mirror cannot be read.", hint="Mirror the registry again.") from None

    def topic(self, codes: Sequence[str], population: str) -> list[Record]:
        return [self._record(i) for i in self.index["topics"].get("|".join((",".join(codes), population)), [])]

    def population(self, population: str) -> list[Record]:
        names = [t for t in self.index["topics"] if t.partition("|")[2] == population]
        return [self._record(i) for t in sorted(names) for i in self.index["topics"][t]]

    def kappas(self, codes: Sequence[str], *, limit: int = 500) -> dict[str, float]:
        names = sorted(t for t in self.index["topics"] if t.partition("|")[0] == ",".join(codes))
        identities = [i for t in names for i in self.index["topics"][t]][:limit]
        return {i: self._record(i).summary.statistics["kappa"].value for i in identities}

    def statements(self) -> list[Statement]:
        return [Statement.from_json(s).verify() for s in self._read("statements.json")]

    def head(self) -> tuple[int, str]:
        return int(self.index["line"]), str(self.index["head"])

    def _record(self, identity: str) -> Record:
        if len(identity) != 64 or not set(identity) <= set("0123456789abcdef"):
            raise TamperError("the mirror's index names a record that cannot exist.", hint="Mirror the registry again.")
        record = Record.from_json(self._read(f"records/{identity}.json", LARGEST_BYTES)).verify()
        if record.id != identity:
            raise TamperError("a record of the mirror is not the one its name says.", hint="Mirror the registry again.")
        return record

    def verify(self) -> dict[str, int]:
        """Check everything: the chain of the log, every signature, and that index and log agree."""
        line, previous = 0, START
        logged: set[str] = set()
        for text in (self.folder / "log.jsonl").read_text(encoding="utf-8").splitlines():
            entry = json.loads(text)
            line += 1
            if entry["line"] != line or link(previous, line, entry["kind"], entry["subject"], entry["digest"]) != entry["hash"]:
                raise TamperError(f"line {line} of the log does not fit the line before it.", hint="Mirror the registry again.")
            previous = entry["hash"]
            logged.add(entry["subject"])
        if (line, previous) != self.head():
            raise TamperError("the log ends elsewhere than the index says.", hint="Lines were cut off or added.")
        records = [self._record(i) for ids in self.index["topics"].values() for i in ids]
        if any(r.id not in logged for r in records):
            raise TamperError("a record is in the index but not in the log.", hint="Mirror the registry again.")
        return {"lines": line, "records": len(records), "statements": len(self.statements())}
