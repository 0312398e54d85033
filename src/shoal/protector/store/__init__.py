"""The sealed store of a vault."""
