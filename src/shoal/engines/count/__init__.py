"""COUNT: classes of equal values with their sizes, by SQL or, for files and frames, by dictionary codes and a kernel."""
