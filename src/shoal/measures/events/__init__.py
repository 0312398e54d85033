"""People with many records: what a few known records of a person reveal."""
