"""Levels of numbers: round bands, intervals that a person asks for, quantiles, numbers written with a sign or unit."""
