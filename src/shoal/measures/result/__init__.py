"""A measurement: its numbers, its sentences, its JSON."""
