"""Blind issuing: one-time credentials that the issuer cannot connect with the enrolment."""
