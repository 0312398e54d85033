"""Signed tree heads of a mirror or a service: who signed how long a log, with which records, and what this machine saw before.

``head.json`` names the size and the root of the Merkle tree over the lines of the log (:mod:`shoal.kernels.merkle`) and the
digest of every file that answers are read from. Anyone who leaves a record, a statement or a notice out of a copy contradicts
the digests. Anyone who signs another copy, or puts back an older one, contradicts the head that this machine saw last. A service
with a key signs the head of its log, and proves with each that it continues the one before (RFC 9162).
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from shoal.disk.atomic import atomic, state_folder
from shoal.errors import DataError, OutputError, TamperError, UnreadableError
from shoal.kernels.merkle import Frontier, Tree, is_consistent, leaf
from shoal.kernels.signatures import Signer, canonical, check_signature, fingerprint, sha256_file
from shoal.model import strict_json

NAME = "head.json"
FORMAT = "shoal-tree-head/1"
FILES = ("catalogue.json", "index.json", "statements.json")
_AGAIN = "Keep both copies, show them to other users of the registry, and ask its operator."

REWRITTEN = "the registry's log does not go on from the earlier mirror: its history was rewritten or cut."
NOT_SIGNED = "the log is not the one that was signed."


@dataclass(frozen=True)
class Head:
    """The signed head of a copy."""

    size: int
    root: str
    files: dict[str, str]
    date: str
    key: str
    signature: str = ""

    def content(self) -> dict[str, Any]:
        return {"format": FORMAT, **{k: v for k, v in asdict(self).items() if k != "signature"}}

    @classmethod
    def read(cls, path: Path) -> Head:
        """The head in a file, if its signature fits."""
        wrong = UnreadableError(f"'{path.name}' is not the signed head of a registry.", hint="Mirror the registry again.")
        try:
            body = strict_json.loads(path.read_text(encoding="utf-8")) if path.stat().st_size < 10_000 else None
        except (OSError, ValueError, RecursionError):
            raise wrong from None
        return cls.parse(body, FILES, wrong)

    @classmethod
    def parse(cls, body: Any, files: Sequence[str], wrong: Exception) -> Head:
        """A head over these files from its JSON form, if its signature fits; ``wrong`` is raised for anything else."""
        types = {"format": str, "size": int, "root": str, "files": dict, "date": str, "key": str, "signature": str}
        if not isinstance(body, dict) or {k: type(v) for k, v in body.items()} != types or body["format"] != FORMAT:
            raise wrong
        head = cls(**{name: value for name, value in body.items() if name != "format"})
        if head.size < 0 or sorted(head.files) != sorted(files) or not re.fullmatch("[0-9a-f]{64}", head.root):
            raise wrong
        check_signature(head.content(), head.signature, head.key, of="head")
        return head

    @classmethod
    def sign(cls, size: int, root: bytes, files: dict[str, str], signer: Signer) -> dict[str, Any]:
        """A new head in its JSON form."""
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        content = cls(size, root.hex(), files, today, signer.public).content()
        return {**content, "signature": signer.sign(content)}


def sign_head(folder: Path, tree: Frontier, signer: Signer) -> None:
    """Write the head of a mirror whose files are complete."""
    files = {name: sha256_file(folder / name) for name in FILES}
    (folder / NAME).write_bytes(canonical(Head.sign(tree.size, tree.root, files, signer)) + b"\n")


class Copy(Protocol):
    """The parts of a mirror that are compared."""

    folder: Path
    signed: Head | None

    def tree(self, size: int | None = None) -> Frontier: ...


def meet(mirror: Copy) -> list[str]:
    """Compare a mirror with the heads that this machine saw before, and remember it; what stays unknown, in sentences.

    Refused: a copy without the head that it had, signed by another key, shorter than before at the same place, or whose log does
    not continue the longest one, no longer than itself, that the same key signed.
    """
    try:
        seen, place, head = _seen_heads(), str(mirror.folder.resolve()), mirror.signed
    except OutputError:
        return ["This user has no home folder (XDG_STATE_HOME): the copy is not compared with those seen before."]
    before = seen.get(place)
    if head is None:
        if before is not None:
            raise TamperError("the copy has lost its signed head.", hint="Mirror the registry again.")
        return ["This copy has no signed head: Shoal cannot see whether records were left out. Mirror the registry again."]
    if before is not None and before.key != head.key:
        raise TamperError("the copy is signed by another key than before.", hint=f"{_AGAIN} {_forget()}")
    if before is not None and before.size > head.size:
        what = f"the copy was put back: it has {head.size:,} log lines, {before.size:,} were seen here before."
        raise TamperError(what, hint=f"{_AGAIN} {_forget()}")
    same = [known for known in seen.values() if known.key == head.key]
    newest = max(same, key=lambda known: known.size, default=None)
    shorter = [known for known in same if known.size <= head.size]
    behind = max(shorter, key=lambda known: (known.size, bool(known.files)), default=None)  # a service signs no files
    notes = []
    if newest is None:
        notes.append(f"First copy seen of the signer {fingerprint(head.key)}: compare this fingerprint with the operator's.")
    elif newest.size > head.size:
        had = f"the same signer's log had {newest.size:,} lines on {newest.date}, here {head.size:,}"
        notes.append(f"An older copy: {had}. Shoal does not know whether that log begins with this one.")
    if behind is not None and (behind.size < head.size or behind.root != head.root):
        require_tree(mirror, behind, REWRITTEN)
    elif behind is not None and behind.files and behind.files != head.files:
        raise TamperError("the same log was signed with other records before.", hint=_AGAIN)
    if before != head:
        require_tree(mirror, head, NOT_SIGNED)
        try:
            _remember({**seen, place: head})
        except (OSError, OutputError):
            notes.append("This head cannot be remembered: the next copy will not be compared with it.")
    return notes


class ServedHeads:
    """The heads that a service signs: of its log as it stands, with the proof that it continues an earlier one."""

    def __init__(self, log: Callable[..., list[dict[str, Any]]], signer: Signer) -> None:
        self._log, self._signer = log, signer
        self._lock, self._tree = Lock(), Tree(())

    def since(self, size: int) -> dict[str, Any]:
        """The head, and the proof for a reader who saw the one of so many lines; no proof if the log was never so long."""
        with self._lock:
            tree = self._tree
            while page := self._log(after=tree.size):
                tree.add(leaf(canonical(line)) for line in page)
            proof = [part.hex() for part in tree.consistency(size)] if size <= tree.size else []
            return {"signed": Head.sign(tree.size, tree.root(), {}, self._signer), "consistency": proof}


def meet_service(place: str, ask: Callable[[int], Mapping[str, Any]]) -> Head | None:
    """The signed head of the service at ``place``, compared with the one seen there before, and remembered.

    ``ask`` gets the head and the proof that it continues one of so many lines. None if the service signs no head, or nothing can
    be remembered here. Refused: a service that has lost its head, signs with another key, or whose log does not continue the one
    that it signed before.
    """
    wrong = DataError("the head of the registry cannot be read.", hint="Is this the address of a registry?")
    try:
        seen = _seen_heads()
    except OutputError:  # a user without a home folder: nothing is remembered
        return None
    before = seen.get(place)
    answer = ask(0 if before is None else before.size)
    if answer.get("signed") is None:
        if before is not None:
            raise TamperError("the registry signs its log no longer.", hint=f"{_AGAIN} {_forget()}")
        return None
    head = Head.parse(answer["signed"], (), wrong)
    if before is not None:
        try:
            proof = [bytes.fromhex(part) for part in answer.get("consistency") or ()]
        except (TypeError, ValueError):
            raise wrong from None
        if before.key != head.key:
            raise TamperError("the registry signs with another key than before.", hint=f"{_AGAIN} {_forget()}")
        if not is_consistent(before.size, head.size, bytes.fromhex(before.root), bytes.fromhex(head.root), proof):
            raise TamperError(REWRITTEN, hint=f"{_AGAIN} {_forget()}")
    _remember({**seen, place: head})
    return head


def require_tree(mirror: Copy, head: Head | None, problem: str) -> None:
    """Refuse a mirror whose log does not begin with the tree of a head; its own signed head, with nothing behind it."""
    if head is not None:
        tree = mirror.tree(None if head is mirror.signed else head.size)
        if (tree.size, tree.root.hex()) != (head.size, head.root):
            raise TamperError(problem, hint=_AGAIN)


def tree_of(lines: Any, size: int | None = None) -> Frontier:
    """The tree over the first lines of a log."""
    tree = Frontier()
    for line in lines:
        if tree.size == size:
            break
        tree.add(leaf(canonical(line)))
    return tree


def _file() -> Path:
    return state_folder() / "registry-heads.json"


def _forget() -> str:
    return f"If you changed the copy yourself, remove its entry from {_file()}."


def _seen_heads() -> dict[str, Head]:
    """The heads seen on this machine, by folder; a file that cannot be read is an alarm, not a fresh start."""
    if not _file().exists():
        return {}
    try:
        return {place: Head(**head) for place, head in json.loads(_file().read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        hint = "Remove it to begin again."
        raise UnreadableError(f"the list of heads seen before cannot be read: {_file()}.", hint=hint) from None


def _remember(seen: dict[str, Head]) -> None:
    _file().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with atomic(_file()) as part:
        part.write_text(json.dumps({place: asdict(head) for place, head in seen.items()}), encoding="utf-8")
