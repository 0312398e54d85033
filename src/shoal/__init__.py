"""Shoal: how well do people hide in a table?"""

__version__ = "0.1.0"
