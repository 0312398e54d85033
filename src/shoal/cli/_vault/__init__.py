"""The commands of ``shoal vault``, by role."""
