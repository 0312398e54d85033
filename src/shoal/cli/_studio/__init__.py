"""Commands beside ``shoal studio`` itself."""
