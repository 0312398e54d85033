"""HTTP services: the registry and the vault. They admit, read, call the rooms below and answer; nothing is computed here."""
