"""One state of the data for a whole run: a snapshot where the engine has one, and the marks of files.

``hold`` is called before the first COUNT, ``require`` after the last RECODE: in between the engine answers from its snapshot
(repeatable read), and files are compared by size, times and number: those of this machine here, those that an engine
(Spark) reads as the engine sees them.
"""

from __future__ import annotations

import glob
import hashlib
from dataclasses import dataclass
from pathlib import Path

from shoal.engines.core.base import Engine, Marks, Relation
from shoal.errors import DataError


@dataclass(frozen=True)
class Held:
    """The state that a run is about: the name of the engine's snapshot or of the state of files that it reads (None where there
    is neither), and the marks of files.

    Where it is not ``sure`` that queries see one state, anyone who holds it must count again in the end.
    """

    snapshot: str | None
    marks: Marks
    sure: bool


def hold(engine: Engine, relation: Relation, *, write: bool = False) -> Held:
    """Begin a run; ``write`` where it ends with a new table in the same database."""
    engine.hold(write=write)
    return state_of(engine, relation)


def state_of(engine: Engine, relation: Relation) -> Held:
    """The state of a table in the run that its engine has begun."""
    own = engine.marks(relation)
    digest = hashlib.sha256(repr(own).encode()).hexdigest()[:32]  # tells neither names nor sizes of files
    name = f"{engine.name} files {digest}" if own and engine.holding is None else engine.holding
    return Held(name, own or _marks_of(relation), bool(own) or "::" not in relation.source or engine.isolates(relation))


def require(engine: Engine, relation: Relation, was: Held) -> None:
    """Refuse to go on where the data are not in the held state any more."""
    now = state_of(engine, relation)
    if now.marks != was.marks:
        raise changed()
    if now.snapshot != was.snapshot:
        raise DataError(
            "the snapshot that was counted has ended: the table was closed or used for another run, or its connection broke off.",
            hint="Run it again from the start.",
        )


def changed(counted: int | None = None, recoded: int | None = None) -> DataError:
    """The error where the data are not those that were counted, of which a release would have been made."""
    numbers = "" if counted is None else f": {counted:,} records were counted, {recoded:,} were recoded"
    numbers = (
        f": it still has {counted:,} records, but others or with other values" if counted and counted == recoded else numbers
    )
    hint = "Run it again when nobody writes to the table."
    return DataError(f"the table changed while the release was made{numbers}. Nothing was released.", hint=hint)


def other_rows() -> DataError:
    """The error where a table that is measured has other rows than when it was counted."""
    return DataError("the table changed while it was measured.", hint="Run it again when nobody writes to the table.")


def files_of(relation: Relation) -> list[Path]:
    """The files behind a relation, in the order of their names; none for databases and frames."""
    if not relation.source or "::" in relation.source:
        return []
    source = Path(relation.source)
    if source.is_file():
        return [source]
    if source.is_dir():
        return sorted(p for p in source.rglob("*") if p.is_file())
    return sorted(Path(p) for p in glob.glob(relation.source, recursive=True) if Path(p).is_file())


def _marks_of(relation: Relation) -> Marks:
    """Size, times and number of every file. Programs can set the time of the last change, but not that of the entry (ctime)."""
    marks = []
    for path in files_of(relation):
        try:
            stat = path.stat()
        except OSError:
            raise changed() from None
        marks.append((str(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino))
    return tuple(marks)
