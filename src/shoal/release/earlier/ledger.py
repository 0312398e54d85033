"""The owner's ledger of releases: a release is compared with the earlier ones of this user, without anybody naming them.

Takes    what a release shows of the original values; the files of the ledger (``releases`` in the user's state folder)
Returns  what this release and the earlier ones tell together, for the owner alone: nothing of it enters the release folder
Keeps    per release one private file: the path of its folder, the SHA-256 of its certificate, the names of its
         columns, and for each combination of their values a keyed digest, its number of people and its class. No value. A
         combination is one of quasi-identifiers in a table, a person in linked tables, a record in an event table. The key lies
         beside the files, so the ledger is as private as the user's own folder. Each file names its key by a digest: without
         the key it counts as not readable
Differs  ``--previous`` reads the earlier folder, compares sensitive values too, and stops the release; the ledger reports

Two releases with the same combinations need not be about the same people. They are compared if at least half of the people of
the smaller one have a counterpart; the sentence names the share. People who joined or left since are in one of the releases
only, so a combination counts as many people as it has in the release with the fewest. If nothing could be compared, the result is
"not run".
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.disk.atomic import atomic, state_folder, write_private
from shoal.errors import DataError, OutputError, UsageError
from shoal.kernels.group import Grouping, group_codes
from shoal.kernels.signatures import sha256_file
from shoal.kernels.text import canonical_text
from shoal.model import strict_json
from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import NAME
from shoal.model.counts.classes import ClassCounts, IntArray

FORMAT = "shoal-ledger/1"
SAME = 0.5
"""Share of the people of the smaller table that must have a counterpart."""
MOST_CLASSES = 2_000_000
MOST_BYTES = 100_000_000
AT_ONCE = 1 << 16
"""Classes whose digests are made together."""
NAMED = 3
"""Earlier releases that the sentence names."""
_NAME = "intersection: releases of your ledger"
Digests = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Entry:
    """One earlier release: for each combination of values its digest, its people and its class (−1: left out)."""

    folder: str
    date: str
    certificate: str
    key: str
    columns: tuple[str, ...]
    people: Digests
    sizes: IntArray
    classes: IntArray

    def to_json(self) -> dict[str, Any]:
        packed = {name: base64.b64encode(getattr(self, name).tobytes()).decode() for name in ("people", "sizes", "classes")}
        plain = {"folder": self.folder, "date": self.date, "certificate": self.certificate, "key": self.key}
        return {"format": FORMAT, **plain, "columns": list(self.columns), **packed}

    @classmethod
    def read(cls, file: Path) -> Entry:
        """An entry, if the file is one."""
        try:
            body = strict_json.loads(file.read_text(encoding="utf-8")) if file.stat().st_size <= MOST_BYTES else {}
            folder, date, mark, key = (str(body[name]) for name in ("folder", "date", "certificate", "key"))
            packed = {name: base64.b64decode(body[name], validate=True) for name in ("people", "sizes", "classes")}
            people: Digests = np.frombuffer(packed["people"], dtype=np.uint64)
            sizes, classes = (np.frombuffer(packed[name], dtype=np.int64) for name in ("sizes", "classes"))
            columns = tuple(body["columns"])
            entry = cls(folder, date, mark, key, columns, people, sizes, classes)
            good = (
                body["format"] == FORMAT
                and len(people) == len(sizes) == len(classes)
                and all(isinstance(c, str) for c in columns)
            )
            good &= bool(columns) and len(people) > 0 and not _repeats(people, classes)
            if not good or entry.sizes.min() < 1 or not -1 <= entry.classes.min() <= entry.classes.max() < 2**31:
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise DataError("an entry of the ledger cannot be read.") from None
        return entry


def _repeats(people: Digests, classes: IntArray) -> bool:
    """Whether a person is in one class twice; few people are in several, and numbers alone are sorted much faster."""
    if not _split(people):
        return False
    order = np.lexsort((classes, people))
    return bool(((np.diff(people[order]) == 0) & (np.diff(classes[order]) == 0)).any())


def _split(people: Digests) -> bool:
    """Whether a digest is there twice."""
    ordered = np.sort(people)  # np.unique does not sort and takes ten times as long
    return bool((ordered[1:] == ordered[:-1]).any())


Together = Callable[[Sequence[IntArray], ClassCounts], AttackResult]


@dataclass(frozen=True, eq=False)
class Published:
    """What a release shows: the class (−1: left out) of each combination of values in ``base``.

    ``together`` judges the classes of this release and of earlier ones, for combinations with the people who may be in all.
    ``exact``: only releases with the same columns can be compared. ``counted`` says what the share of a match is of.
    ``keyless``: the same by quasi-identifiers alone, for later releases without the key of the people; people of one
    combination may be in several classes.
    """

    base: ClassCounts
    classes: IntArray
    together: Together
    exact: bool = False
    counted: str = "people of the smaller table who have"
    keyless: Published | None = None

    @property
    def few(self) -> bool:
        return 0 < self.base.n_classes <= MOST_CLASSES and bool(self.base.columns)


def joint_groups(k: int) -> Together:
    """Whether people are among at least k in all releases together."""

    def together(classes: Sequence[IntArray], people: ClassCounts) -> AttackResult:
        from shoal.attacks.composition import intersection
        from shoal.attacks.downcoding import Recoded

        groups = intersection([Recoded(people, (c.astype(np.int32),), kept=c >= 0) for c in classes], k=k)
        return groups if groups.worst else nothing_compared()

    return together


def nothing_compared(why: str = "your ledger has no earlier release of these people that can be compared") -> AttackResult:
    """The result if nobody is known to be in two of the releases, or ``why`` there is no result."""
    from shoal.attacks.composition import QUESTION

    return AttackResult.not_run(_NAME, why, QUESTION)


def folder() -> Path:
    """Where the ledger lies."""
    return state_folder() / "releases"


def remember(shown: Published | None, released: Path | None) -> tuple[Path | None, AttackResult]:
    """Keep a release that was written, and compare it with the earlier ones; None: it cannot be kept."""
    if released is None:
        raise UsageError("the release is not written yet.", hint="Call release.write(DIR) first.")
    mine: dict[tuple[str, ...], Digests] = {}
    kept = keep(shown, released, mine)
    return kept, consult(shown, kept, mine)


def consult(
    shown: Published | None, kept: Path | None = None, mine: dict[tuple[str, ...], Digests] | None = None
) -> AttackResult:
    """What this release, perhaps ``kept`` already, and the earlier ones of the ledger tell together; ``mine``: its digests."""
    unread, seen, matches = 0, set[str](), dict[str, _Match]()
    mine = {} if mine is None else mine
    try:
        key = _key(make=False)
        for file in sorted(f for f in folder().glob("*.json") if kept is None or f.stem[:32] != kept.stem):
            try:
                entry = Entry.read(file)
                if entry.key != _name_of(key):
                    raise DataError("the key of this entry is lost.")
            except DataError:
                unread += 1
                continue
            match = _match(shown, entry, key, mine)
            seen.add(entry.certificate)
            if match is not None:  # by key rather than without it
                other = matches.setdefault(entry.certificate, match)
                matches[entry.certificate] = max(match, other, key=lambda m: len(m.entry.columns))
    except (DataError, OutputError):  # the key is damaged, or this user has no folder
        unread += 1
    others, matching = len(seen - set(matches)), list(matches.values())
    more = f" Releases of your ledger that were not compared (other columns or other people): {others}." if others else ""
    more += f" Files of your ledger that cannot be read: {unread}." if unread else ""
    result = nothing_compared()
    if matching and shown is not None:
        sets = [[m for m in matching if not m.split], *([m] for m in matching if m.split)]
        tried = [(_together(shown, some), some) for some in sets if some]
        result, matching = min(tried, key=lambda one: ("broken", "not run", "holds").index(one[0].verdict))
        matching = matching if result.verdict == "broken" else [m for _, some in tried for m in some]
    if shown is None or result.verdict == "not run":
        return replace(result, sentence=result.sentence + more)
    matching.sort(key=lambda match: match.share, reverse=True)
    with_ = ", ".join(f"{m.entry.folder} ({m.entry.date}; {100 * m.share:.3g} %)" for m in matching[:NAMED])
    with_ += f" and {len(matching) - NAMED} more" if len(matching) > NAMED else ""
    verdict = "warning" if result.verdict == "broken" else result.verdict
    share = f"{shown.counted} a counterpart"
    sentence = f"Together with {with_}, if they are about the same people (in brackets: {share}): {result.sentence}{more}"
    return replace(result, name=_NAME, verdict=verdict, sentence=sentence)


def _together(shown: Published, matches: Sequence[_Match]) -> AttackResult:
    """What this release and matching ones tell together; one that splits combinations is judged alone."""
    rows = matches[0].rows
    base, sizes = shown.base, np.minimum.reduce([shown.base.sizes[rows], *(m.sizes for m in matches)])
    people = ClassCounts(sizes, base.columns, [c[rows] for c in base.codes])
    return shown.together([shown.classes[rows], *(m.classes for m in matches)], people)


def keep(shown: Published | None, released: Path, mine: dict[tuple[str, ...], Digests]) -> Path | None:
    """Remember a release that was written; its file in the ledger, or None if it cannot be kept. ``mine`` gets its digests."""
    if shown is None or not shown.few:
        return None
    try:
        folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        key = _key(make=True)
        people = mine[shown.base.columns] = digests(shown.base, shown.base.columns, key)
        if _split(people):  # a column with both 1 and 1.0
            return None
        mark, today = sha256_file(released / NAME), datetime.now(UTC).date().isoformat()
        for part, name in ((shown, ""), (shown.keyless, "-keyless")):
            if part is None or not part.few:
                continue
            ids = people if part is shown else digests(part.base, part.base.columns, key)
            sizes = part.base.sizes.astype(np.int64)
            entry = Entry(str(released.absolute()), today, mark, _name_of(key), part.base.columns, ids, sizes, part.classes)
            with atomic(folder() / f"{mark[:32]}{name}.json") as file:
                file.write_text(json.dumps(entry.to_json()), encoding="utf-8")
    except (OSError, DataError, OutputError):
        return None
    return folder() / f"{mark[:32]}.json"


def digests(base: ClassCounts, columns: Sequence[str], key: bytes, some: IntArray | None = None) -> Digests:
    """A keyed digest of the values that each class, or each of ``some``, has in some columns."""
    hashed, codes = [], []
    for column in columns:
        j = base.column(column)
        name = hashlib.sha256(column.encode("utf-8", "surrogatepass")).digest()[:16]
        texts = [*canonical_text(base.categories[j]).to_pylist(), None]  # the missing value has the code −1
        each = b"".join(hashlib.blake2b(_bytes(t), digest_size=16, key=key, salt=name).digest() for t in texts)
        hashed.append(np.frombuffer(each, dtype=np.uint8).reshape(-1, 16))
        codes.append(base.codes[j] if some is None else base.codes[j][some])
    joined, width, keyed = [], 16 * len(hashed), hashlib.blake2b(digest_size=8, key=key)
    for start in range(0, len(codes[0]), AT_ONCE):
        parts = [values[c[start : start + AT_ONCE]] for values, c in zip(hashed, codes, strict=True)]
        rows = np.concatenate(parts, axis=1).tobytes()
        for i in range(0, len(rows), width):
            one = keyed.copy()  # the key is taken in once
            one.update(rows[i : i + width])
            joined.append(one.digest())
    return np.frombuffer(b"".join(joined), dtype=np.uint64)


def _bytes(text: str | None) -> bytes:
    """A value, the same whether its column is of text, whole numbers, decimals, days or points in time."""
    return b"\0" if text is None else b"\1" + text.removesuffix(".0").removesuffix(" 00:00:00").encode("utf-8", "surrogatepass")


@dataclass(frozen=True, eq=False)
class _Match:
    """An earlier release beside the base classes, which are repeated (``rows``) if it has their people in several classes: the
    class and the people that each had then, and the share in both tables."""

    entry: Entry
    rows: IntArray
    classes: IntArray
    sizes: IntArray
    share: float
    split: bool


def _match(shown: Published | None, entry: Entry, key: bytes, known_digests: dict[tuple[str, ...], Digests]) -> _Match | None:
    """An earlier release as the base classes see it; None if it was about other people or other columns."""
    if shown is None or not shown.few or not set(entry.columns) <= set(shown.base.columns):
        return None
    base = shown.base
    if shown.exact and set(entry.columns) != set(base.columns):
        return None
    whole, some = np.arange(base.n_classes), set(entry.columns) != set(base.columns)
    alike = group_codes([base.codes[base.column(c)] for c in entry.columns]) if some else Grouping(whole, whole, len(whole))
    if entry.columns not in known_digests:
        known_digests[entry.columns] = digests(base, entry.columns, key, alike.first)[alike.ids]
    mine, order = known_digests[entry.columns], np.argsort(entry.people, kind="stable")
    people, ascending = entry.people[order], np.argsort(mine)
    sought, (start, end) = mine[ascending], np.empty((2, len(mine)), dtype=np.int64)
    start[ascending] = np.searchsorted(people, sought, "left")  # numbers in order take a tenth of the time
    end[ascending] = np.searchsorted(people, sought, "right")
    rows = np.repeat(np.arange(len(mine)), np.maximum(end - start, 1))
    step = np.arange(len(rows)) - np.searchsorted(rows, rows)
    at, known = order[np.minimum(start[rows] + step, len(order) - 1)], (end > start)[rows]
    here = np.bincount(alike.ids, weights=base.sizes, minlength=alike.n)
    there = np.bincount(rows, weights=np.where(known, entry.sizes[at], 0), minlength=len(mine))
    share = float(np.minimum(here, there[alike.first]).sum() / min(base.sizes.sum(), entry.sizes.sum()))
    if share < SAME:
        return None
    classes, sizes = np.where(known, entry.classes[at], -1), np.where(known, entry.sizes[at], base.sizes[rows])
    return _Match(entry, rows, classes, sizes, share, _split(entry.people))


def _name_of(key: bytes) -> str:
    return hashlib.sha256(b"shoal-ledger" + key).hexdigest()[:16]


def _key(*, make: bool) -> bytes:
    """The key of the digests; made with the first release. Of two processes that make one, both use the one that came first."""
    file = folder() / "key"
    try:
        if make and not file.exists():
            own = folder() / f"key-{secrets.token_hex(8)}"
            write_private(own, secrets.token_hex(32))
            with contextlib.suppress(FileExistsError):
                os.link(own, file)  # complete when it appears
            own.unlink()
        key = bytes.fromhex(file.read_text(encoding="ascii")) if make or file.exists() else bytes(32)
    except (OSError, ValueError):
        key = b""
    if len(key) != 32:
        raise DataError("the key of the ledger cannot be read.")
    return key
