"""The keys that the rows of a domain live under: one set per key version, and one for the pseudonyms."""

from __future__ import annotations

from shoal.protector.crypto import primitives as crypto
from shoal.protector.crypto.primitives import Blocks, Box, Prf
from shoal.protector.crypto.secret import Secret


class RowKeys:
    """The keys of one version of a domain: for the lookup tags, for sealing pages and for sealing the index."""

    def __init__(self, version: int, secret: Secret) -> None:
        self.version = version
        self.index = Prf(crypto.derive(secret, "index"))
        self.box = Box(crypto.derive(secret, "seal"))
        self.buckets = Box(crypto.derive(secret, "index buckets"))

    def __repr__(self) -> str:
        return f"<keys of version {self.version}>"


class DomainKeys:
    """All living keys of one domain; ``tokens`` permutes slots into pseudonyms and outlives rotations."""

    def __init__(self, number: int, versions: dict[int, RowKeys], active: int, tokens: Blocks) -> None:
        self.number = number
        self.versions = versions
        self.active = active
        self.tokens = tokens

    def __repr__(self) -> str:
        return f"<keys of domain {self.number}>"

    @property
    def newest(self) -> RowKeys:
        return self.versions[self.active]
