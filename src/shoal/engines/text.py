"""Canonical text of values; the one implementation lives with the kernels."""

from shoal.kernels.text import canonical_text

canonical = canonical_text

__all__ = ["canonical", "canonical_text"]
