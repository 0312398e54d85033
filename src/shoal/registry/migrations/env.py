"""Alembic runs this with the connection that :mod:`shoal.registry.migrate` hands over."""

from __future__ import annotations

from alembic import context

from shoal.registry.tables import META


def run() -> None:
    """Carry out the migrations on the caller's connection and inside its transaction."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=META,
        version_table="registry_version",
        render_as_batch=True,
        transaction_per_migration=False,
    )
    with context.begin_transaction():
        context.run_migrations()


if hasattr(context, "config"):  # not when a tool merely imports the file
    run()
