"""The names of other tools over Shoal's numbers, for scripts written for them. Each file says where the answers differ."""
