"""Records as keyed Bloom filters: two holders find the people they share without showing a name."""
