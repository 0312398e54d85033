"""Prove: the release as a job, its files, ways to try harder, and any release checked."""
