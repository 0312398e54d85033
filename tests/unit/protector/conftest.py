"""The vault's fixtures."""

from protector_support import house, place, sqlite_house
from servers import postgres_server

__all__ = ["house", "place", "postgres_server", "sqlite_house"]
