"""Generated people: a registry that never existed, for demonstrations, tests and benchmarks."""

from shoal.datasets.people import COLUMNS, batches, people, visits, write_people, write_visits

__all__ = ["COLUMNS", "batches", "people", "visits", "write_people", "write_visits"]
