"""Record linkage: which records are of one person, in spite of typing errors and changed names."""
