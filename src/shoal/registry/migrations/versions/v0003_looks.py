"""Holders' names as they look, so that a name under two keys is found in any spelling."""

from __future__ import annotations

import json
from collections.abc import Callable

import sqlalchemy as sa
from alembic import op

from shoal.model.roles import look

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_BATCH = 5000


def upgrade() -> None:
    _rename(look)


def downgrade() -> None:
    _rename(lambda name: name)


def _rename(spelt: Callable[[str], str]) -> None:
    """Write the holder's name of every record, which its body tells, in one spelling."""
    db = op.get_bind()
    records = sa.table("registry_records", sa.column("id"), sa.column("holder"), sa.column("body"))
    after = ""
    while rows := db.execute(
        sa.select(records.c.id, records.c.body).where(records.c.id > after).order_by(records.c.id).limit(_BATCH)
    ).all():
        names = [{"i": i, "h": spelt(json.loads(body)["holder"])} for i, body in rows]
        db.execute(sa.update(records).where(records.c.id == sa.bindparam("i")).values(holder=sa.bindparam("h")), names)
        after = rows[-1].id
