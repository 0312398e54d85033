"""Frozen values that every room shares. Nothing here computes statistics, reads files or opens engines."""
