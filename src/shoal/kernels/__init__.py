"""Loops over arrays: numpy and numba, arrays in, arrays out. No engine, no file, no screen."""
