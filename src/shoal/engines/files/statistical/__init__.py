"""SPSS, Stata and SAS files: read and write, with their labels."""
