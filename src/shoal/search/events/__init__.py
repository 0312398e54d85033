"""Event tables: the granularity, renewal and suppression that lose least while a few known records single nobody out."""
