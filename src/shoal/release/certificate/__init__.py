"""The certificate: what is claimed, and how anybody proves it again."""
