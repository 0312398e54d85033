"""A chart is a list of marks: rectangles, lines, dots and words, each of a kind that :mod:`~shoal.report.look` dresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """One drawn thing: an SVG element, its kind, its attributes, and its words if it is a text."""

    tag: str
    kind: str
    attributes: tuple[tuple[str, str], ...]
    words: str = ""

    def get(self, name: str, default: str = "") -> str:
        return dict(self.attributes).get(name, default)


@dataclass(frozen=True)
class Chart:
    """Marks on a plane of width × height pixels; ``title`` and ``told`` are what a screen reader says."""

    width: int
    height: int
    title: str
    told: str
    marks: tuple[Mark, ...]


def place(value: float) -> str:
    """A place with at most one decimal.

    >>> place(3.0), place(2.25), place(-0.01)
    ('3', '2.2', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _made(tag: str, kind: str, places: Mapping[str, float]) -> Mark:
    return Mark(tag, kind, tuple((name, place(value)) for name, value in places.items()))


def rect(x: float, y: float, width: float, height: float, kind: str, *, round_: float = 0) -> Mark:
    places = {"x": x, "y": y, "width": max(0.0, width), "height": max(0.0, height), **({"rx": round_} if round_ else {})}
    return _made("rect", kind, places)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Mark:
    return path([(x1, y1), (x2, y2)], kind)


def path(points: Iterable[Point], kind: str, *, closed: bool = False) -> Mark:
    """Straight lines through points; closed and filled as an area."""
    said = " ".join(f"{place(x)},{place(y)}" for x, y in points)
    return Mark("polygon" if closed else "polyline", kind, (("points", said),))


def dot(x: float, y: float, r: float, kind: str) -> Mark:
    return _made("circle", kind, {"cx": x, "cy": y, "r": r})


def text(x: float, y: float, words: str, kind: str = "t", *, anchor: str = "middle", turn: float = 0) -> Mark:
    more = [("x", place(x)), ("y", place(y)), ("text-anchor", anchor)]
    if turn:
        more.append(("transform", f"rotate({place(turn)} {place(x)} {place(y)})"))
    return Mark("text", kind, tuple(more), words)


def hatched(x: float, y: float, width: float, height: float, kind: str, stripes: str, gap: float = 6) -> list[Mark]:
    """A rectangle under diagonal stripes, so that it can be distinguished without colour."""
    said, start = [], gap
    while start < width + height:
        one = (x + min(start, width), y + max(0.0, start - width))
        other = (x + max(0.0, start - height), y + min(start, height))
        said.append(f"M{place(one[0])},{place(one[1])}L{place(other[0])},{place(other[1])}")
        start += gap
    drawn = [Mark("path", stripes, (("d", "".join(said)),))] if said else []
    return [rect(x, y, width, height, kind), *drawn]


def fits(words: Sequence[str], room: float) -> bool:
    """Whether each word fits into the room beside its neighbours (about 6.6 pixels a letter)."""
    return all(6.6 * len(w) <= room for w in words)


def shortened(name: str, letters: int = 20) -> str:
    """A name that leaves room for others.

    >>> shortened("place of residence of the mother", 12)
    'place of re…'
    """
    return name if len(name) <= letters else name[: letters - 1] + "…"
