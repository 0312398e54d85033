"""Several tables about the same people, released together: one policy, one folder, one certificate, keys that still fit."""
