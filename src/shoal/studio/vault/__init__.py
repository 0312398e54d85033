"""Vault: the console of a served vault, for one role at a time."""
