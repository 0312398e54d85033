"""What surrounds every command: its help and examples, how loud it is, settings from a file or the environment, manual pages."""
