"""Who may do what in a vault, how often, and with whose approval."""
