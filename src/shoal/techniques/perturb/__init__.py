"""Chance: noise, permutation, PRAM, samples."""
