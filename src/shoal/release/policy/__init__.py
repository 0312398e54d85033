"""The requirements of a release."""
