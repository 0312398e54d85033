"""How the registry's tables came to be, version by version."""
