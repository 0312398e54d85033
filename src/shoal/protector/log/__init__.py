"""The audit log: written, reported, resolved."""
