"""Pseudonyms: domains, minting, renewal, tables."""
