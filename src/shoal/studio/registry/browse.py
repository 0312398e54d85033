"""What a registry knows, as its pages show it: a map of populations and attributes, and one question with its records."""

from __future__ import annotations

from typing import Any

from shoal.errors import ShoalError
from shoal.kernels.signatures import fingerprint
from shoal.registry.answer.answer import Answer, analysed
from shoal.registry.answer.query import Registry, populations
from shoal.registry.records.record import Record
from shoal.report.numbers import percent
from shoal.studio.words import in_n

MOST_ROWS = 20
STEPS = (0.001, 0.01, 0.05, 0.2, 0.5)
"""Where the colours of the map change."""
GROUPS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


def map_of(registry: Registry, text: str, group: int) -> dict[str, Any]:
    """Populations by what is known of them: the share of a group that would be one of a kind, in every cell."""
    found = populations(registry.source, text, limit=MOST_ROWS + 1)
    shown = found[:MOST_ROWS]
    heads = sorted({c for one in shown for c in one.codings}, key=lambda c: (len(c), c))
    rows = []
    for one in shown:
        cells: list[dict[str, Any] | None] = []
        for codes in heads:
            cells.append(_cell(registry, codes, one.population, group) if codes in one.codings else None)
        rows.append({"population": one.population, "cells": cells})
    return {"heads": [", ".join(c) for c in heads], "rows": rows, "more": len(found) > MOST_ROWS}


def _cell(registry: Registry, codes: tuple[str, ...], population: str, group: int) -> dict[str, Any]:
    answer = registry.query(codes, population)
    share = answer.unique_share(group)
    heat = sum(share.value >= step for step in STEPS)
    return {
        "codes": ",".join(codes),
        "share": percent(share.value),
        "between": f"between {percent(share.low)} and {percent(share.high)}, grade {share.grade}",
        "heat": heat,
        "disputed": answer.dispute is not None,
    }


def question(registry: Registry, codes: list[str], population: str, group: int) -> dict[str, Any]:
    """One question: the sentence, every record with where it comes from, and both sides of a dispute."""
    answer = registry.query(codes, population)
    found = analysed(answer, group)
    share = found["unique_share"]
    return {
        "answer": answer,
        "said": None if share is None else f"{percent(share['value'])} of {group:,} people ({in_n(share['value'])})",
        "between": None if share is None else f"between {percent(share['low'])} and {percent(share['high'])}",
        "grade": None if share is None else share["grade"],
        "smallest": found.get("smallest_group", {}).get("sentence", ""),
        "records": [_record(r, registry, answer) for r in answer.records],
        "dispute": _dispute(answer),
        "doubted": [{"holder": r.holder, "codes": ", ".join(r.codes)} for r in answer.doubted],
        "notes": found["notes"],
    }


def _record(record: Record, registry: Registry, answer: Answer) -> dict[str, Any]:
    stated = [s for s in registry.source.statements() if s.subject in (record.key, record.id)]
    kappa = record.summary.statistics["kappa"]
    return {
        "id": record.id,
        "holder": record.holder,
        "fingerprint": fingerprint(record.key),
        "date": record.date,
        "version": record.version,
        "method": record.method,
        "source": record.source,
        "people": f"{record.summary.size:,}",
        "cells": f"{record.summary.cells:,}",
        "kappa": f"{kappa.value:g} ± {kappa.step:g}",
        "noise": record.summary.noise,
        "statistics": [(name, f"{value.value:g} ± {value.step:g}") for name, value in sorted(record.summary.statistics.items())],
        "stated": [{"kind": s.kind, "by": fingerprint(s.key), "date": s.date} for s in stated],
        "best": bool(answer.records) and record.id == answer.best.id,
        "signed": _signed(record),
    }


def _signed(record: Record) -> bool:
    try:
        record.verify()
    except ShoalError:
        return False
    return True


def _dispute(answer: Answer) -> dict[str, Any] | None:
    """Both sides, beside each other; the cautious one is planned by."""
    if answer.dispute is None:
        return None
    rows = []
    for name, apart in sorted(answer.dispute.spread.items()):
        values = [
            f"{r.summary.statistics[name].value:g}" if name in r.summary.statistics else "–" for r in answer.dispute.records
        ]
        rows.append({"name": name, "values": values, "apart": f"{apart[1] - apart[0]:.4g}"})
    return {
        "holders": [r.holder for r in answer.dispute.records],
        "rows": rows,
        "cautious": answer.dispute.cautious.holder,
    }
