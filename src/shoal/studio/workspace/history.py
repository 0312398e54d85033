"""The history of a table: each step has a name and the whole policy after it; steps are taken back and done again."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.errors import UsageError
from shoal.studio.workspace.database import STEPS, TABLES, sa, writing
from shoal.studio.workspace.rows import Step

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


class Superseded(Exception):
    """Another request was quicker: the step that a change began with is not the current one any more."""


class History:
    """Steps of every table; the one that holds is where the table's pointer stands."""

    def __init__(self, engine: Engine, *, steps: sa.Table = STEPS, owners: sa.Table = TABLES) -> None:
        self._engine = engine
        self._steps, self._owners = steps, owners

    def add(self, table_id: str, words: str, policy: str, *, locked: Sequence[str] = (), after: Step | None = None) -> Step:
        """A new step after the one that holds now; steps that had been taken back are gone.

        A step that changes nothing is not written: the one that holds is given back. If ``after`` is given and does not hold any
        more, nothing is written and :class:`Superseded` is raised.
        """
        kept = json.dumps(list(locked))
        with writing(self._engine) as db:
            at = self._at(db, table_id)
            if at >= 0:
                here = (
                    db.execute(sa.select(self._steps).where(self._steps.c.table_id == table_id, self._steps.c.number == at))
                    .mappings()
                    .one()
                )
                if after is not None and _step(here).version != after.version:
                    raise Superseded
                if (here["policy"], here["locked"]) == (policy, kept):
                    return _step(here)
            db.execute(self._steps.delete().where(self._steps.c.table_id == table_id, self._steps.c.number > at))
            made = time.time()
            db.execute(
                self._steps.insert().values(table_id=table_id, number=at + 1, words=words, policy=policy, locked=kept, made=made)
            )
            self._move(db, table_id, at + 1)
        return Step(at + 1, words, policy, tuple(locked), made)

    def now(self, table_id: str) -> Step | None:
        """The step that holds; None where nothing was done yet."""
        with self._engine.connect() as db:
            joined = self._steps.join(
                self._owners, (self._owners.c.id == self._steps.c.table_id) & (self._owners.c.at == self._steps.c.number)
            )
            row = (
                db.execute(sa.select(self._steps).select_from(joined).where(self._steps.c.table_id == table_id))
                .mappings()
                .first()
            )
        return None if row is None else _step(row)

    def steps(self, table_id: str) -> list[Step]:
        """Every step, those that were taken back included, in order."""
        with self._engine.connect() as db:
            rows = (
                db.execute(sa.select(self._steps).where(self._steps.c.table_id == table_id).order_by(self._steps.c.number))
                .mappings()
                .all()
            )
        return [_step(row) for row in rows]

    def go(self, table_id: str, number: int, *, seen: str = "") -> Step:
        """Back or forward to a step; if ``seen`` is not the version that holds, :class:`Superseded` is raised instead."""
        with writing(self._engine) as db:
            if seen:
                at = self._at(db, table_id)
                now = db.execute(sa.select(self._steps).where(self._steps.c.table_id == table_id, self._steps.c.number == at))
                if _step(now.mappings().one()).version != seen:
                    raise Superseded
            row = (
                db.execute(sa.select(self._steps).where(self._steps.c.table_id == table_id, self._steps.c.number == number))
                .mappings()
                .first()
            )
            if row is None:
                raise UsageError("this step does not exist.", hint="Choose one of the list.")
            self._move(db, table_id, number)
        return _step(row)

    def _at(self, db: Connection, table_id: str) -> int:
        at = db.execute(sa.select(self._owners.c.at).where(self._owners.c.id == table_id)).scalar()
        if at is None:
            raise UsageError("this is not here any more.", hint="Begin at Tables.", reason="unknown")
        return int(at)

    def _move(self, db: Connection, table_id: str, number: int) -> None:
        db.execute(self._owners.update().where(self._owners.c.id == table_id).values(at=number, touched=time.time()))


def _step(row: sa.RowMapping) -> Step:
    return Step(row["number"], row["words"], row["policy"], tuple(json.loads(row["locked"])), row["made"])
