"""Lent tokens: a person's own token, narrowed to one action, to domains and to a short time, for a program that works for her."""

from __future__ import annotations

import os
from collections.abc import Sequence

from shoal.errors import UsageError
from shoal.protector.crypto import base32
from shoal.protector.people import accounts
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import DOMAIN, TOKEN

LENDABLE = tuple("pseudonymize find translate register prove issue redeem backup audit requests verify checkpoint".split())
"""What can be lent. Asking for identities, deciding and giving rights stay with the person: four eyes are not lent."""

LONGEST = 86400.0


def lend(tx: Tx, own: str, action: str, *, domains: Sequence[str], seconds: float, time: float) -> str:
    """A new token under the token ``own`` (its digest)."""
    caller = accounts.caller(tx, own, time)
    caller.require_whole()
    if action not in LENDABLE:
        raise UsageError(f"'{action}' cannot be lent.", hint=f"These can: {', '.join(LENDABLE)}.")
    if not 0 < seconds <= LONGEST:
        raise UsageError("a lent token lives more than no time and at most a day.")
    caller.require(action)
    for domain in domains:
        caller.require(action, domain)
        if tx.get(DOMAIN, domain) is None:
            raise UsageError(f"there is no domain '{domain}' in this vault.", hint="`shoal vault domain list` shows them.")
    for tag, body in tx.items(TOKEN):
        if body["actor"] == caller.name and body.get("own") and time >= body["expires"]:
            tx.remove_tag(tag)  # what has ended does not pile up
    text = accounts.TOKEN_PREFIX + base32.encode(os.urandom(20))
    reach = sorted(domains) or sorted(caller.domains)
    body = {"actor": caller.name, "scopes": sorted(caller.roles), "domains": reach, "expires": time + seconds, "label": "lent"}
    tx.put(TOKEN, accounts.token_digest(tx.store, text), {**body, "action": action, "own": own})
    return text
