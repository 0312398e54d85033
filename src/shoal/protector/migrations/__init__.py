"""Alembic migrations of the vault, shipped with the package."""
