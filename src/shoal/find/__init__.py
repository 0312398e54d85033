"""Which columns identify, and what each of them might be."""
