"""Registry: what is known about populations, publishing with a preview, and how exposed one person is."""
