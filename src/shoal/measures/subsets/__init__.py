"""Which columns together single people out: sets of columns, minimal sample uniques."""
