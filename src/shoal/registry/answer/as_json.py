"""Answers of a registry as plain objects, the same for the command line and the service."""

from __future__ import annotations

from typing import Any

from shoal.registry.answer import analyse
from shoal.registry.answer.answer import Answer


def shown(answer: Answer) -> dict[str, Any]:
    """An answer as JSON: what was asked, how well it fits, the records, a dispute with both values, and notes."""
    quarrel = answer.dispute
    return {
        "attributes": list(answer.codes),
        "population": str(answer.population),
        "fit": answer.fit,
        "best": answer.best.id if answer.records else None,
        "records": [r.to_json() for r in answer.records],
        "others": sorted({r.id for rival in answer.rivals for r in rival.records} - {r.id for r in answer.records}),
        "dispute": None
        if quarrel is None
        else {"holders": [r.holder for r in quarrel.records], "spread": dict(quarrel.spread), "cautious": quarrel.cautious.id},
        "trust": dict(answer.trust),
        "notes": list(answer.notes),
    }


def analysed(answer: Answer, group_size: int) -> dict[str, Any]:
    """Predictions for a group: the share unique and how many; from a record of these very people also the rest.

    That is: everybody unique, the crowd, the smallest group. In a dispute each is the cautious one
    of all sides: most unique, likeliest that nobody is alike, smallest crowd.
    """
    out = {"attributes": list(answer.codes), "population": str(answer.population), "fit": answer.fit, "group_size": group_size}
    if not answer.records:
        return {**out, "notes": ["Nothing is known.", *answer.notes], "unique_share": None}
    share = answer.unique_share(group_size)
    out |= {"unique_share": share.to_json(), "unique_people": share.value * group_size, "notes": [*answer.notes, analyse.AVERAGE]}
    if answer.fit == "exact" and not answer.doubted and not answer.strangers and not answer.rivals:
        crowds = [analyse.expected_crowd(r.summary, group_size, sampled=r.sampled) for r in answer.judged]
        alike = [analyse.everybody_unique(r.summary, group_size, sampled=r.sampled) for r in answer.judged]
        smallest, sentence = analyse.smallest_group(share, group_size)
        out |= {
            "everybody_unique": answer.cautious(alike).to_json(),
            "expected_crowd": answer.cautious(crowds, min).to_json(),
            "smallest_group": {"size": smallest, "sentence": sentence},
        }
    return out
