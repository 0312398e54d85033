"""Several tables read in one state: those of one database over one connection."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.engines.core import state
from shoal.engines.core.base import Engine
from shoal.engines.core.state import Held
from shoal.engines.table import Table


def hold_together(tables: Sequence[Table]) -> list[tuple[Table, Held]]:
    """Begin a run on several tables: those of one database are read over one connection, so in one state."""
    places: dict[object, Engine] = {}
    joined = []
    for t in tables:
        engine = t._engine if t._engine.place is None else places.setdefault(t._engine.place, t._engine)
        joined.append(Table(engine, t._relation, t._schema, name=t.name))
    for engine in {id(t._engine): t._engine for t in joined}.values():
        engine.hold()
    return [(t, state.held(t._engine, t._relation)) for t in joined]
