"""The studio in a real browser: whole flows with and without scripts, hostile names, a telephone, the dark, accessibility."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest

import shoal
from studio_support import Watched, accessible, decided_in, fitting, hostile_table, served

ROOT = Path(__file__).resolve().parents[2]
DROPPED = """async place => {
  const body = await (await fetch(place)).blob();
  const carried = new DataTransfer();
  carried.items.add(new File([body], "release.zip"));
  const drop = new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true });
  document.querySelector("form[data-takes] label").dispatchEvent(drop);
}"""
"""A release that is dropped onto the box of the page."""
PAGES = ("measure", "understand", "improve", "plans", "prove")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with served(tmp_path_factory.mktemp("studio") / "kept") as found:
        yield found


@pytest.mark.browser
def test_from_a_dropped_table_to_a_release(browser: Any, studio: tuple[str, Any], tmp_path: Path) -> None:
    source = hostile_table(tmp_path / "hostile <b>name.csv")
    seen = Watched(browser, studio)
    page = seen.page
    accessible(page, "home")
    fitting(page, "home")
    page.set_input_files("#file", str(source))
    page.wait_for_selector(".chips")
    assert page.locator("img").count() == 0
    assert "240 people" in page.inner_text("h1")
    # the first column becomes a secret by its key, in place; then that is taken back
    before = page.locator(".chip.Q").count()
    page.locator(".chip.Q summary").first.focus()
    page.keyboard.press("s")
    page.wait_for_selector("button.undo:has-text('is secret')")
    assert page.locator(".chip.Q").count() == before - 1
    page.click("button.undo")
    page.wait_for_selector("button.undo", state="detached")
    assert page.locator(".chip.Q").count() == before
    page.click(".why >> nth=0")
    page.wait_for_selector(".drawer p")
    assert page.locator(".drawer p").count() > 1, "every number has its why"
    page.keyboard.press("Escape")
    page.wait_for_selector(".drawer", state="detached")
    page.click('nav a[href$="/improve"]')
    page.wait_for_selector(".plans")
    page.wait_for_selector("[data-job]", state="detached")
    page.click("button.plan >> nth=0")
    page.wait_for_selector("text=Meets all you asked")
    # a slider, by keyboard: the verdict follows and the focus stays
    page.locator(".slider input:checked").first.focus()
    chosen = page.evaluate("document.activeElement.id")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("button.undo:has-text('level')")
    assert page.evaluate("document.activeElement.id").split("-")[0] == chosen.split("-")[0], "the focus stays on the slider"
    page.click("button.undo")
    page.wait_for_selector("button.undo:has-text('took plan')")
    # a lock, by keyboard: the focus stays on it
    page.locator(".lock").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".lock[aria-pressed=true]")
    assert page.evaluate("document.activeElement.className") == "lock"
    page.click("button.undo")
    page.wait_for_selector(".lock[aria-pressed=true]", state="detached")
    page.wait_for_selector("button.undo:has-text('took plan')")
    page.click('nav a[href$="/prove"]')
    assert page.locator("#f-approved_by").count() == 0, "nothing is signed before it is written and read"
    page.click("button:has-text('Write the release')")
    decided_in(page)
    page.fill("#f-approved_by", "<b>M. Okafor</b>")
    page.click("button:has-text('Sign, and write it again')")
    page.wait_for_selector("pre:has-text('release-2')")
    decided_in(page)
    assert "everyone hides among at least" in page.inner_text("h1")
    with page.expect_download() as coming:
        page.click("text=Download everything")
    assert coming.value.suggested_filename.endswith(".zip")
    assert page.title() != "broken"
    page.locator("iframe.report").scroll_into_view_if_needed()
    assert "hides among at least" in page.frame_locator("iframe.report").locator("h1").inner_text(), "the report is in the page"
    packed = page.get_attribute("a:has-text('Download everything')", "href")
    assert page.locator("form[data-takes] input[type=file]").count() == 2, "a table of an attacker, an earlier release"
    table = re.sub(r"/prove.*$", "", page.url)
    for name in PAGES:
        page.goto(f"{table}/{name}{'?panel=policy' if name == 'measure' else ''}")
        assert page.locator("h1").count() == 1
        _step_on_a_phone(page, name)
        if name == "measure":
            _policy_in_three_forms(page)
        accessible(page, name)
        fitting(page, name)
    page.goto(f"{table}/levels/0")
    page.fill("#group-name", "<b>both</b>")
    page.drag_and_drop("[data-value='0']", "[data-value='1']")
    page.wait_for_selector(".group h3:has-text('<b>both</b>')")
    page.drag_and_drop("[data-value='2']", ".group")
    page.wait_for_selector("form#together li", state="detached")
    assert page.locator(".group .values li").count() == 3, "all three values are in the group now"
    accessible(page, "levels")
    fitting(page, "levels")
    page.click("button.undo")
    page.goto(f"{table}/understand?example=1")
    accessible(page, "example")
    decision = "/decide?age=age/years&sex=1&place=California&people=500&target=5"
    for path in ("/decide", decision, "/", "/kept", "/verify"):
        page.goto(seen.address + path)
        accessible(page, path)
        fitting(page, path)
    page.evaluate(DROPPED, packed)
    page.wait_for_selector("text=Every claim of this release holds.")
    seen.close()


@pytest.mark.browser
def test_with_scripts_off_the_flow_still_ends_in_a_release(browser: Any, studio: tuple[str, Any], tmp_path: Path) -> None:
    people = shoal.datasets.people(800, seed=4).select(["sex", "education", "diagnosis"])
    source = tmp_path / "people.csv"
    pa_csv.write_csv(people, source)
    seen = Watched(browser, studio, java_script_enabled=False, color_scheme="dark")
    page = seen.page
    page.set_input_files("#file", str(source))
    page.click("text=Bring it in")
    page.wait_for_selector(".chips")
    page.click('nav a[href$="/improve"]')
    page.wait_for_selector(".plans")
    for _ in range(1200):
        if page.locator("[data-job]").count() == 0:
            break
        page.wait_for_timeout(500)
        page.reload()
    page.click("button.plan >> nth=0")
    page.wait_for_selector("text=Meets all you asked")
    page.locator(".slider input").last.check()
    page.click("text=Count again")
    page.wait_for_selector("button.undo:has-text('level')")
    page.click("button.undo")
    page.wait_for_selector("text=Meets all you asked")
    page.click("text=Policy")
    _policy_in_three_forms(page)
    page.click('nav a[href$="/prove"]')
    page.click("button:has-text('Write the release')")
    decided_in(page)
    seen.close()


def _policy_in_three_forms(page: Any) -> None:
    """One at a time, by its tab; the keyboard moves along the tabs."""
    forms = ["policy-yaml", "policy-command", "policy-python"]
    for wanted, words in zip(forms, ("YAML", "Command", "Python"), strict=True):
        page.click(f".tabbed label:has-text('{words}')")
        assert [f for f in forms if page.locator(f"#{f}").is_visible()] == [wanted]
    page.keyboard.press("ArrowLeft")
    assert page.locator("#policy-command").inner_text().startswith("shoal anonymize ")


def _step_on_a_phone(page: Any, name: str) -> None:
    """Which of the four steps this is, and arrows to those beside it."""
    order = ["measure", "understand", "improve", "prove"]
    at = order.index({"plans": "improve"}.get(name, name))
    page.set_viewport_size({"width": 380, "height": 800})
    links = page.locator("nav.steps a")
    shown = [i for i in range(links.count()) if links.nth(i).is_visible()]
    assert shown == [i for i in range(4) if abs(i - at) <= 1], name
    assert page.locator("nav.steps a[aria-current]").inner_text().split() == [str(at + 1), "of", "4", order[at].capitalize()]
    page.set_viewport_size({"width": 1440, "height": 900})


def _a_page_that_comes_by_itself_keeps_what_was_entered(page: Any, other: Any) -> None:
    """What is ticked and chosen while the new page is on its way stands in it."""
    improve, waiting = page.url, []
    page.goto(improve.replace("/improve", "/prove"))
    state = page.get_attribute("#page", "data-state")
    page.route("**/prove", lambda route: waiting.append(route))
    with page.expect_request("**/prove"):
        other.locator("#l1-0").check()
    page.check("input[name=no_ledger]")
    page.select_option("#f-format", "parquet")
    for route in waiting:
        route.continue_()
    page.unroute("**/prove")
    page.wait_for_function("state => document.getElementById('page').dataset.state !== state", arg=state)
    assert page.is_checked("input[name=no_ledger]")
    assert page.input_value("#f-format") == "parquet"
    page.goto(improve)
    other.locator("#l1-1").check()
    page.wait_for_selector(".stop.on #l1-1")


@pytest.mark.browser
def test_a_bad_file_is_told_in_place_and_two_windows_agree(browser: Any, studio: tuple[str, Any], tmp_path: Path) -> None:
    bad = tmp_path / "not a table.csv"
    bad.write_bytes(b"%PDF-1.7")
    seen = Watched(browser, studio)
    page = seen.page
    page.set_input_files("#file", str(bad))
    page.wait_for_selector(".problem")
    assert "a PDF document" in page.inner_text(".problem")
    assert any("400" in words for words in seen.complained), "the browser itself notes the refusal"
    seen.complained.clear()
    page.click("[name=theme]")
    page.wait_for_selector("html[data-theme]")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.bar')).display") == "none", "paper has no bar"
    page.emulate_media(media="screen")
    page.click("[name=theme]")
    page.wait_for_selector("html[data-theme=light]")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    # a second window follows, and each moves its own slider
    small = tmp_path / "small.csv"
    small.write_text("age,sex,ill\n" + "".join(f"{20 + i},{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(60)), encoding="utf-8")
    page.set_input_files("#file", str(small))
    page.wait_for_selector(".chips")
    page.click('nav a[href$="/improve"]')
    page.wait_for_selector("#levels")
    other = seen.context.new_page()
    other.goto(page.url)
    page.locator("#l0-2").check()
    page.wait_for_selector("body:not(.waiting) .stop.on #l0-2")
    other.locator("#l1-1").check()
    other.wait_for_selector("body:not(.waiting) .stop.on #l1-1")
    assert other.locator(".stop.on #l0-2").count() == 1, "the first window's slider stays"
    page.wait_for_selector(".stop.on #l1-1")
    _a_page_that_comes_by_itself_keeps_what_was_entered(page, other)
    other.close()
    # the studio does not answer: that stays said, the verdict is marked, and a moved slider goes back
    seen.context.set_offline(True)
    page.wait_for_selector("#lost:has-text('Not connected')")
    accessible(page, "not connected")
    assert "Not current" in page.inner_text("#verdict")
    page.locator("#l1-0").click()
    page.wait_for_selector("#l1-1:checked")
    seen.context.set_offline(False)
    page.wait_for_selector("#lost", state="hidden")
    assert page.locator("#verdict .when-lost").is_hidden()
    assert any("ERR_INTERNET_DISCONNECTED" in words for words in seen.complained)
    seen.complained.clear()
    seen.close()
