"""COUNT by dictionary codes and kernels, for files and frames."""
