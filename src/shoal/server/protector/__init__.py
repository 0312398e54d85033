"""The vault over HTTP."""
