"""Charts as inline SVG, from numbers alone: no script, no font file, the same bytes every time.

Each function takes numbers and names and returns a :class:`Chart`; :func:`svg` writes it for a page, :func:`save` as a file.
Colours are classes over the tokens of the page, so a chart follows light, dark and paper. Each says in words what it shows.
"""

from shoal.report.charts.bars import bars, before_after, boxes, dial, heat_map
from shoal.report.charts.curves import Line, curve, frontier, rising, staircase, timeline
from shoal.report.charts.drawing import Chart, save, svg
from shoal.report.charts.sizes import Revealed, class_sizes, fish, known_records, set_sizes

__all__ = [
    "Chart", "Line", "Revealed", "bars", "before_after", "boxes", "class_sizes", "curve", "dial", "fish", "frontier",
    "heat_map", "known_records", "rising", "save", "set_sizes", "staircase", "svg", "timeline",
]  # fmt: skip
