"""The kinds of sealed objects that a vault keeps beside its pages of identities."""

DOMAIN, KEY, ACTOR, TOKEN, REQUEST, LIMIT, USAGE, HONEY, SIGNER, SETTING, CHALLENGE, CHANGE, ENROLMENT = range(1, 14)
MERGES, WAITING, ISSUER = 14, 15, 16
"""What an object is; the number is part of its keyed tag, so it never changes."""

ONCE = SETTING
"""The kind of objects that are written once (names, holders) and removed when a person is forgotten: there may be many."""
