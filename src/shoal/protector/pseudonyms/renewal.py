"""How many records a pseudonym may cover, by the trajectory model (see docs of ``shoal predict zipf``).

Each record linked under one pseudonym makes its holder easier to single out. With places visited by Zipf's law, the model
tells the share of people who are in cells of fewer than k after s records; the largest s with that share at most ``limit``
is the life of a pseudonym.
"""

from __future__ import annotations

from shoal.errors import InfeasibleError
from shoal.protector.pseudonyms.domains import Renewal


def by_trajectory(*, exponent: float, places: int, people: int, limit: float, k: int = 2) -> Renewal:
    """Renewal after the number of records that the Zipf model allows.

    Parameters
    ----------
    exponent, places : float, int
        Zipf exponent c and number d of places (or other values a record can have).
    people : int
        Number of people that could be meant.
    limit : float
        Largest tolerated share of people in cells of fewer than ``k``.

    Examples
    --------
    Public transport of 42.6 million trips, 2,497 stations: with 5 % tolerated, a pseudonym may cover two records.

    >>> by_trajectory(exponent=0.632, places=2497, people=42_598_300, limit=0.05).uses
    2
    """
    from shoal.predict.zipf.records import Zipf, pseudonym_life

    life = pseudonym_life(Zipf(exponent, places), people, limit, k=k)
    if life < 1:
        raise InfeasibleError(
            f"even one record under a pseudonym leaves more than {limit:.3g} of the people in cells of fewer than {k}.",
            hint="Coarsen the places, tolerate more, or use scope 'transaction' and publish fewer details.",
        )
    reason = f"Zipf c={exponent:g}, d={places}, n={people}, k={k}, share <= {limit:g}"
    return Renewal(uses=life, reason=reason)
