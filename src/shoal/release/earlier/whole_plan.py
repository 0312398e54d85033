"""The whole plan of an earlier release: its folder shows it without rare values, its private file keeps them."""

from __future__ import annotations

from pathlib import Path

from shoal.kernels.text import canonical_text
from shoal.model.certificate.certificate import Certificate
from shoal.model.plan import Plan
from shoal.release.make import seed as private
from shoal.release.plan.prepare import Prepared
from shoal.steps import MapValues


def whole_plan(place: Path, claims: Certificate) -> Plan | None:
    """The plan in the private file beside a release folder; None where there is none for this release."""
    beside = private.place_of(place)
    if not beside.is_file():
        return None
    kept = private.read(beside)
    return Plan.from_json(kept.plan) if kept.plan is not None and private.fits(kept, claims.plan) else None


def unknown_column(prepared: Prepared, published: Plan) -> str | None:
    """A column with a value that the published value map does not list: its people may be in the earlier release or not."""
    for j, column in enumerate(prepared.base.columns):
        for step in published.for_column(column):
            if isinstance(step, MapValues) and step.on_gap == "suppress":
                values, floats = prepared.base.categories[j], prepared.schema[column].kind == "float"
                present = set(values.to_pylist() if floats else canonical_text(values).to_pylist())
                if present - set(step.by_number() if floats else step.keys):
                    return column
    return None
