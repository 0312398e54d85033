"""Direct identifiers: masks, keyed hashes, fakes, shifted dates."""
