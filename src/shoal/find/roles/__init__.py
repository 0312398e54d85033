"""The role of a column: by its name, by its values, and where neither tells."""
