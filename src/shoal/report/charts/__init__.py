"""Charts as inline SVG, from numbers alone: no script, no font file, the same bytes every time.

Each function takes numbers and names and returns a :class:`Chart`; :func:`svg` writes it for a page, :func:`save` as a file.
Colours are classes over the tokens of the page, so a chart follows light, dark and paper. Each says in words what it shows.
"""

from shoal.report.charts.bars import bars
from shoal.report.charts.boxes import boxes
from shoal.report.charts.curve import Line, curve
from shoal.report.charts.dial import dial
from shoal.report.charts.effect import before_after
from shoal.report.charts.frontier import frontier
from shoal.report.charts.heat import heat_map
from shoal.report.charts.known_records import Hiding, Revealed, known_records, set_sizes
from shoal.report.charts.marks import Chart
from shoal.report.charts.rising import rising
from shoal.report.charts.shoal_sign import fish
from shoal.report.charts.sizes import class_sizes
from shoal.report.charts.staircase import staircase
from shoal.report.charts.timeline import timeline
from shoal.report.charts.write import save, svg

__all__ = [
    "Chart",
    "Hiding",
    "Line",
    "Revealed",
    "bars",
    "before_after",
    "boxes",
    "class_sizes",
    "curve",
    "dial",
    "fish",
    "frontier",
    "heat_map",
    "known_records",
    "rising",
    "save",
    "set_sizes",
    "staircase",
    "svg",
    "timeline",
]
