"""What each column adds, as a chart: the figures are written, people at risk are hatched, nobody is no hatch."""

from __future__ import annotations

from shoal.report.charts import frontier, rising, svg


def test_the_steps() -> None:
    chart = rising(["sex", "postcode <b>"], [0, 150], 200, title="What each column adds")
    drawn = str(svg(chart))
    assert [m.words for m in chart.marks if m.kind == "t-ink"] == ["0", "150"]
    assert sum(m.kind == "risk" for m in chart.marks) == 1, "a step on which nobody is alone is not hatched"
    assert "<b>" not in drawn
    assert "+ postcode &lt;b&gt;: 150" in drawn
    assert "of 200" in chart.told


def test_a_step_is_as_high_as_its_share() -> None:
    half, whole = (next(m for m in rising(["a"], [n], 200, title="x").marks if m.kind == "risk") for n in (100, 200))
    assert float(whole.get("height")) == 2 * float(half.get("height"))


def test_a_narrow_frontier_stays_inside() -> None:
    points = [{"k": 2, "loss": 0.1}, {"k": 5, "loss": 0.2, "chosen": True}, {"k": 100, "loss": 0.9}]
    for width in (440, 832):
        chart = frontier(points, asked=5, width=width)
        dots = [float(m.get("cx")) for m in chart.marks if m.tag == "circle"]
        assert chart.width == width
        assert all(0 < x < width for x in dots)


def test_the_taken_plan_keeps_its_sign_filled_and_ringed() -> None:
    for name, sign in (("most detail", "circle"), ("balanced", "polygon"), ("safest", "rect"), ("", "polygon")):
        plans = [{"k": 2, "loss": 0.1}, {"k": 5, "loss": 0.2, "chosen": True, "name": name}, {"k": 9, "loss": 0.9}]
        marks = [m for m in frontier(plans).marks if m.kind in ("halo", "dot")]
        assert [m.tag for m in marks] == ["circle", sign]


def test_a_figure_stands_beside_the_dashed_edge_and_beside_its_neighbours() -> None:
    chart = rising(["a", "b"], [100, 200], 1000, title="x", outlined=[160, 900])
    high = {m.words: float(m.get("y")) for m in chart.marks if m.kind == "t-ink"}
    edge = {n: 214 - 168 * n / 1000 for n in (100, 160, 200, 900)}
    assert high["100"] < edge[160] - 4, "above the dashed edge that would cross it"
    assert edge[900] < high["200"] < edge[200], "on its own step if the dashed edge is far"
    many = [f"column {i}" for i in range(12)]
    narrow = rising(many, [1000 * i for i in range(12)], 11_000, title="x", width=232)
    assert [m.words for m in narrow.marks if m.kind == "t-ink"] == ["0", "11,000"], "no figure over another"
    assert all("rotate(-60" in m.get("transform") for m in narrow.marks if m.words and "column" in m.words)


def test_narrow_steps_of_one_height_have_one_figure() -> None:
    for width, times in ((200, 1), (600, 2)):
        chart = rising(list("abcdefghij"), [1, 2, 3, 4, 5, 6, 7, 8, 488, 488], 500, title="x", width=width)
        assert sum(m.words == "488" for m in chart.marks) == times
