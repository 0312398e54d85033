"""A release beside earlier ones of the same people."""
