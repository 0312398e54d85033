"""Numbers of the classes of a table: sizes, diversity, closeness, risk."""
