"""Reports, cards and charts: HTML from templates, SVG from numbers, one style. Loaded only when something is shown."""
