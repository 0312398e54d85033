"""Predictions when only published numbers of a distribution are known."""
