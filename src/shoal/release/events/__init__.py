"""Event tables: from a policy on known records to a proven folder."""
