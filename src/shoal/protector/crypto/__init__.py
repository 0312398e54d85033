"""Keys and ciphers of a vault."""
