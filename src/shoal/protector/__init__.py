"""The identity protector: pseudonyms with controlled reversal, a log that cannot be quietly changed, and alarms.

Start with :class:`Vault`. ``keys`` (:mod:`shoal.protector.crypto.master_keys`) says where master keys come from, and
:mod:`shoal.protector.care` is what owner and auditor do beside the daily work.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.protector.crypto import master_keys as keys
    from shoal.protector.people.limits import Limit
    from shoal.protector.people.requests import Request
    from shoal.protector.pseudonyms.domains import Domain, Renewal
    from shoal.protector.pseudonyms.self_generated import Holder
    from shoal.protector.session import Revealed, Session
    from shoal.protector.vault import Created, Vault

_WHERE = {
    "Vault": "vault",
    "Created": "vault",
    "Session": "session",
    "Revealed": "session",
    "Request": "people.requests",
    "Domain": "pseudonyms.domains",
    "Renewal": "pseudonyms.domains",
    "Limit": "people.limits",
    "Holder": "pseudonyms.self_generated",
}

__all__ = ["Created", "Domain", "Holder", "Limit", "Renewal", "Request", "Revealed", "Session", "Vault", "keys"]


def __getattr__(name: str) -> Any:
    if name == "keys":
        return importlib.import_module("shoal.protector.crypto.master_keys")
    if name not in _WHERE:
        raise AttributeError(f"module 'shoal.protector' has no attribute '{name}'")
    return getattr(importlib.import_module(f"shoal.protector.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
