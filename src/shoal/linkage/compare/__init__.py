"""How alike two texts are, for many pairs at once."""
