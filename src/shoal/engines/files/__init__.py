"""Files and frames: find the format, read it, write it."""
