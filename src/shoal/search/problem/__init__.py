"""A search problem in arrays: codes, losses, checks, results."""
