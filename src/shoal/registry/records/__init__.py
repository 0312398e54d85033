"""Signed records, their vocabulary, and trust between holders."""
