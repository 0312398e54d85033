"""Questionnaires of a workspace: each is the text of a ``questions.yml``, with every step that can be taken back."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.errors import UsageError
from shoal.studio.workspace.database import QUESTION_STEPS, QUESTIONNAIRES, sa, writing
from shoal.studio.workspace.history import History

if TYPE_CHECKING:
    from sqlalchemy import Engine


@dataclass(frozen=True)
class KeptQuestions:
    """A questionnaire of the workspace."""

    id: str
    name: str
    at: int
    made: float
    touched: float


class Questionnaires:
    """The questionnaires that people work on."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.history = History(engine, steps=QUESTION_STEPS, owners=QUESTIONNAIRES)

    def add(self, name: str, words: str, text: str) -> KeptQuestions:
        """A new one with its first step."""
        key, now = secrets.token_hex(8), time.time()
        with writing(self._engine) as db:
            db.execute(QUESTIONNAIRES.insert().values(id=key, name=name, at=-1, made=now, touched=now))
        self.history.add(key, words, text)
        return self.get(key)

    def get(self, key: str) -> KeptQuestions:
        with self._engine.connect() as db:
            row = db.execute(sa.select(QUESTIONNAIRES).where(QUESTIONNAIRES.c.id == key)).mappings().first()
        if row is None:
            raise UsageError("this questionnaire is not here any more.", hint="Begin at Questionnaire.", reason="unknown")
        return KeptQuestions(**row)

    def all(self) -> list[KeptQuestions]:
        """The one that was touched last comes first."""
        asked = sa.select(QUESTIONNAIRES).order_by(QUESTIONNAIRES.c.touched.desc(), QUESTIONNAIRES.c.id)
        with self._engine.connect() as db:
            return [KeptQuestions(**row) for row in db.execute(asked).mappings().all()]

    def delete(self, key: str) -> None:
        with writing(self._engine) as db:
            db.execute(QUESTION_STEPS.delete().where(QUESTION_STEPS.c.table_id == key))
            db.execute(QUESTIONNAIRES.delete().where(QUESTIONNAIRES.c.id == key))
