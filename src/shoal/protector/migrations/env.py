"""Alembic runs this with the connection that :mod:`shoal.protector.migrate` hands over."""

from __future__ import annotations

from alembic import context

from shoal.engines.versions import run
from shoal.protector.store.schema import metadata

run(context, metadata)
