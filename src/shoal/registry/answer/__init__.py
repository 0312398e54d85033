"""Questions to a registry, and decisions from its answers."""
