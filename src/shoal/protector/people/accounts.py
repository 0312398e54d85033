"""Accounts of the people who work with a vault (its actors): their roles, and the bearer tokens that identify them.

A token is 160 random bits; the vault stores only its HMAC. It may be narrowed to some of the actor's roles (its scopes), to
some domains, and in time. What a role may do is fixed here and cannot be configured away.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import AccessError, UsageError, suggest
from shoal.model.names import alike, require_plain
from shoal.protector.crypto import base32
from shoal.protector.pseudonyms.self_generated import CHALLENGE_SECONDS
from shoal.protector.store.database import Store, Tx
from shoal.protector.store.state import ACTOR, CHALLENGE, CHANGE, DOMAIN, ENROLMENT, REQUEST, TOKEN

PERMITS: Mapping[str, frozenset[str]] = {
    "operator": frozenset({"pseudonymize", "find", "translate", "register", "prove", "backup", "intake", "issue", "redeem"}),
    "clerk": frozenset({"decide"}),
    "requester": frozenset({"request", "reveal", "withdraw", "requests"}),
    "approver": frozenset({"approve", "deny", "requests"}),
    "auditor": frozenset({"audit", "resolve", "requests", "confirm"}),
    "owner": frozenset(
        "domain issuer actor limit honeytoken rotate shred anchor checkpoint verify resolve requests confirm backup "
        "forget export correct witness retire revoke time".split()
    ),
}
"""What each role may do. Approving one's own request or confirming one's own change is not among it for anybody."""

ROLES = tuple(PERMITS)
TOKEN_LIFE = 365 * 86400.0
"""Seconds that a token lives unless its proposal states another end."""
TOKEN_PREFIX = "shoal-"  # noqa: S105  the public start of every token, for secret scanners


@dataclass(frozen=True)
class Caller:
    """The person behind a token: name, the roles this token may use, the domains it may touch (none: all).

    ``losses`` counts how often rights were taken away from the person: what was approved before one of these stays dead.
    ``action`` is the only one a delegated token is for.
    """

    name: str
    roles: frozenset[str]
    domains: frozenset[str] = frozenset()
    losses: int = 0
    action: str = ""

    def require_whole(self) -> None:
        """Refuse a delegated token (:mod:`.delegation`)."""
        if self.action:
            raise AccessError("a delegated token is for one action only.", reason="role")

    def require(self, action: str, domain: str | None = None) -> None:
        """Refuse what none of the roles permits."""
        if not any(action in PERMITS[role] for role in self.roles):
            able = ", ".join(role for role in ROLES if action in PERMITS[role])
            raise AccessError(f"to {action} needs the role {able}; this token does not have it.", reason="role")
        if self.action and action != self.action:
            raise AccessError(f"this token was lent to {self.action} and for nothing else.", reason="role")
        if domain is not None and not self.reaches(domain):
            raise AccessError("this token does not reach that domain.", reason="domain")

    def reaches(self, domain: str) -> bool:
        return not self.domains or domain in self.domains


def check_roles(roles: Iterable[str]) -> tuple[str, ...]:
    """Known roles, each once; the auditor's stands alone.

    >>> check_roles(["approver", "requester"])
    ('requester', 'approver')
    """
    wanted = set(roles)
    for role in sorted(wanted - set(ROLES)):
        raise UsageError(f"role '{role}' is not known.", hint=f"Roles: {', '.join(ROLES)}. {suggest(role, ROLES)}".strip())
    if not wanted:
        raise UsageError("an actor needs at least one role.", hint=f"Roles: {', '.join(ROLES)}.")
    if "auditor" in wanted and len(wanted) > 1:
        raise UsageError("an auditor only audits: the role cannot be joined with another.", hint="Name another person.")
    return tuple(r for r in ROLES if r in wanted)


def check_name(name: str) -> str:
    if not name or len(name) > 100 or not name.isprintable() or name != name.strip():
        raise UsageError("the name of an actor has 1 to 100 printable characters without blanks around it.")
    return require_plain(name, "actor")


def require_another(tx: Tx, name: str, role: str) -> None:
    """Refuse to lose the last owner (nobody could manage the vault) or the last auditor (nobody could check the log)."""
    holders = [a["name"] for a in tx.all(ACTOR) if a["enabled"] and role in a["roles"]]
    if holders == [name]:
        raise UsageError(f"this is the only {role} of the vault.", hint=f"Make another {role} first.")


def add(tx: Tx, name: str, roles: Sequence[str], time: float) -> None:
    check_new(tx, name)
    tx.put(ACTOR, name, {"name": name, "roles": list(check_roles(roles)), "enabled": True, "created": time})


def check_new(tx: Tx, name: str) -> None:
    """Refuse a name that an actor has, or that looks like one."""
    check_name(name)
    if any(alike(actor["name"], name) for actor in tx.all(ACTOR)):
        hint = "Change its roles with `shoal vault actor grant`."
        raise UsageError("an actor of that name, or one that looks the same, exists already.", hint=hint)


def issue_token(tx: Tx, name: str, time: float, **settings: Any) -> str:
    """A new token of an actor, shown once to the person who claims it; the vault keeps its HMAC.

    ``settings`` as in :func:`check_token`; without ``expires`` it ends after :data:`TOKEN_LIFE`.
    """
    body = check_token(tx, name, **settings)
    expires = time + TOKEN_LIFE if body["expires"] is None else body["expires"]
    text = TOKEN_PREFIX + base32.encode(os.urandom(20))
    tx.put(TOKEN, token_digest(tx.store, text), {"actor": name, **body, "expires": expires, "issued": time})
    return text


def extend_token(tx: Tx, digest: str, time: float) -> None:
    """Let an ended token live on from now, as long as it did: when two people accept an old state of the vault."""
    body = tx.get(TOKEN, digest)
    assert body is not None
    if body["expires"] is not None and time >= body["expires"]:
        tx.put(TOKEN, digest, {**body, "issued": time, "expires": time + _life(body)})


def _life(token: Mapping[str, Any]) -> float:
    """The seconds that a token was given."""
    ends = token["expires"]
    return TOKEN_LIFE if ends is None or "issued" not in token else float(ends - token["issued"])


def renew_token(tx: Tx, digest: str, time: float) -> str:
    """A new token in place of one that is still valid, with the same scopes, domains and length of life."""
    caller(tx, digest, time).require_whole()
    old = tx.get(TOKEN, digest)
    assert old is not None
    tx.remove(TOKEN, digest)
    kept = {name: old[name] for name in ("scopes", "domains", "label")}
    return issue_token(tx, old["actor"], time, expires=time + _life(old), **kept)


def can_log_in(tx: Tx, role: str, time: float) -> bool:
    """Whether somebody with this role holds a token for it that is valid now; a delegated token does not count."""
    able = {a["name"] for a in tx.all(ACTOR) if a["enabled"] and role in a["roles"]}
    tokens = [t for t in tx.all(TOKEN) if t["actor"] in able and role in t["scopes"] and not t.get("own")]
    return any(token["expires"] is None or time < token["expires"] for token in tokens)


def check_token(
    tx: Tx, name: str, *, scopes: Iterable[str] = (), domains: Iterable[str] = (), expires: float | None = None, label: str = ""
) -> dict[str, Any]:
    """The settings of a token as they are kept; roles the actor does not have and domains that are not there are refused."""
    actor = tx.get(ACTOR, name)
    if actor is None:
        raise UsageError("no actor has that name.", hint="Add it with `shoal vault actor add`.")
    wanted = set(scopes) or set(actor["roles"])
    if not wanted <= set(actor["roles"]):
        raise UsageError("a token cannot have more roles than its actor.", hint=f"The actor has: {', '.join(actor['roles'])}.")
    for domain in domains:
        _require_domain(tx, domain)
    return {"scopes": sorted(wanted), "domains": sorted(domains), "expires": expires, "label": label}


def _require_domain(tx: Tx, name: str) -> None:
    if tx.get(DOMAIN, name) is None:
        raise UsageError(f"domain '{name}' is not in this vault.", hint="`shoal vault domain list` shows them.")


def token_digest(store: Store, token: str) -> str:
    """The keyed digest under which a token is known."""
    return store.token_prf.digest(token.strip().encode("utf-8", errors="replace")).hex()


def caller(tx: Tx, digest: str, time: float) -> Caller:
    """The person behind a token digest; unknown, expired, revoked and disabled tokens are refused alike."""
    token = tx.get(TOKEN, digest)
    actor = tx.get(ACTOR, token["actor"]) if token is not None else None
    expired = token is not None and token["expires"] is not None and time >= token["expires"]
    if token is None or actor is None or expired or not actor["enabled"]:
        raise AccessError("the token is not valid.", hint="Ask an owner of the vault for a new one.", reason="token")
    if token.get("own"):
        caller(tx, token["own"], time)  # a delegated token ends with the one it was lent from
    roles = frozenset(token["scopes"]) & frozenset(actor["roles"])
    return Caller(actor["name"], roles, frozenset(token["domains"]), actor.get("losses", 0), token.get("action", ""))


def revoke_tokens(tx: Tx, name: str, *, kind: int = TOKEN) -> int:
    """Take back every token of an actor (or every invitation, the kind ENROLMENT); how many there were."""
    mine = [tag for tag, body in tx.items(kind) if body["actor"] == name]
    for tag in mine:
        tx.remove_tag(tag)
    return len(mine)


LIFE = 7 * 86400.0
PREFIX = "enrol-"


def new_code() -> str:
    """A code, or one half of one: 120 random bits."""
    return PREFIX + base32.encode(os.urandom(15))


def invite(tx: Tx, name: str, codes: Sequence[str], time: float, **token: Any) -> None:
    """Let the person who holds these codes claim a token of the actor; ``token`` as in :func:`.accounts.issue_token`."""
    tx.put(ENROLMENT, _digest(tx, codes), {"actor": name, "until": time + LIFE, "token": check_token(tx, name, **token)})


def claim(tx: Tx, codes: Sequence[str], time: float) -> tuple[str, str]:
    """The actor's name and a new token, for the codes of an invitation; they are used up."""
    name = _digest(tx, codes)
    enrolment = tx.get(ENROLMENT, name)
    if enrolment is None or time >= enrolment["until"]:
        what = "this enrolment code is not valid: wrong, half of a code only, expired, or claimed before."
        hint = "Give both halves. If you have not claimed it yourself, tell the auditor: somebody else may have."
        raise AccessError(what, hint=hint, reason="token")
    tx.remove(ENROLMENT, name)
    return enrolment["actor"], issue_token(tx, enrolment["actor"], time, **enrolment["token"])


def _digest(tx: Tx, codes: Sequence[str]) -> str:
    """The keyed digest of the codes together, in any order and however they are written."""
    parts = sorted(base32.decode(code.strip().lower().removeprefix(PREFIX)) or b"" for code in codes)
    plain = hashlib.sha256(b"".join(len(p).to_bytes(2, "big") + p for p in parts)).hexdigest()
    return token_digest(tx.store, PREFIX + plain)


LENDABLE = tuple("pseudonymize find translate register prove issue redeem backup audit requests verify checkpoint".split())
"""What can be lent. Asking for identities, deciding and giving rights stay with the person: four eyes are not lent."""

LONGEST = 86400.0


def lend(tx: Tx, own: str, action: str, *, domains: Sequence[str], seconds: float, time: float) -> str:
    """A new token under the token ``own`` (its digest)."""
    lender = caller(tx, own, time)
    lender.require_whole()
    if action not in LENDABLE:
        raise UsageError(f"'{action}' cannot be lent.", hint=f"These can: {', '.join(LENDABLE)}.")
    if not 0 < seconds <= LONGEST:
        raise UsageError("a delegated token lives more than no time and at most a day.")
    lender.require(action)
    for domain in domains:
        lender.require(action, domain)
        _require_domain(tx, domain)
    for tag, body in tx.items(TOKEN):
        if body["actor"] == lender.name and body.get("own") and time >= body["expires"]:
            tx.remove_tag(tag)  # what has ended does not pile up
    text = TOKEN_PREFIX + base32.encode(os.urandom(20))
    reach = sorted(domains) or sorted(lender.domains)
    body = {"actor": lender.name, "scopes": sorted(lender.roles), "domains": reach, "expires": time + seconds, "label": "lent"}
    tx.put(TOKEN, token_digest(tx.store, text), {**body, "action": action, "own": own, "issued": time})
    return text


def set_back(tx: Tx, now: float) -> None:
    """Shorten every life that began or ends after ``now`` under a time that was wrong.

    Tokens and codes keep the length of their life, counted from now. Open requests and changes that were made in that time end.
    """
    for tag, body in tx.items(TOKEN):
        expires = body["expires"]
        issued = body.get("issued", expires - LONGEST if body.get("own") else 0.0)
        if issued > now and expires is not None:
            tx.replace(TOKEN, tag, {**body, "issued": now, "expires": now + expires - issued})
    for kind, end, life in ((ENROLMENT, "until", LIFE), (CHALLENGE, "expires", CHALLENGE_SECONDS)):
        for tag, body in tx.items(kind):
            if body[end] > now + life:
                tx.replace(kind, tag, {**body, end: now + life})
    for kind, living, ended in ((REQUEST, ("pending", "approved"), "withdrawn"), (CHANGE, ("pending", "confirmed"), "denied")):
        for tag, body in tx.items(kind):
            if body["created"] > now and body["status"] in living:
                tx.replace(kind, tag, {**body, "status": ended})
