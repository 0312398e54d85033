"""Tables: the first page, how a table comes in, and what is kept here."""
