"""What is asked of a release."""
