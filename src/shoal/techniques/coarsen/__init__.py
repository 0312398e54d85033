"""Say less, truthfully: levels, suppression, rounding."""
