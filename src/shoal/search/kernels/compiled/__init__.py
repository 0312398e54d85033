"""A whole search of a listed lattice in compiled code, where records are lost for the size of their class only."""
