"""Checks before anything is written or passed on."""
