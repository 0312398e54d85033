"""``shoal anonymize``: a first policy, several tables together, and what is told of a release."""
