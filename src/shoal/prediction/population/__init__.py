"""Unique in the population, judged from a sample."""
