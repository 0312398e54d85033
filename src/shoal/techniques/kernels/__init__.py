"""Compiled loops of the transformations."""
