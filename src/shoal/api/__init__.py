"""Verbs over tables: each counts in the engine, decides in memory, and returns a result that explains itself."""
