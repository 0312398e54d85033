"""Several attributes and intervals of one: what they do together."""
