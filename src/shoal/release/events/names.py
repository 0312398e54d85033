"""The published pseudonyms of an event release: numbers dealt at random, or those that a domain of the vault gives.

Takes    the traces of the plan: what stands under one pseudonym, and whose it is
Returns  one pseudonym per published trace; no two traces share one
Keeps    a domain that would give two traces the same pseudonym stops the run before anything is written
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.errors import PolicyError
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import IntArray
from shoal.release.events.read import EventTable
from shoal.search.events.event_search import Found
from shoal.search.events.problem import NEVER


def pseudonyms(events: EventTable, found: Found) -> Any:
    """The pseudonym of every published record (pyarrow), in the order of the records that stay."""
    import pyarrow as pa

    index = np.flatnonzero(found.stays)
    used, which = np.unique(found.trace[index], return_inverse=True)
    rng = np.random.default_rng([events.policy.seed, 2])
    dealt = rng.permutation(len(used))
    if not events.rules.vault:
        return pa.array(dealt[which] + 1)
    owner = np.empty(len(used), dtype=np.int64)
    owner[dealt[which]] = events.problem.person[index]
    return _of_vault(events, owner, renewed=found.shape.renew != NEVER).take(pa.array(dealt[which]))


def _of_vault(events: EventTable, owner: IntArray, *, renewed: bool) -> Any:
    """A pseudonym of the domain for each trace; the traces come in a random order, so that it reveals nothing."""
    import pyarrow as pa

    from shoal.protector.pseudonyms.plan_step import Pseudonymize, in_session

    domain, column = events.rules.vault, events.rules.unit
    people = pa.table({column: canonical_text(events.ids).take(pa.array(owner))})
    with in_session():
        named = Pseudonymize(column, domain=domain).start(0)(people, 0)[column]
    made = pa.concat_arrays(named.chunks) if isinstance(named, pa.ChunkedArray) else named
    if made.null_count or len(made.unique()) < len(made):
        if renewed:
            raise PolicyError(
                f"domain '{domain}' of the vault gives a person one pseudonym, and the plan renews it.",
                hint="Use a domain of scope transaction: shoal vault domain add NAME --scope transaction.",
                path="events.vault",
            )
        raise PolicyError(
            f"domain '{domain}' of the vault gives two people the same pseudonym: their ids differ only in how they are written.",
            hint="Write the ids in one way, or use a domain with --clean none.",
            path="events.vault",
        )
    return made
