"""What ``shoal measure`` asks at a terminal, shows of a table, and does with an event table."""
