"""Groups of near values published as one."""
