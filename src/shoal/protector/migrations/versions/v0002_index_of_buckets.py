"""The index moves from a B-tree over the lookup tags into sealed buckets.

The buckets are sealed under the domains' keys, so :meth:`shoal.protector.vault.Vault.migrate` fills them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NAMES = {"uq": "%(table_name)s_%(column_0_name)s_key"}  # the name PostgreSQL gave; SQLite gave none


def upgrade() -> None:
    op.create_table(
        "vault_index",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
    )
    with op.batch_alter_table("vault_entries", naming_convention=_NAMES) as entries:
        entries.drop_constraint("vault_entries_lookup_key", type_="unique")


def downgrade() -> None:
    with op.batch_alter_table("vault_entries", naming_convention=_NAMES) as entries:
        entries.create_unique_constraint("vault_entries_lookup_key", ["lookup"])
    op.drop_table("vault_index")
