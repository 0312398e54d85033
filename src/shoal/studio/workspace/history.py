"""The history of a table or questionnaire: steps with a name and the whole text after each, taken back and done again."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.stores import sa
from shoal.studio.workspace.database import QUESTION_STEPS, QUESTIONNAIRES, STEPS, TABLES, KeptQuestions, Rows, Step, writing

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
                here = self._steps_where(db, table_id, self._steps.c.number == at)[0]
                if after is not None and here.version != after.version:
                    raise Superseded
                if (here.policy, here.locked) == (policy, tuple(locked)):
                    return here
            db.execute(self._steps.delete().where(self._steps.c.table_id == table_id, self._steps.c.number > at))
            made = time.time()
            db.execute(
                self._steps.insert().values(table_id=table_id, number=at + 1, words=words, policy=policy, locked=kept, made=made)
            )
            self._move(db, table_id, at + 1)
        return Step(at + 1, words, policy, tuple(locked), made)

    def now(self, table_id: str) -> Step | None:
        """The step that holds; None where nothing was done yet."""
        at = sa.select(self._owners.c.at).where(self._owners.c.id == table_id).scalar_subquery()
        with self._engine.connect() as db:
            steps = self._steps_where(db, table_id, self._steps.c.number == at)
        return steps[0] if steps else None

    def steps(self, table_id: str) -> list[Step]:
        """Every step, those that were taken back included, in order."""
        with self._engine.connect() as db:
            return self._steps_where(db, table_id)

    def go(self, table_id: str, number: int, *, seen: str = "") -> Step:
        """Back or forward to a step; if ``seen`` is not the version that holds, :class:`Superseded` is raised instead."""
        with writing(self._engine) as db:
            at = self._at(db, table_id) if seen else -1
            if seen and self._steps_where(db, table_id, self._steps.c.number == at)[0].version != seen:
                raise Superseded
            steps = self._steps_where(db, table_id, self._steps.c.number == number)
            if not steps:
                raise UsageError("this step does not exist.", hint="Choose one of the list.")
            self._move(db, table_id, number)
        return steps[0]

    def _steps_where(self, db: Connection, table_id: str, *wanted: Any) -> list[Step]:
        mine = sa.select(self._steps).where(self._steps.c.table_id == table_id, *wanted).order_by(self._steps.c.number)
        rows = db.execute(mine).mappings().all()
        return [Step(r["number"], r["words"], r["policy"], tuple(json.loads(r["locked"])), r["made"]) for r in rows]

    def _at(self, db: Connection, table_id: str) -> int:
        at = db.execute(sa.select(self._owners.c.at).where(self._owners.c.id == table_id)).scalar()
        if at is None:
            raise UsageError("this is not here any more.", hint="Begin at Tables.", reason="unknown")
        return int(at)

    def _move(self, db: Connection, table_id: str, number: int) -> None:
        db.execute(self._owners.update().where(self._owners.c.id == table_id).values(at=number, touched=time.time()))


class Questionnaires(Rows[KeptQuestions]):
    """Questionnaires of a workspace: each is the text of a ``questions.yml``, with every step that can be taken back."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, QUESTIONNAIRES, KeptQuestions, "questionnaire", newest="touched", home="Questionnaire")
        self.history = History(engine, steps=QUESTION_STEPS, owners=QUESTIONNAIRES)

    def add(self, name: str, words: str, text: str) -> KeptQuestions:
        """A new one with its first step."""
        made = self.insert(name=name, at=-1, touched=time.time())
        self.history.add(made.id, words, text)
        return self.get(made.id)

    def now(self, key: str) -> Step:
        """The step that holds of one that is there."""
        step = self.history.now(self.get(key).id)
        assert step is not None
        return step

    def delete(self, key: str) -> None:
        with writing(self._engine) as db:
            db.execute(QUESTION_STEPS.delete().where(QUESTION_STEPS.c.table_id == key))
        self.remove(key)
