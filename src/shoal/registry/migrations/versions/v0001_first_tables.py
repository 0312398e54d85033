"""First tables of the registry."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "registry_records",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("codes", sa.String(1000), nullable=False),
        sa.Column("population", sa.String(600), nullable=False),
        sa.Column("holder", sa.String(200), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("status", sa.String(12), nullable=False),
        sa.Column("kappa", sa.Float, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.UniqueConstraint("codes", "population", "key", "version", name="registry_one_version"),
    )
    op.create_index("registry_topic", "registry_records", ["codes", "population", "status"])
    op.create_index("registry_population", "registry_records", ["population", "status"])
    op.create_table(
        "registry_statements",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("subject", sa.String(64), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("ix_registry_statements_subject", "registry_statements", ["subject"])
    op.create_table(
        "registry_log",
        sa.Column("line", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("subject", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "registry_tokens",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("label", sa.String(120), nullable=False),
    )


def downgrade() -> None:
    for name in ("tokens", "log", "statements", "records"):
        op.drop_table(f"registry_{name}")
