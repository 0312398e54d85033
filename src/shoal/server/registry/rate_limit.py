"""How many questions one address may ask."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from threading import Lock


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
