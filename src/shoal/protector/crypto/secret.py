"""Values that hold keys: they show nothing, and cannot be copied or pickled."""

from __future__ import annotations

import hmac
from typing import Any, NoReturn


class Secret:
    """Bytes that do not show themselves: no text form, no pickle, no copy; compared in constant time.

    >>> s = Secret(b"k" * 32)
    >>> s
    <secret>
    >>> import pickle
    >>> pickle.dumps(s)
    Traceback (most recent call last):
    TypeError: a secret cannot be pickled or copied
    """

    __slots__ = ("__value",)

    def __init__(self, value: bytes) -> None:
        self.__value = bytes(value)

    def expose(self) -> bytes:
        """The bytes, for handing to a cryptographic primitive and nothing else."""
        return self.__value

    def __repr__(self) -> str:
        return "<secret>"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self.__value, other.expose())

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")

    def __copy__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")


class Opaque:
    """Objects that hold keys: they show nothing and cannot be pickled."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("an object that holds keys cannot be pickled or copied")
