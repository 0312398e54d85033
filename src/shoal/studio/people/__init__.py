"""A studio that several people use: log-in, roles, a workspace for each."""
