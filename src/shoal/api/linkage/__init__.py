"""Which records of one or two tables are of the same person."""
