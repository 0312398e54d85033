"""Excel workbooks: read and write."""
