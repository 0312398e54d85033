"""RECODE: what a plan does to the rows, as SQL, on codes and on Arrow batches."""
