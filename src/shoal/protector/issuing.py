"""Blind issuing: one-time credentials that the issuer cannot connect with the enrolment.

The participant needs no vault, only the issuer's public key. She draws a random message, blinds it, and takes the answer off
again. What she then holds is signed by the issuer, and the issuer has never seen it.

The vault gives one credential to each enrolled person and takes each once. Nothing in it connects the two. What remains is the
time of both in the log: where few are issued, use them much later.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from shoal.errors import AccessError, DataError, UsageError, refuse
from shoal.protector.actions.frame import SessionPart, log_names
from shoal.protector.actions.pseudonyms import any_planted
from shoal.protector.crypto import base32, blind_rsa
from shoal.protector.people.accounts import check_name
from shoal.protector.pseudonyms import merges
from shoal.protector.pseudonyms.domains import Context
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Tx
from shoal.protector.store.state import ISSUER, KEY, SETTING

MESSAGE_BYTES = 32


def begin(issuer: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """A request for the issuer, and the secret that turns its answer into a credential.

    ``issuer`` is its public key, as :meth:`Session.issuers` tells it; compare its ``key`` with what others received.
    """
    n, e = numbers(issuer)
    prepared = blind_rsa.prepare(os.urandom(MESSAGE_BYTES))
    blinded, inverse = blind_rsa.blind(n, e, prepared)
    name = str(issuer["name"])
    secret = {"issuer": name, "n": f"{n:x}", "e": f"{e:x}", "message": prepared.hex(), "inverse": f"{inverse:x}"}
    return {"issuer": name, "key": blind_rsa.key_id(n, e), "blinded": blinded.hex()}, secret


def finish(secret: Mapping[str, str], answer: str) -> dict[str, str]:
    """The credential, from the secret and the issuer's answer; an answer to another request is refused."""
    with refuse(DataError("this is not the secret of a request, or no answer to one."), KeyError, TypeError, ValueError):
        n, e = int(secret["n"], 16), int(secret["e"], 16)
        message, inverse, signed = bytes.fromhex(secret["message"]), int(secret["inverse"], 16), bytes.fromhex(answer)
        name = str(secret["issuer"])
    signature = blind_rsa.finalize(n, e, message, signed, inverse)
    return {"issuer": name, "key": blind_rsa.key_id(n, e), "message": message.hex(), "signature": signature.hex()}


def numbers(issuer: Mapping[str, Any]) -> tuple[int, int]:
    """Modulus and exponent of a public key, which must carry its own id."""
    try:
        n, e = int(issuer["n"], 16), int(issuer["e"], 16)
        good = issuer["key"] == blind_rsa.key_id(n, e) and n.bit_length() >= 2048 and e == 65537 and str(issuer["name"])
    except (KeyError, TypeError, ValueError):
        good = ""
    if not good:
        raise DataError("this is not an issuer's public key.", hint="`shoal vault issuer list --json` tells it.")
    return n, e


def serial(message: bytes) -> str:
    """The one-time pseudonym of a credential: it follows from the message alone."""
    return "C-" + base32.encode(hashlib.sha256(b"shoal-credential/1\0" + message).digest()[:16])


class IssuingActions(SessionPart):
    """The owner's and the operator's part of a session for blind issuing."""

    def create_issuer(self, name: str, domain: str) -> dict[str, str]:
        """A new issuer of one-time credentials for the people of a domain; its public key."""
        frame = self._frame
        check_name(name)
        with frame.reading("issuer"):
            pass  # a key is made only for somebody who may have one, and not while others wait
        private = blind_rsa.generate()
        with frame.acting("issuer", domain) as (tx, now):
            if tx.get(ISSUER, name) is not None:
                raise UsageError(f"there is an issuer '{name}' already.", hint="Choose another name.")
            opened = frame.open_domain(tx, domain)
            if opened.domain.kind != "random" or opened.domain.scope != "person" or opened.domain.renewal.uses:
                what = f"credentials need a domain of kind 'random' for persons, with lasting pseudonyms; '{domain}' differs."
                raise UsageError(what, hint="Make one with `shoal vault domain add NAME`.")
            public = blind_rsa.public_of(private)
            body = {"name": name, "domain": domain, "id": os.urandom(8).hex(), "key": public["id"]}
            body |= {part: public[part] for part in ("n", "e")}
            tx.put(ISSUER, name, body)
            tx.put_secret(KEY, f"issuer {body['id']}", private)
            frame.log(tx, now, "issuer", domain=domain, detail="made", key=public["id"])
        return _public(body)

    def issuers(self) -> list[dict[str, str]]:
        """The public keys of the issuers whose domain the token reaches (for every role)."""
        vault = self._frame.vault
        with vault.store.read() as tx:
            caller = self._frame.caller(tx, tx.now(vault.clock))
            reached = [_public(body) for body in tx.all(ISSUER) if caller.reaches(body["domain"])]
        return sorted(reached, key=lambda one: one["name"])

    def issue(self, name: str, identity: str, blinded: str, *, purpose: str = "") -> str:
        """Sign a blinded request of an enrolled person, once for each person; the answer for her.

        Asking for somebody who is not enrolled, or has her credential, tells just that: so it is counted, watched and logged
        like a look-up, in a transaction that is kept, before it is refused.
        """
        frame = self._frame
        with frame.acting("issue") as (tx, now):
            body = _load(tx, name)
            domain = body["domain"]
            frame.require(tx, now, "issue", domain)
            request = _number(body, blinded)
            opened = frame.open_domain(tx, domain)
            usage = frame.counted(tx, now, "find", purpose, 1, domain=domain)
            there = opened.find(tx, [identity], Context(), now) != [None]
            merged = merges.read(tx, opened)
            person = merges.standing(opened, merged, opened.plain(identity))
            planted = any_planted(tx, opened, [person])
            details: dict[str, Any] = {"domain": domain, "purpose": purpose}
            frame.watch(tx, now, "find", usage, [identity], missed=not there, planted=planted, logged_as="issue", **details)
            everybody = merges.person(opened, merged, person)  # under any earlier identity
            marks = [mark_of(body, opened, one) for one in sorted(everybody)]
            refusal = _refusal(there, used=any(tx.get(SETTING, mark) is not None for mark in marks))
            signed = b""
            if refusal is None:
                signed = blind_rsa.blind_sign(_key(tx, body), request)
                for mark in marks:
                    tx.put(SETTING, mark, {})
                subjects = log_names(tx, opened, [person], most=1)
                frame.log(tx, now, "issue", **details, key=body["key"], subjects=subjects)
            else:
                frame.log(tx, now, "issue", outcome="refused", reason=getattr(refusal, "reason", ""), **details)
        if refusal is not None:
            raise refusal
        return signed.hex()

    def redeem(self, name: str, message: str, signature: str, *, purpose: str = "") -> str:
        """Take a credential, once; its one-time pseudonym. Neither a forged nor a used one is taken."""
        frame = self._frame
        with frame.acting("redeem") as (tx, now):
            body = _load(tx, name)
            frame.require(tx, now, "redeem", body["domain"])
            try:
                prepared, proof = bytes.fromhex(message), bytes.fromhex(signature)
            except ValueError:
                prepared = proof = b""
            n, e = int(body["n"], 16), int(body["e"], 16)
            good = len(prepared) == blind_rsa.PREFIX + MESSAGE_BYTES and blind_rsa.verify(n, e, prepared, proof)
            if not good:
                raise AccessError("this credential is not of this issuer.", reason="credential")
            spent = f"spent {body['id']} {hashlib.sha256(prepared).hexdigest()}"
            if tx.get(SETTING, spent) is not None:
                raise AccessError("this credential was used before.", hint="Each counts once.", reason="replay")
            tx.put(SETTING, spent, {})
            frame.log(tx, now, "redeem", purpose=purpose, key=body["key"])
        return serial(prepared)


def mark_of(issuer: Mapping[str, Any], opened: OpenDomain, identity: bytes) -> str:
    """The name under which is kept that a person got a credential."""
    return f"issued {issuer['id']} {opened.subject(identity)}"


def _refusal(there: bool, *, used: bool) -> AccessError | None:
    if not there:
        return AccessError("nobody of that identity is enrolled.", hint="Pseudonymise her first.", reason="unknown")
    if used:
        return AccessError("this person has her credential already.", hint="Each gets one.", reason="replay")
    return None


def _number(body: Mapping[str, Any], blinded: str) -> bytes:
    """A blinded message as bytes; one that is none for this key is refused before anybody is looked up."""
    with refuse(DataError("this is not a blinded message for this key."), ValueError):
        return blind_rsa.require_blinded(int(body["n"], 16), bytes.fromhex(blinded))


def _load(tx: Tx, name: str) -> dict[str, Any]:
    body = tx.get(ISSUER, name)
    if body is None:
        raise AccessError("no issuer has that name.", hint="`shoal vault issuer list` shows them.", reason="unknown")
    return body


def _key(tx: Tx, body: Mapping[str, Any]) -> Any:
    private = tx.get_secret(KEY, f"issuer {body['id']}")
    if private is None:
        raise DataError("the issuer's key is gone.")
    return private


def _public(body: Mapping[str, Any]) -> dict[str, str]:
    return {part: str(body[part]) for part in ("name", "domain", "key", "n", "e")}
