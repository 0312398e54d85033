"""The second opinion: a written file counted again by code that shares nothing with the first count."""
