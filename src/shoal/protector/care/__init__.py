"""Care of a vault: rotation, shredding, full checks."""
