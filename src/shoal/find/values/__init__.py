"""What the values of a column say: identifiers, dates, codes, bands, words in order, spellings of "missing"."""
