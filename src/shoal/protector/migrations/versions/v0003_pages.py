"""Identity rows move from one row each into sealed pages.

The pages are sealed under the domains' keys, so :meth:`shoal.protector.vault.Vault.migrate` fills them from the rows, which stand
aside as ``vault_rows`` until then.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().execute(sa.text("SELECT 1 FROM vault_entries LIMIT 1")).first() is None:
        op.drop_table("vault_entries")
    else:
        op.rename_table("vault_entries", "vault_rows")
    _create(sa.Column("sealed", sa.LargeBinary, nullable=False))


def downgrade() -> None:
    op.drop_table("vault_entries")
    op.execute("DROP TABLE IF EXISTS vault_rows")
    _create(sa.Column("lookup", sa.LargeBinary(16), nullable=False), sa.Column("sealed", sa.LargeBinary, nullable=False))


def _create(*columns: sa.Column[bytes]) -> None:
    big = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table("vault_entries", sa.Column("id", big, primary_key=True, autoincrement=False), *columns)
