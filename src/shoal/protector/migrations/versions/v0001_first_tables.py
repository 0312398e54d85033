"""First tables of the vault."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "vault_meta",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "vault_state",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "vault_objects",
        sa.Column("tag", sa.LargeBinary(16), primary_key=True),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_vault_objects_kind", "vault_objects", ["kind"])
    op.create_table(
        "vault_entries",
        sa.Column("id", big, primary_key=True, autoincrement=False),
        sa.Column("lookup", sa.LargeBinary(16), nullable=False, unique=True),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "vault_audit",
        sa.Column("seq", big, primary_key=True, autoincrement=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
    )
    op.create_table(
        "vault_checkpoints",
        sa.Column("seq", big, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("signature", sa.LargeBinary(64), nullable=False),
    )


def downgrade() -> None:
    for name in ("checkpoints", "audit", "entries", "objects", "state", "meta"):
        op.drop_table(f"vault_{name}")
