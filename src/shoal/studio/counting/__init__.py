"""Counting in processes of its own: what a page asks of a table never takes the server's time, and the counts stay there."""
