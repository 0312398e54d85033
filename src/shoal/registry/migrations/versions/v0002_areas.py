"""The area around each population, so that neighbours are found by an index; indexes that answer without the table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_BATCH = 5000


def upgrade() -> None:
    op.add_column("registry_records", sa.Column("area", sa.String(600), nullable=False, server_default=""))
    _fill_areas(op.get_bind())
    with op.batch_alter_table("registry_records") as table:
        table.alter_column("area", server_default=None, existing_type=sa.String(600), existing_nullable=False)
    op.drop_index("registry_population", "registry_records")
    op.create_index("registry_population", "registry_records", ["population", "status", "codes"])
    op.create_index("registry_area", "registry_records", ["codes", "area", "status", "population", "kappa"])
    op.create_index("registry_key", "registry_records", ["key", "status"])
    op.create_index("registry_holder", "registry_records", ["holder", "key"])


def _fill_areas(db: sa.Connection) -> None:
    """A population's area is its place without the last part: of NL/Utrecht@2021 it is NL."""
    records = sa.table("registry_records", sa.column("id"), sa.column("population"), sa.column("area"))
    after = ""
    while rows := db.execute(
        sa.select(records.c.id, records.c.population).where(records.c.id > after).order_by(records.c.id).limit(_BATCH)
    ).all():
        areas = [{"i": i, "a": p.partition("@")[0].rpartition("/")[0]} for i, p in rows]
        db.execute(sa.update(records).where(records.c.id == sa.bindparam("i")).values(area=sa.bindparam("a")), areas)
        after = rows[-1].id


def downgrade() -> None:
    for name in ("registry_holder", "registry_key", "registry_area", "registry_population"):
        op.drop_index(name, "registry_records")
    op.create_index("registry_population", "registry_records", ["population", "status"])
    with op.batch_alter_table("registry_records") as table:
        table.drop_column("area")
