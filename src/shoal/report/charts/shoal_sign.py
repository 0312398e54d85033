"""The sign of the house: fish that hide among others, fish that are alone, and places that stay empty."""

from __future__ import annotations

import math

from shoal.report.charts.marks import Chart, Mark, line, place

ACROSS = 10


def share_out(total: int, alone: int, out: int, fishes: int) -> tuple[int, int, int]:
    """How many of the fish hide, are alone, are left out. Anyone who is alone is never rounded away; nor are all who hide.

    >>> share_out(20000, 19998, 0, 50), share_out(20000, 1, 588, 50), share_out(20000, 0, 0, 50), share_out(7, 1, 0, 7)
    ((1, 49, 0), (48, 1, 1), (50, 0, 0), (6, 1, 0))
    """
    lonely = math.ceil(fishes * alone / total)
    gone = min(round(fishes * out / total), fishes - lonely)
    if total > alone + out and lonely + gone == fishes:
        lonely, gone = (lonely - 1, gone) if lonely > 1 else (lonely, gone - 1)
    return fishes - lonely - gone, lonely, gone


def fish(total: int, alone: int, *, out: int = 0, fishes: int = 50, unit: str = "people") -> Chart:
    """A shoal of at most ``fishes`` for ``total`` people; ``alone`` are one of a kind, ``out`` are left out."""
    n = min(fishes, total)
    hide, lonely, gone = share_out(total, alone, out, n)
    kinds = ["fish-alone"] * lonely + ["fish-out"] * gone + ["fish"] * hide
    marks = [_one(12 + (i % ACROSS) * 33 + (i // ACROSS % 2) * 8, 12 + (i // ACROSS) * 20, kind) for i, kind in enumerate(kinds)]
    said = [f"{alone:,} of {total:,} {unit} are one of a kind", f"{out:,} are left out" if out else ""]
    rows = -(-n // ACROSS)
    return Chart(346, 14 + 20 * rows, "The shoal", ", ".join(s for s in said if s) + ".", tuple(marks))


def _one(x: float, y: float, kind: str) -> Mark:
    """A fish of 24 × 10 pixels: right and filled, or left and hollow; a dash where one is missing."""
    if kind == "fish-out":
        return line(x - 8, y, x + 8, y, kind)
    side = 1 if kind == "fish" else -1

    def at(dx: float, dy: float) -> str:
        return f"{place(x + side * dx)},{place(y + dy)}"

    body = f"M{at(-6, 0)}Q{at(3, -10)} {at(12, 0)}Q{at(3, 10)} {at(-6, 0)}"
    tail = f"L{at(-12, -4.5)}L{at(-11, 0)}L{at(-12, 4.5)}Z"
    return Mark("path", kind, (("d", body + tail),))


def caption(total: int, fishes: int = 50, *, alone: bool = True, out: bool = False, unit: str = "people") -> str:
    """What one fish stands for, and what the shapes mean.

    >>> caption(20000), caption(12, alone=False)
    ('Each fish is 400 people. Hollow, swimming left: one of a kind.', 'Each fish is one of them. All hide among others.')
    """
    each = total / fishes
    said = [
        "Each fish is one of them." if each <= 1 else f"Each fish is {'' if total % fishes == 0 else 'about '}{each:,.0f} {unit}."
    ]
    if alone:
        said.append("Hollow, swimming left: one of a kind.")
    if out:
        said.append("Dash: left out.")
    return " ".join(said if alone or out else [*said, "All hide among others."])
