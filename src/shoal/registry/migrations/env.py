"""Alembic runs this with the connection that :mod:`shoal.registry.migrate` hands over."""

from __future__ import annotations

from alembic import context

from shoal.engines.versions import run
from shoal.registry.keep.tables import META

run(context, META)
