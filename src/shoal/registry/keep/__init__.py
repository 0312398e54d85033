"""Where records are kept: a database, plain files, another server."""
