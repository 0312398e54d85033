"""What a recoding lost."""
