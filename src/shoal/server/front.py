"""The front of every service: what a stranger may send before anything is known about the sender, and how much of it.

:mod:`shoal.server.limited_http` is the HTTP protocol with these bounds on headers, time, connections and requests per address.
A connection that has not completed its headers can always be dropped, so connections that wait cannot keep others out.
"""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import os
import time
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class Limits:
    """Bounds of a service. Those per address do not hold for this machine, where a reverse proxy speaks for everybody."""

    header_bytes: int = 32_768
    """Bytes of the request line and all headers together."""
    header_count: int = 100
    header_seconds: float = 10.0
    """Seconds until the headers of a request are complete, from the connection or from the first byte of the next request."""
    body_seconds: float = 60.0
    body_rate: float = 10_000.0
    """A body has this many seconds, and one more for each so many bytes that have arrived."""
    unread_bytes: int = 2**26
    """Bytes that are read and dropped of a body that was answered before it had arrived; beyond them the connection ends."""
    connections: int = 2_000
    """Open connections. Above it, the one that has been idle or without complete headers for longest is dropped, else the one
    that has sent its body for longest, else the new one."""
    connections_per_address: int = 200
    rate_per_address: float = 500.0
    """Requests a second from one address, with a burst of ten seconds."""


class Limiter:
    """At most ``rate`` calls a second from one address, with a burst; old addresses are forgotten."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def allow(self, who: str, cost: float = 1.0) -> bool:
        """Whether a call that costs so much may be made now; it is then counted."""
        now = time.monotonic()
        with self._lock:
            left, then = self._left.pop(who, (float(self.burst), now))
            left = min(float(self.burst), left + (now - then) * self.rate)
            self._left[who] = (max(left - cost, 0.0), now) if left >= cost else (left, now)
            while len(self._left) > 10_000:
                self._left.popitem(last=False)
            return left >= cost


def neighbourhood(address: str) -> str:
    """Whom a limit is for: an IPv4 address, or the 64 bits of an IPv6 network, whose every address one machine may use.

    >>> neighbourhood("192.0.2.7"), neighbourhood("2001:db8:0:1:aaaa::7") == neighbourhood("2001:db8:0:1::9")
    ('192.0.2.7', True)
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Network((int(found) >> 64 << 64, 64)))


def is_here(address: str) -> bool:
    """Whether an address is this machine (also an empty one: a unix socket).

    >>> is_here("127.0.0.1"), is_here("::1"), is_here(""), is_here("192.0.2.7")
    (True, True, True, False)
    """
    if not address:
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return False


def harden_process(*, secrets: bool = False) -> None:
    """No core dumps; with ``secrets``, other processes of the same user cannot read this one's memory (Linux)."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if secrets and os.uname().sysname == "Linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
