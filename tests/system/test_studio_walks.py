"""The studio in a browser on real tables (Adult, hospital admissions, SPSS), on a million rows, and after the end of a session.

One browser and one studio walk them all. And a studio whose disk is full, as a process of its own.
"""

from __future__ import annotations

import re
import resource
import time
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import shoal
from servers import tools
from shoal.release.policy.policy import Policy
from shoal.studio.workspace.database import SESSIONS, writing
from studio_support import Visitor, Watched, accessible, decided_in, ended, fitting, linked_tables, served, started

FULL = 2_000_000
"""Bytes of the largest file on a disk that is full: the system refuses to write more, as it does without room."""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    folder = tmp_path_factory.mktemp("walks") / "kept"
    with served(folder) as found:
        found[1].state.folder = folder
        yield found


def dropped(page: Any, address: str, source: Path) -> str:
    """Drop a table; its sentence is the library's. The address of the table."""
    page.goto(address)
    page.set_input_files("#file", str(source))
    page.wait_for_selector(".chips")
    table = str(re.sub(r"/measure.*$", "", page.url))
    asked = Policy.parse(page.evaluate("async place => await (await fetch(place)).text()", f"{table}/policy.yml"))
    measured = shoal.measure(source, quasi=list(asked.quasi), unit=asked.unit)
    assert f"{measured.unique:,} of {measured.crowds.n_members:,} people" in page.inner_text("h1")
    return table


def answered(page: Any, table: str, answer: str) -> None:
    """One answer for the columns that nothing is known about; before it nothing is planned."""
    page.goto(f"{table}/improve")
    assert page.inner_text("h1") == "One column is undecided."
    assert page.locator("button.plan").count() == 0
    page.click("text=Answer now")
    page.wait_for_selector("#undecided")
    accessible(page, "an undecided column")
    fitting(page, "an undecided column")
    page.click(f"button:has-text('{answer}')")
    page.wait_for_selector("#undecided", state="detached")


def stopped(page: Any) -> None:
    """Stop the search if it still goes on; it may end by itself between a look and a click, so both are one step."""
    page.evaluate("document.querySelector('[data-job] button')?.click()")
    page.wait_for_selector("[data-job]", state="detached")


def planned(page: Any, table: str) -> None:
    """Take the plan with most detail as soon as it is there, and stop the search if it still goes on."""
    page.goto(f"{table}/improve")
    page.wait_for_selector("button.plan")
    page.click("button.plan >> nth=0")
    page.wait_for_selector("text=Meets all you asked")
    stopped(page)


def released(page: Any, table: str, form: str, tmp_path: Path) -> Path:
    page.goto(f"{table}/prove")
    page.select_option("#f-format", form)
    page.click("button:has-text('Write the release')")
    decided_in(page)
    place = page.get_attribute("a:has-text('Download everything')", "href")
    with page.expect_download() as coming:
        page.click("text=Download everything")
    with zipfile.ZipFile(BytesIO(Path(coming.value.path()).read_bytes())) as found:
        found.extractall(tmp_path / form)
    assert place is not None
    (made,) = (tmp_path / form).iterdir()
    assert shoal.verify(made).ok
    return made


@pytest.mark.browser
def test_real_tables_from_the_drop_to_the_proof(browser: Any, studio: tuple[str, Any], shared_data: Path, tmp_path: Path) -> None:
    seen = Watched(browser, studio)
    page, real = seen.page, shared_data / "real_tables"
    spss = dropped(page, seen.address, real / "western_electric" / "data.sav")
    planned(page, spss)
    made = released(page, spss, "spss", tmp_path)
    assert [p.suffix for p in made.iterdir() if p.name.startswith("data")] == [".sav"]
    hospital = dropped(page, seen.address, real / "mimic_admissions" / "data.csv")
    answered(page, hospital, "Leave out")
    planned(page, hospital)
    released(page, hospital, "csv", tmp_path)
    page.goto(f"{hospital}/events")
    page.wait_for_selector("#curve-head")
    assert page.locator("form[action$=event-release]").count() == 1
    accessible(page, "known records")
    fitting(page, "known records")
    page.click('nav a[href$="/understand"]')
    page.wait_for_selector("#pairs-head")
    assert page.locator("h1").count() == 1
    # the table becomes a pilot
    page.goto(f"{seen.address}/questions")
    page.select_option("#pilot-table", spss.rsplit("/", 1)[1])
    page.click("text=Begin with its columns")
    page.wait_for_selector("#meter-head")
    assert page.locator("#pilot option:checked").inner_text() == "data"
    accessible(page, "a pilot")
    fitting(page, "a pilot")
    seen.close()


@pytest.mark.browser
def test_tables_that_are_dropped_together_are_released_together(browser: Any, studio: tuple[str, Any], tmp_path: Path) -> None:
    seen = Watched(browser, studio)
    page = seen.page
    page.goto(seen.address)
    page.set_input_files("#file", [str(file) for file in linked_tables(tmp_path)])
    page.wait_for_url("**/linked?**")
    page.wait_for_selector(".problem:has-text('belong to')")
    accessible(page, "linked tables that do not fit")
    page.check("input[name=orphans]")
    page.wait_for_selector("#make-head")
    assert "of 60 people" in page.inner_text("h1")
    accessible(page, "linked tables")
    fitting(page, "linked tables")
    page.check("input[name=no_ledger]")
    page.click("button:has-text('Write the release')")
    decided_in(page)
    with page.expect_download() as coming:
        page.click("text=Download everything")
    with zipfile.ZipFile(BytesIO(Path(coming.value.path()).read_bytes())) as found:
        found.extractall(tmp_path / "out")
    (made,) = (tmp_path / "out").iterdir()
    assert shoal.verify(made).ok
    accessible(page, "a linked release")
    fitting(page, "a linked release")
    seen.close()


@pytest.mark.browser
def test_adult_with_live_sliders_and_a_stopped_search(browser: Any, studio: tuple[str, Any], shared_data: Path) -> None:
    seen = Watched(browser, studio)
    page = seen.page
    adult = dropped(page, seen.address, shared_data / "adult" / "adult.csv")
    answered(page, adult, "Leave out")
    page.goto(f"{adult}/improve")
    page.wait_for_selector("#levels")
    stopped(page)
    said = page.inner_text("#says")
    sex = page.locator("fieldset.slider", has_text="sex").locator("input").last
    place = sex.get_attribute("id")
    sex.check()
    page.wait_for_selector(f"body:not(.waiting) .stop.on #{place}")
    assert page.inner_text("#says") != said, "fewer would be left out"
    assert page.locator("#verdict .cell:visible").count() == 5
    page.click("button.undo")
    page.wait_for_function("(old) => document.querySelector('#says').innerText === old", arg=said)
    seen.close()


@pytest.mark.browser
def test_a_million_rows_and_the_end_of_a_session(browser: Any, studio: tuple[str, Any], tmp_path: Path) -> None:
    address, app = studio
    rng = np.random.default_rng(1)
    million = {
        "age": rng.integers(0, 90, 1_000_000),
        "sex": rng.integers(0, 2, 1_000_000),
        "region": rng.integers(1, 9, 1_000_000),
    }
    million["age"][:7] = np.arange(100, 107)
    source = tmp_path / "million.csv"
    pa_csv.write_csv(pa.table(million), source)
    settings = app.state.folder / "databases.toml"
    settings.write_text('clinic = "duckdb:///nowhere/clinic.duckdb"\n', encoding="utf-8")
    settings.chmod(0o600)
    seen = Watched(browser, studio)
    page = seen.page
    page.click("summary:has-text('Connect a database')")
    accessible(page, "databases")
    fitting(page, "databases")
    page.goto(address)
    page.set_input_files("#file", str(source))
    page.wait_for_selector(".chips")
    assert "7 of 1,000,000 people" in page.inner_text("h1")
    place = page.url
    # the session ends while the page stands there: what is clicked is refused in words, and nothing is lost
    steps = page.locator("button.undo").count()
    with writing(app.state.door._sessions._engine) as db:
        db.execute(SESSIONS.update().values(ends=time.time() - 1))
    page.locator(".chip.Q summary").first.focus()
    page.keyboard.press("s")
    page.wait_for_selector("text=Your session is over")
    page.goto(place)
    assert "Your session is over" in page.inner_text("h1")
    accessible(page, "session over")
    assert any("401" in words for words in seen.complained), "the browser itself notes the refusal"
    seen.complained.clear()
    page.goto(f"{address}/enter?code={app.state.door.code}")
    page.goto(place)
    page.wait_for_selector(".chips")
    assert "7 of 1,000,000 people" in page.inner_text("h1")
    assert page.locator("button.undo").count() == steps, "the click changed nothing"
    seen.close()


@pytest.mark.browser
def test_a_killed_studio_is_not_shown_as_alive_and_the_page_goes_on_after_a_restart(browser: Any, tmp_path: Path) -> None:
    source = tmp_path / "small.csv"
    source.write_text("age,sex,ill\n" + "".join(f"{20 + i},{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(60)), encoding="utf-8")
    port = tools.free_port()
    process, code = started(tmp_path / "kept", port)
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(600_000)
    try:
        page.goto(f"http://127.0.0.1:{port}/enter?code={code}")
        page.set_input_files("#file", str(source))
        page.wait_for_selector(".chips")
        page.goto(page.url.replace("measure", "improve"))
        page.wait_for_selector("button.plan")
        page.locator("#l0-2").check()
        page.wait_for_selector("body:not(.waiting) .stop.on #l0-2")
        said = page.inner_text("#says")
        process.kill()
        process.wait()
        page.wait_for_selector("#lost:has-text('Not connected')")
        assert "Not current" in page.inner_text("#verdict")
        assert "waiting for its turn" not in page.inner_text("main")
        page.locator("#l0-0").click()
        page.wait_for_selector("#l0-2:checked")
        assert "Not connected" in page.inner_text("#lost"), "it stays said"
        assert process.stderr is not None
        process.stderr.close()
        process, _ = started(tmp_path / "kept", port)
        page.wait_for_selector("#lost", state="hidden")
        page.wait_for_selector(".stop.on #l0-2")
        assert page.inner_text("#says") == said, "nothing is lost, and the verdict is counted again"
        page.locator("#l0-1").check()
        page.wait_for_selector("body:not(.waiting) .stop.on #l0-1")
        process.terminate()
        process.wait(60)  # the open line of the page does not keep it alive
    finally:
        context.close()
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    rows = 260_000
    wide = pa.table({"age": [f"about {20 + 5 * (i % 9)}" for i in range(rows)], "sex": ["female", "male"] * (rows // 2)})
    small, large = tmp_path / "small.parquet", tmp_path / "large.csv"
    pq.write_table(wide, small)
    pa_csv.write_csv(wide, large)
    assert small.stat().st_size < FULL < large.stat().st_size
    port = tools.free_port()
    process, code = started(tmp_path / "kept", port, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, FULL)))
    visitor = Visitor(f"http://127.0.0.1:{port}")
    try:
        visitor.enter(code)
        full = visitor.http.post("/tables", data={"token": visitor.token()}, files={"file": ("large.csv", large.read_bytes())})
        assert full.status_code == 507
        assert "The disk is full; nothing was lost." in full.text
        assert list((tmp_path / "kept" / "incoming").iterdir()) == []
        table = visitor.bring(small)
        visitor.post(f"/t/{table}/role", column="0", role="quasi")
        visitor.post(f"/t/{table}/role", column="1", role="quasi")
        page = visitor.post(f"/t/{table}/release", format="csv")
        page = ended(visitor, page)
        assert "he disk is full" in page.text
        assert "Download everything" not in page.text
        assert list((tmp_path / "kept" / "releases").iterdir()) == []
        assert visitor.get(f"/t/{table}/measure").text.count('class="chip Q"') == 2, "every step is still there"
        page = ended(visitor, visitor.post(f"/t/{table}/release", format="parquet"))
        assert "Download everything" in page.text, "what fits is written"
    finally:
        visitor.close()
        process.terminate()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
