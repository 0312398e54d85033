"""People who asked not to be in a table: reading their list, and the table without their rows."""
