"""A chance in words: the same in measurements, attacks, reports and on the command line."""

from __future__ import annotations


def one_in(chance: float) -> str:
    """A chance as people say it; only 0 is "none" and only 1 is "certain".

    >>> one_in(0.2), one_in(0.4), one_in(0.9), one_in(0.0834), one_in(0.3333), one_in(0.9999)
    ('1 in 5', '40 in 100', '90 in 100', 'about 1 in 12', 'about 33 in 100', 'nearly certain')
    >>> one_in(1.0), one_in(0.0), one_in(0.0001)
    ('certain', 'none', '1 in 10,000')
    """
    if chance <= 0.0:
        return "none"
    if chance >= 1.0:
        return "certain"
    turns, hundredths = 1.0 / chance, 100.0 * chance
    if abs(turns - round(turns)) < 1e-9 * turns:
        return f"1 in {round(turns):,}"
    if turns >= 10:
        return f"about 1 in {round(turns):,}"
    if hundredths >= 99.5:
        return "nearly certain"
    about = "" if abs(hundredths - round(hundredths)) < 1e-9 else "about "
    return f"{about}{round(hundredths)} in 100"
