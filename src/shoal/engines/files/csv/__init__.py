"""CSV files: guess the dialect, read, write."""
