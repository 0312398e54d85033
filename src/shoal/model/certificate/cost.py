"""What a release cost, in one sentence that stands first: columns that tell nothing any more, records left out, loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.model.certificate.certificate import Certificate
from shoal.model.written import written


@dataclass(frozen=True)
class Cost:
    """``blank`` names the quasi-identifiers of which one group or nothing is left, ``of`` counts those with several before."""

    blank: tuple[str, ...]
    of: int
    loss: float
    measure: str
    suppressed: int
    suppressed_share: float
    proven: bool
    gap: float | None

    @property
    def sentence(self) -> str:
        """The cost in words, the worst first.

        >>> Cost(("zip",), 3, 0.41, "loss", 0, 0.0, True, 0.0).sentence
        '1 of 3 quasi-identifiers tells nothing any more: zip. Loss 0.41 of 1; no plan loses less.'
        """
        parts = []
        if self.blank:
            verb = "tells" if len(self.blank) == 1 else "tell"
            parts.append(f"{len(self.blank)} of {self.of} quasi-identifiers {verb} nothing any more: {', '.join(self.blank)}.")
        else:
            parts.append("Every quasi-identifier still tells something.")
        if self.suppressed:
            share = written(100 * self.suppressed_share, 2 if self.suppressed_share < 0.995 else 4)
            parts.append(f"{self.suppressed:,} records ({share} %) were left out.")
        parts.append(f"Loss {written(self.loss, 2)}{' of 1' if self.measure in ('loss', 'ncp') else ''}; {self.distance}.")
        return " ".join(parts)

    @property
    def distance(self) -> str:
        """How far the plan may be from the best."""
        if self.proven:
            return "no plan loses less"
        if self.gap is None:
            return "not proven to lose least; how far it is from the best is not known"
        return f"not proven to lose least; a better plan could save at most {written(self.gap, 2)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "blank": list(self.blank),
            "quasi": self.of,
            "loss": self.loss,
            "suppressed": self.suppressed,
            "suppressed_share": self.suppressed_share,
            "proven": self.proven,
            "gap": self.gap,
            "sentence": self.sentence,
        }


def cost_of(made: Certificate) -> Cost:
    """The cost that a certificate tells of."""
    had = [c for c in made.columns if (c.values_before or 0) > 1]
    blank = tuple(c.name for c in had if (c.values_after or 0) <= 1)
    u = made.utility
    return Cost(blank, len(had), u.loss, u.optimize, u.suppressed, u.suppressed_share, u.proven, u.gap)
