"""Values that cannot be: outside their area, or impossible beside another; counted, never shown."""
