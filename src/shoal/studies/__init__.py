"""Many quasi-identifiers and subpopulations of one table in one run."""
