"""Fields of a person's record: what each means, and one spelling for each value."""
