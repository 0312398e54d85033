"""Popular places, and how few records single a person out."""
