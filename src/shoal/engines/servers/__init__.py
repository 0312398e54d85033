"""Database servers: addresses, and one dialect each."""
