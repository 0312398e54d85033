"""Builders: one kind of hierarchy per file."""
