"""What people see, in a real browser: pages render, run nothing, load nothing from anywhere, and hostile text stays text."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.report.charts import heat_map, save
from studio_support import accessible

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title="broken"</script>'


def look(browser: Any, page_file: Path) -> dict[str, Any]:
    """Open a page; collect what it asked for, what it complained of, and what it shows."""
    page = browser.new_page(viewport={"width": 1100, "height": 1400})
    page.set_default_timeout(600_000)
    asked: list[str] = []
    complained: list[str] = []
    page.on("request", lambda r: asked.append(r.url))
    page.on("console", lambda m: complained.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: complained.append(str(e)))
    page.goto(page_file.as_uri())
    seen = {"asked": asked, "complained": complained, "text": page.inner_text("body"), "title": page.title()}
    seen["images"] = page.locator("img").count()
    seen["scripts"] = page.locator("script").count()
    seen["drawings"] = page.locator("svg").count()
    seen["width"] = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    return seen


@pytest.fixture(scope="module")
def people() -> pa.Table:
    table = shoal.datasets.people(2000, seed=5).select(["sex", "education", "diagnosis"])
    return table.rename_columns(["sex", f"schooling {HOSTILE}", "diagnosis"])


@pytest.mark.browser
def test_the_release_report(browser: Any, people: pa.Table, tmp_path: Path) -> None:
    quasi = {"sex": {}, people.column_names[1]: {}}
    release = shoal.anonymize(people, quasi=quasi, sensitive=["diagnosis"], k=5)
    release.write(tmp_path / "release")
    seen = look(browser, tmp_path / "release" / "report.html")
    assert len(seen["asked"]) == 1  # the page itself
    assert seen["complained"] == []
    assert (seen["images"], seen["scripts"]) == (0, 0)
    assert seen["title"] != "broken"
    assert "<script>" in seen["text"]  # the hostile name is shown as text
    assert seen["drawings"] >= 1
    assert "Everyone is alike with at least" in seen["text"]
    assert seen["width"] <= 1100


@pytest.mark.browser
def test_the_release_report_on_a_telephone_in_the_dark_and_on_paper(browser: Any, people: pa.Table, tmp_path: Path) -> None:
    shoal.anonymize(people, quasi=people.column_names[:2], sensitive=["diagnosis"], k=5).write(tmp_path / "release")
    address = (tmp_path / "release" / "report.html").as_uri()
    ground = "getComputedStyle(document.body).backgroundColor"
    page = browser.new_page(viewport={"width": 320, "height": 700}, color_scheme="dark")
    page.set_default_timeout(600_000)
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320, "nothing sticks out"
    dark = page.evaluate(ground)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "A", "the first stop of the keyboard is a link"
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) != dark
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(ground) == "rgb(255, 255, 255)", "paper is white"
    assert page.evaluate("getComputedStyle(document.querySelector('#h-asked')).color") == "rgb(14, 30, 44)"
    page.close()


@pytest.mark.browser
def test_the_measurement_report(browser: Any, people: pa.Table, tmp_path: Path) -> None:
    measured = shoal.measure(people, qi=people.column_names[:2], sensitive=["diagnosis"])
    page = tmp_path / "measured.html"
    measured.report(page)
    seen = look(browser, page)
    assert len(seen["asked"]) == 1
    assert seen["complained"] == []
    assert seen["scripts"] == 0
    assert seen["title"] != "broken"
    assert "2,000" in seen["text"]


@pytest.mark.browser
def test_the_report_of_many_records_can_be_used_by_everybody(browser: Any, tmp_path: Path) -> None:
    records = shoal.datasets.visits(300, seed=2)
    shoal.measure(records, unit="person_id", time="visit_date", place="postcode").report(tmp_path / "events.html")
    page = browser.new_page()
    page.set_default_timeout(600_000)
    page.goto((tmp_path / "events.html").as_uri())
    accessible(page, "the report of events")
    page.close()


def printed(browser: Any, page_file: Path) -> list[float]:
    """How much of each printed page is filled, from the lowest text on it."""
    page = browser.new_page()
    page.set_default_timeout(600_000)
    page.goto(page_file.as_uri())
    data = page.pdf(format="A4")
    page.close()
    inside = (297 - 2 * 16) * 96 / 25.4  # the style sheet's margins
    objects = {int(m[1]): m[2] for m in re.finditer(rb"(\d+) 0 obj(.*?)endobj", data, re.S)}
    filled = []
    for number, (_, body) in enumerate(sorted(o for o in objects.items() if re.search(rb"/Type\s*/Page\b", o[1]))):
        content = re.search(rb"/Contents (\d+)", body)
        assert content is not None
        drawn = objects[int(content[1])].partition(b"stream")[2].lstrip(b"\r\n")
        text = zlib.decompressobj().decompress(drawn).decode("latin-1")
        lowest = max(float(m[1]) for m in re.finditer(r"1 0 0 -1 -?[\d.]+ (-?[\d.]+) Tm", text))
        filled.append((lowest - number * inside) / inside)
    return filled


@pytest.mark.browser
def test_no_printed_page_is_half_empty(browser: Any, people: pa.Table, tmp_path: Path) -> None:
    table = shoal.datasets.people(3000, seed=5).select(["sex", "education", "occupation", "diagnosis", "visits"])
    quasi = ["sex", "education", "occupation"]
    shoal.anonymize(table, quasi=quasi, sensitive=["diagnosis"], insensitive=["visits"], k=5).write(tmp_path / "release")
    shoal.measure(table, qi=quasi, sensitive=["diagnosis"]).report(tmp_path / "measured.html")
    for file in (tmp_path / "release" / "report.html", tmp_path / "measured.html"):
        filled = printed(browser, file)
        assert len(filled) > 1
        assert all(0.6 < part <= 1.01 for part in filled[:-1]), filled


@pytest.mark.browser
def test_a_plot_and_the_cards(browser: Any, people: pa.Table, tmp_path: Path) -> None:
    chart = heat_map([HOSTILE, "sex"], [[0.5], [0.9, 0.1]], title=f"Pairs {HOSTILE}")
    measured = shoal.measure(people, qi=people.column_names[:2], sensitive=["diagnosis"])
    cards = tmp_path / "cards.html"
    shown = measured._repr_html_() + shoal.inspect(people)._repr_html_()
    cards.write_text(f"<!doctype html><meta charset=utf-8>{shown}", encoding="utf-8")
    for file, said in ((save(chart, tmp_path / "plot.html", text=HOSTILE), "<script>"), (cards, "one of a kind")):
        seen = look(browser, file)
        assert len(seen["asked"]) == 1
        assert seen["complained"] == []
        assert (seen["images"], seen["scripts"]) == (0, 0)
        assert seen["title"] != "broken"
        assert said in seen["text"]
        assert seen["drawings"] == 1
        assert seen["width"] <= 1100
