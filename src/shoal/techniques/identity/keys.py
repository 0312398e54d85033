"""Keys of keyed steps: named in the plan, never part of it.

A plan states where the key is (``env:SHOAL_KEY`` or ``file:keys/mask.key``); the key itself is read when the step starts and
is in no error, log or file that Shoal writes. Short or monotonous keys are refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import AccessError, PolicyError, UsageError

MIN_BYTES = 16
LOOKED_AT = 8
"""Batches of which one is checked for repeated texts."""


def read_key(source: str) -> bytes:
    """The key that ``source`` names.

    >>> os.environ["DOC_KEY"] = "correct horse battery staple 42!"
    >>> len(read_key("env:DOC_KEY"))
    32
    """
    kind, _, where = source.partition(":")
    if kind == "env" and where:
        text = os.environ.get(where)
        if text is None:
            hint = f"Set {where} to a secret of at least {MIN_BYTES} characters."
            raise UsageError(f"the environment has no key '{where}'.", hint=hint)
        key = text.encode("utf-8", "surrogateescape")
    elif kind == "file" and where:
        try:
            key = Path(where).read_bytes().strip()
        except OSError:
            hint = "Check the path and its rights."
            raise UsageError(f"the key file '{Path(where).name}' cannot be read.", hint=hint) from None
    else:
        raise PolicyError("a key is named as env:NAME or file:PATH; it never stands in a plan.", hint="Use env:SHOAL_KEY.")
    if len(key) < MIN_BYTES or len(set(key)) < 8:
        hint = f"Use at least {MIN_BYTES} random bytes, such as from: python -c 'import secrets; print(secrets.token_hex(32))'"
        raise AccessError(f"the key is too weak: it has {len(key)} bytes, {len(set(key))} of them different.", hint=hint)
    return key


def keyed_digest(key: bytes, domain: str, value: str) -> bytes:
    """HMAC-SHA-256 of a value inside a domain: equal values agree inside one domain and cannot be linked across domains."""
    return keyed_digests(key, domain)(value)


def keyed_digests(key: bytes, domain: str) -> Callable[[str], bytes]:
    """:func:`keyed_digest` for several values: what key and domain add is worked out once."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.hmac import HMAC

    begun = HMAC(key, SHA256())
    begun.update(domain.encode("utf-8", "surrogatepass") + b"\x00")

    def digest(value: str) -> bytes:
        mac = begun.copy()
        mac.update(value.encode("utf-8", "surrogatepass"))
        return mac.finalize()

    return digest


def digests_of(key: bytes, domain: str, texts: Any) -> npt.NDArray[np.uint8]:
    """:func:`keyed_digest` of each text of a pyarrow array without missing ones: 32 bytes each, one behind the other.

    >>> import pyarrow as pa
    >>> digests_of(b"sixteen bytes...", "d", pa.array(["x"]))[0].tobytes() == keyed_digest(b"sixteen bytes...", "d", "x")
    True
    """
    digest = keyed_digests(key, domain)
    return np.frombuffer(b"".join([digest(t) for t in texts.to_pylist()]), np.uint8).reshape(-1, 32)


class EachText:
    """A function of texts on a column in batches: on each different text, or on all where nearly none comes twice.

    Finding the different ones takes about as long as a third of their digests. One batch in :data:`LOOKED_AT` is looked at.

    >>> import pyarrow as pa, pyarrow.compute as pc
    >>> EachText(pc.utf8_upper)(pa.array(["a", None, "a"])).to_pylist()
    ['A', None, 'A']
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._unlike, self._left = False, 0

    def __call__(self, texts: Any) -> Any:
        """The function's values, for a pyarrow array of texts; missing stays missing."""
        self._left -= 1
        if self._unlike and self._left > 0 and not texts.null_count:
            return self._function(texts)
        encoded = texts.dictionary_encode()
        self._unlike, self._left = 4 * len(encoded.dictionary) > 3 * len(texts), LOOKED_AT
        return self._function(encoded.dictionary).take(encoded.indices)
