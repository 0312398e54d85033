"""Charts: right numbers, nothing hidden by rounding, hostile names inert, the same bytes, the same look everywhere."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.errors import OutputError, UsageError
from shoal.protector.care.reports import drawn
from shoal.report.charts import Chart, Line, class_sizes, curve, fish, frontier, heat_map, save, staircase, svg, timeline
from shoal.report.charts.drawing import Scale, nice, powers, steps
from shoal.report.charts.sizes import bins, share_out
from shoal.report.numbers import percent, short_percent
from shoal.report.pages import LOOKS, colours
from shoal.studio.pages import environment as studio_environment

EVIL = '<script>"x"&</script>\x1b[2J\u202e\u200b\x9b'
HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
SRC = Path(__file__).resolve().parents[3] / "src" / "shoal"


def charts() -> list[Chart]:
    return [
        class_sizes({1: 3, 2: 8, 5: 10, 70: 700}, 5, before={1: 700, 2: 21}, title=EVIL),
        frontier([{"k": 2, "loss": 0.1}, {"k": 5, "loss": 0.2, "chosen": True}, {"k": 50, "loss": 1.0}], asked=5, title=EVIL),
        curve([Line(EVIL, [(1, 1), (2, 3)], [(0, 2), (1, 4)], EVIL), Line("b", [(1, 2)], dots=True)], x=EVIL, y=EVIL, title=EVIL),
        heat_map([EVIL, "b", "c"], [[0.5], [0.001, 1.0], [0, 0.2, 0.999]], title=EVIL),
        staircase([EVIL, "b"], [1000.0, 0.02], title=EVIL, y=EVIL),
        timeline(["2026-01"], {EVIL: [3]}, title=EVIL, y=EVIL, refused=[1], limit=(4, EVIL)),
        fish(100, 3, out=20, unit=EVIL),
    ]


@pytest.mark.parametrize("chart", charts(), ids=lambda c: c.told[:12])
def test_every_chart_is_well_formed_named_escaped_and_inside_its_frame(chart: Chart) -> None:
    text = str(svg(chart))
    assert "<script" not in text
    assert not HOSTILE.search(text)
    root = ET.fromstring(text)
    assert [child.tag.split("}")[1] for child in root][:2] == ["title", "desc"]
    assert root[1].text
    assert {m.kind for m in chart.marks} <= set(LOOKS)
    for mark in chart.marks:
        for name, size in (("x", chart.width), ("y", chart.height), ("cx", chart.width), ("cy", chart.height)):
            if mark.get(name):
                assert 0 <= float(mark.get(name)) <= size, mark


def test_every_look_uses_a_token_that_exists() -> None:
    for look in LOOKS.values():
        assert {look.fill, look.stroke} - {""} <= set(colours())


@pytest.mark.parametrize("k", [2, 3, 5, 12, 100])
def test_bins_cover_everyone_once_and_break_at_k(k: int) -> None:
    sizes = {s: 7 * s for s in (1, 2, k - 1, k, k + 1, 2 * k, 999) if s > 0}
    found = bins([sizes], k)
    assert sum(people[0] for _, _, people in found) == sum(sizes.values())
    assert sum(people[0] for low, _, people in found if low < k) == sum(n for s, n in sizes.items() if s < k)
    assert all(high == following[0] for (_, high, _), following in pairwise(found))


def test_bars_of_fewer_than_k_people_are_pooled_and_bars_of_k_are_not() -> None:
    def first(people: int) -> list[tuple[int, int, list[int]]]:
        return bins([{1: 50, 2: people}], 5)[:2]

    assert first(4) == [(1, 4, [54]), (4, 5, [0])]
    assert first(5) == [(1, 2, [50]), (2, 4, [5])]
    assert bins([{4: 4, 5: 5}], 5)[0] == (1, 5, [4])  # never across k


def test_a_random_table_never_shows_a_bar_of_few_where_it_could_be_pooled() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        k = int(rng.integers(2, 9))
        series = [{int(s): int(s * rng.integers(1, 3)) for s in rng.integers(1, 40, 5)} for _ in range(2)]
        found = bins(series, k)
        for side in ([b for b in found if b[0] < k], [b for b in found if b[0] >= k]):
            if len(side) > 1:
                assert not any(0 < n < k for _, _, people in side for n in people)
        for i, sizes in enumerate(series):
            assert sum(people[i] for _, _, people in found) == sum(sizes.values())


def test_the_heights_of_bars_are_the_shares() -> None:
    chart = class_sizes({1: 25, 5: 75}, 5)
    bars = {m.kind: float(m.get("height")) for m in chart.marks if m.kind in ("risk", "safe")}
    assert bars["safe"] == pytest.approx(3 * bars["risk"], abs=0.3)


def test_edges_are_drawn() -> None:
    for sizes, k in (({1: 1}, 2), ({7: 21}, 7), ({1_000_000: 2_000_000, 1: 5}, 5), ({1: 4}, 1)):
        ET.fromstring(str(svg(class_sizes(sizes, k))))
    ET.fromstring(str(svg(frontier([{"k": 2, "loss": 1e9}, {"k": 5, "loss": 2.5e9, "chosen": True}]))))
    ET.fromstring(str(svg(timeline([], {}, title="t", y="y"))))
    ET.fromstring(str(svg(staircase(["a"], [1.0], title="t", y="y"))))
    assert all(value <= nice(value) <= 2 * value for value in (1e-9, 0.1, 0.3, 1.0, 7.7, 1e12))


def test_scales_and_ticks() -> None:
    assert [Scale(0, 10, 100, 0)(v) for v in (0, 5, 10)] == [100, 50, 0]
    assert Scale(1, 100, 0, 2, log=True)(10) == pytest.approx(1)
    for low, high in ((0, 1), (0, 7.3), (3, 1e6), (0, 0.02)):
        found = steps(low, high)
        assert 2 <= len(found) <= 8
        assert low <= found[0]
        assert found[-1] <= high * (1 + 1e-9)
    assert powers(1, 1e9)[0] == 1
    assert len(powers(1, 1e9)) <= 7


@pytest.mark.parametrize(("total", "alone", "out"), [(20000, 1, 0), (20000, 19999, 0), (20000, 1, 19998), (3, 1, 1), (50, 50, 0)])
def test_no_one_alone_and_no_one_hidden_is_rounded_away(total: int, alone: int, out: int) -> None:
    n = min(50, total)
    hide, lonely, gone = share_out(total, alone, out, n)
    assert hide + lonely + gone == n
    assert min(hide, lonely, gone) >= 0
    assert (lonely > 0) == (alone > 0)
    assert (hide > 0) == (total > alone + out)


def test_only_all_is_a_hundred_percent() -> None:
    assert percent(0.99999) == "above 99.9 %"
    assert percent(1.0) == "100 %"
    assert short_percent(0.99999) == "99.9"
    assert (short_percent(0.0099), short_percent(0.01)) == ("< 1", "1")


def test_files_are_whole_the_same_each_time_and_need_nothing(tmp_path: Path) -> None:
    chart = charts()[0]
    for kind in ("svg", "html", "png"):
        if kind == "png":
            pytest.importorskip("matplotlib")
        one, two = (save(chart, tmp_path / f"{n}.{kind}", text=EVIL).read_bytes() for n in "ab")
        assert one == two
        if kind != "png":
            text = one.decode().replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://|url\(|<script|@import", text)
            assert "prefers-color-scheme:dark" in text
    wide, high = struct.unpack(">II", one[16:24])
    assert (wide, high) == (2 * chart.width, 2 * (chart.height + 40))
    ET.fromstring((tmp_path / "a.svg").read_bytes())
    with pytest.raises(UsageError, match=r"\.pdf"):
        save(chart, tmp_path / "a.pdf")
    with pytest.raises(OutputError):
        save(chart, tmp_path / "none" / "a.svg")
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".html", ".html", ".png", ".png", ".svg", ".svg"]


def test_the_timeline_of_reveals_counts_what_the_log_says() -> None:
    def row(period: str, purpose: str, records: int, refused: int) -> dict[str, object]:
        return {"period": period, "actor": "A-1", "purpose": purpose, "records": records, "refused": refused, "alarms": 0}

    chart = drawn([row("2026-01", "care", 4, 1), row("2026-03", "audit", 7, 0)], "reveal", "month", None)
    assert chart.told.endswith("2026-01: 4; 2026-02: 0; 2026-03: 7.")
    assert sum(m.kind == "cross" for m in chart.marks) == 4  # one sign in the chart, one in the key
    limits = [sum(m.kind == "limit" for m in drawn([row("2026-01", "care", 4, 0)], "reveal", "day", n).marks) for n in (8, 9)]
    assert limits == [1, 0], "a limit is drawn up to twice the highest bar"


def test_help_and_the_library_do_not_load_the_report() -> None:
    code = (
        "import sys, shoal; from shoal.__main__ import main; sys.argv = ['shoal', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "sys.stderr.write(str([m for m in ('jinja2', 'matplotlib', 'shoal.report') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]"


def test_html_is_written_in_templates_only() -> None:
    tags = re.compile(r"</?(?:html|body|div|span|p|table|tr|t[dh]|h[1-6]|ul|li|svg|rect|text|path|style|section)[ >]")
    found = [p.relative_to(SRC).as_posix() for p in SRC.rglob("*.py") if tags.search(p.read_text(encoding="utf-8"))]
    assert found == []


def test_on_a_phone_no_words_stand_across_the_steps_of_a_staircase() -> None:
    for names in (["asked"], ["asked", "sex", "age", "department", "service", "contract"]):
        chart = staircase(names, [3400.0, 1566.0, 157.0, 11.0, 2.4, 1.1][: len(names)], title="t", y="people", few=5, width=232)
        drawn = ET.fromstring(str(svg(chart)))
        words = next(e for e in drawn.iter() if (e.text or "").startswith("dashed: under 5"))
        lowest = max(float(e.get("y", "0")) for e in drawn.iter() if e.text in names)
        assert float(words.get("y", "0")) >= lowest + 12, "below the names"
        assert float(words.get("x", "999")) <= chart.width
        assert float(words.get("x", "0")) >= 9 * len(words.text or "") * 0.7, "its beginning is not cut"


def test_names_of_columns_drive_no_page() -> None:
    names = ["age\x1b[2J", "se\u202ex", "fa\u200cr"]
    measured = shoal.measure({n: ["a", "b"] * 9 for n in names}, quasi=names)
    for text in (measured._repr_html_(), shoal.inspect({n: ["a", "b"] * 9 for n in names})._repr_html_(), studio_part(names[0])):
        assert not HOSTILE.search(text)
        assert "age\N{REPLACEMENT CHARACTER}[2J" in text
    for text in (repr(measured), measured.explain(), repr(measured.explain("k"))):
        assert not HOSTILE.search(text)
    with pytest.raises(UsageError) as error:
        shoal.measure({n: ["a", "b"] * 9 for n in names}, quasi=["age\x1b[3J"])
    assert not HOSTILE.search(str(error.value))
    assert "�[3J" in str(error.value)
    assert names[2] in measured._repr_html_()  # letters of Persian are joined or not: that is no trick


def studio_part(name: str) -> str:
    return str(studio_environment().from_string("{{ name }}").render(name=name))
