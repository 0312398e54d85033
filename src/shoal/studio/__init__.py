"""The studio: the library in a browser. One file per page: read what was sent, call the library, render a template."""
