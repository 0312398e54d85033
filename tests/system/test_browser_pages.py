"""What people see, in a real browser: pages render, run nothing, load nothing from anywhere, and hostile text stays text."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title="broken"</script>'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    spec = importlib.util.spec_from_file_location("shoal_tools_programs", ROOT / "tools" / "programs.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    path = tool.find("chromium")
    if path is None:
        if os.environ.get("SHOAL_CI") == "1":
            pytest.fail("in CI a browser must be there")
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(tool.FLAGS))
        yield opened
        opened.close()


def look(browser: Any, page_file: Path) -> dict[str, Any]:
    """Open a page; collect what it asked for, what it complained of, and what it shows."""
    page = browser.new_page(viewport={"width": 1100, "height": 1400})
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
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320, "nothing sticks out"
    dark = page.evaluate(ground)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "A", "the first stop of the keyboard is a link"
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) != dark
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(ground) == "rgb(255, 255, 255)", "paper is white"
    assert page.evaluate("getComputedStyle(document.querySelector('h2')).color") == "rgb(14, 30, 44)"
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
