"""Answers of a registry as plain objects, the same for the command line and the service."""

from __future__ import annotations

from typing import Any

from shoal.registry import analyse
from shoal.registry.query import Answer


def shown(answer: Answer) -> dict[str, Any]:
    """An answer as JSON: what was asked, how well it fits, the records, a dispute with both values, and notes."""
    quarrel = answer.dispute
    return {
        "attributes": list(answer.codes),
        "population": str(answer.population),
        "fit": answer.fit,
        "best": answer.best.id if answer.records else None,
        "records": [r.to_json() for r in answer.records],
        "dispute": None
        if quarrel is None
        else {"holders": [r.holder for r in quarrel.records], "spread": dict(quarrel.spread), "cautious": quarrel.cautious.id},
        "trust": dict(answer.trust),
        "notes": list(answer.notes),
    }


def analysed(answer: Answer, group_size: int) -> dict[str, Any]:
    """Predictions for a group: share unique, how many, everybody unique, crowd, smallest group."""
    out = {"attributes": list(answer.codes), "population": str(answer.population), "fit": answer.fit, "group_size": group_size}
    if not answer.records:
        return {**out, "notes": ["Nothing is known."], "unique_share": None}
    share = answer.unique_share(group_size)
    out |= {"unique_share": share.to_json(), "unique_people": share.value * group_size, "notes": [*answer.notes, analyse.AVERAGE]}
    if answer.fit in ("exact", "parent population"):
        summary = answer.best.summary
        smallest, sentence = analyse.smallest_group(summary, group_size)
        out |= {
            "everybody_unique": analyse.everybody_unique(summary, group_size).to_json(),
            "expected_crowd": analyse.expected_crowd(summary, group_size).to_json(),
            "smallest_group": {"size": smallest, "sentence": sentence},
        }
    return out
