"""What the name of a column says: its words, and the topics they belong to, in seven languages."""
