"""``presets``, ``explain`` and ``doctor``: what Shoal knows, says and has."""
