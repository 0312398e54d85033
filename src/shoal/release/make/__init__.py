"""From a table and a policy to a release folder."""
