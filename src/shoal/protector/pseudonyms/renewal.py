"""How many records a pseudonym may cover, by the trajectory model (see docs of ``shoal predict zipf``).

Each record linked under one pseudonym makes its holder easier to single out. With places visited by Zipf's law, the model
tells the share of people who are in cells of fewer than k after s records; the largest s with that share at most ``limit``
is the life of a pseudonym.
"""

from __future__ import annotations

from shoal.errors import InfeasibleError, UsageError
from shoal.protector.pseudonyms.domains import Renewal


def by_trajectory(*, exponent: float, places: int, people: int, limit: float, k: int = 2, records_per_row: int = 1) -> Renewal:
    """Renewal after the number of rows that the Zipf model allows.

    Parameters
    ----------
    exponent, places : float, int
        Zipf exponent c and number d of places (or other values a record can have).
    people : int
        Number of people that could be meant.
    limit : float
        Largest tolerated share of people in cells of fewer than ``k``.
    records_per_row : int
        Places that one row of the table tells: the model counts places, a trip with its start and end tells two.

    Examples
    --------
    Public transport of 42.6 million trips, 2,497 stations: with 5 % tolerated, a pseudonym may cover two records.

    >>> by_trajectory(exponent=0.632, places=2497, people=42_598_300, limit=0.05).uses
    2

    Where a row is a trip from one station to another, that is one row.

    >>> by_trajectory(exponent=0.632, places=2497, people=42_598_300, limit=0.05, records_per_row=2).uses
    1
    """
    from shoal.prediction.zipf.records import Zipf, pseudonym_life

    life = pseudonym_life(Zipf(exponent, places), people, limit, k=k)
    if records_per_row < 1:
        raise UsageError("a row tells at least one place.", hint="For trips with start and end: --records-per-row 2.")
    rows = life // records_per_row
    if rows < 1:
        told = "record" if records_per_row == 1 else f"row of {records_per_row} places"
        raise InfeasibleError(
            f"even one {told} under a pseudonym leaves more than {limit:.3g} of the people in cells of fewer than {k}.",
            hint="Coarsen the places, tolerate more, or use scope 'transaction' and publish fewer details.",
        )
    reason = f"Zipf c={exponent:g}, d={places}, n={people}, k={k}, share <= {limit:g}"
    if records_per_row > 1:
        reason += f", {records_per_row} places per row"
    return Renewal(uses=rows, reason=reason)
