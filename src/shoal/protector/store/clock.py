"""The time a vault believes. It never runs backwards, and a machine's clock is believed only near the newest time seen.

A clock far ahead would end every token and open every window of the limits; one far behind would keep requests and delegated
tokens alive. Both are refused for any action until the clock is right again or two people correct the vault's time
(:meth:`shoal.protector.vault.Vault.correct_time`).
"""

from __future__ import annotations

from shoal.errors import TamperError

AHEAD = 366 * 86400.0
"""Seconds by which a clock may be ahead of the newest time the vault has seen: the longest time a vault may lie unused."""

BEHIND = 600.0
"""Seconds by which a clock may be behind: servers that share a vault differ a little, and clocks are set back a little."""


def advanced(seen: float, clock: float) -> float:
    """The present time, from the newest time seen and the machine's clock.

    >>> advanced(0.0, 5e9), advanced(1e9, 1e9 + 60), advanced(1e9, 1e9 - 60)
    (5000000000.0, 1000000060.0, 1000000000.0)
    """
    if seen and not seen - BEHIND <= clock <= seen + AHEAD:
        direction, days = ("ahead of", clock - seen) if clock > seen else ("behind", seen - clock)
        raise TamperError(
            f"the clock of this machine is {days / 86400:,.1f} days {direction} the newest time this vault has seen: "
            "nothing is done at a time that cannot be trusted.",
            hint="Set the clock right. If it is right, two people correct the vault's time with `shoal vault time --correct`.",
        )
    return max(seen, clock)
