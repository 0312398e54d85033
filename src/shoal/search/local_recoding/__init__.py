"""Local recoding: each class gets the finest values that still have company."""
