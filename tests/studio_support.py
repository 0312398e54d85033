"""A studio for tests: really served, really entered by its link; and tables to bring to it."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from servers import tools

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title="broken"</script>'
WCAG = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "resultTypes": ["violations"], "iframes": False}
"""Frames stay out: axe cannot look inside a sandbox, and the browser complains when a loaded one is asked."""
VIOLATIONS = """async options => {
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return (await axe.run(options)).violations.map(v => `${v.id}: ${v.nodes[0].target} ${v.nodes[0].html.slice(0, 120)}`);
}"""
"""Only the violations leave the page, once it has noticed its new size: the nodes that pass are a hundred times as many."""
NAMES = (HOSTILE, "=1+1", "a" * 200, "\u05d2\u05d9\u05dc \u202e age", 'it\'s "quoted"', "diagnosis")


def hostile_table(path: Path, rows: int = 240) -> Path:
    """Names that would do harm, values that many share."""
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(NAMES)
        for i in range(rows):
            writer.writerow([f"k{i % 3}", f"m{i % 2}", f"<b>{i % 2}</b>", f"t{i % 2}", "x", ("flu", "cold", "hiv")[i * 7 % 3]])
    return path


def linked_tables(folder: Path) -> tuple[Path, Path]:
    """60 people whose sex hides them, and their visits, which do not; one visit belongs to nobody."""
    person = {"person_id": [f"P{i:03}" for i in range(60)], "sex": ["f", "m"] * 30, "diagnosis": ["flu", "cold", "hiv"] * 20}
    who = [f"P{i % 60:03}" for i in range(120)]
    visits = {"patient_id": who, "ward": [f"w{i % 60 // 10}" for i in range(120)], "sex": ["f", "m"] * 60}
    visits = {name: [*values, extra] for (name, values), extra in zip(visits.items(), ("P999", "w1", "f"), strict=True)}
    for name, table in (("person", person), ("visits", visits)):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([list(table), *zip(*table.values(), strict=True)])
    return folder / "person.csv", folder / "visits.csv"


@contextmanager
def served(folder: Path, **options: Any) -> Iterator[tuple[str, Any]]:
    """The address of a studio that runs in a thread, and its application."""
    from shoal.studio.app import create_app
    from shoal.studio.workspace import Workspace

    app = create_app(Workspace(folder), workers=1, warm=False, **options)
    with running(app) as address:
        yield address, app


@contextmanager
def running(app: Any, **options: Any) -> Iterator[str]:
    """The address of an application that is served in a thread."""
    import uvicorn

    port = tools.free_port()
    options = {"log_level": "critical", "access_log": False, "timeout_graceful_shutdown": 5, **options}
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, **options))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


class Visitor:
    """A browser without a screen: cookies, our form token, redirects."""

    def __init__(self, address: str) -> None:
        import httpx

        self.address = address
        self.http = httpx.Client(base_url=address, follow_redirects=True, timeout=120, headers={"origin": address})

    def enter(self, code: str) -> Any:
        return self.http.get("/enter", params={"code": code})

    def get(self, path: str) -> Any:
        """A page, waited for while it says that it still counts."""
        for _ in range(12_000):
            page = self.http.get(path)
            if "Counting …" not in page.text:
                return page
            time.sleep(0.05)
        raise AssertionError("it went on counting")

    def token(self) -> str:
        found = re.search(r'name="form-token" content="([0-9a-f]+)"', self.http.get("/").text)
        assert found is not None
        return found[1]

    def post(self, path: str, **fields: str) -> Any:
        page = self.http.post(path, data={"token": self.token(), **fields})
        return self.get(str(page.url)) if "Counting …" in page.text else page

    def bring(self, file: Path) -> str:
        """Drop a file; the id of its table."""
        with file.open("rb") as body:
            page = self.http.post("/tables", data={"token": self.token()}, files={"file": (file.name, body)})
        found = re.search(r"/t/([0-9a-f]{16})/", str(page.url) + page.text)
        assert page.status_code == 200, page.text
        assert found is not None
        return found[1]

    def close(self) -> None:
        self.http.close()


class Form(HTMLParser):
    """What a browser without scripts would send from the form of a page whose address ends with ``place``."""

    def __init__(self, page: Any, place: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._place, self._inside, self._select = place, False, ""
        self.feed(page.text)
        assert self.fields, f"the page has a form {place}"
        self.fields.pop("token")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._inside = not self.fields and (given.get("action") or "").endswith(self._place)
        chosen = given.get("type") not in ("radio", "checkbox") or "checked" in given
        if self._inside and tag == "input" and chosen and given.get("name"):
            self.fields[given["name"] or ""] = given.get("value") or ""
        if tag == "select":
            self._select = given.get("name") or ""
        if self._inside and tag == "option" and ("selected" in given or self._select not in self.fields):
            self.fields[self._select] = given.get("value") or ""


def started(folder: Path, port: int, before: Callable[[], None] | None = None) -> tuple[subprocess.Popen[str], str]:
    """A studio as a process of its own, and the code that opens it; ``before`` runs in the process first."""
    import httpx

    words = ["studio", "--no-browser", "--workspace", str(folder), "--port", str(port), "--workers", "1"]
    process = subprocess.Popen([sys.executable, "-m", "shoal.cli", *words], stderr=subprocess.PIPE, text=True, preexec_fn=before)
    assert process.stderr is not None
    code = re.search(r"code=([\w-]+)", process.stderr.readline())
    assert code is not None
    while process.poll() is None:
        try:
            httpx.get(f"http://127.0.0.1:{port}/static/fish.svg")
            break
        except httpx.TransportError:
            time.sleep(0.1)
    return process, code[1]


def ended(visitor: Visitor, page: Any) -> Any:
    """The page after its job has ended."""
    for _ in range(6000):
        job = re.search(r'data-job="([0-9a-f]{16})"', page.text)
        if job is None:
            return page
        if not visitor.http.get(f"/jobs/{job[1]}").json()["open"]:
            return visitor.get(str(page.url))
        time.sleep(0.1)
    raise AssertionError("the job did not end")


def decided(visitor: Visitor, page: Any) -> Any:
    """The page after every finding of its release was accepted."""
    release = re.search(r'action="(/r/[0-9a-f]{16}/accept)"', page.text)
    ticks = dict.fromkeys(re.findall(r'name="(f\.\d+)"', page.text), "1")
    return page if release is None or not ticks else visitor.post(release[1], reason="a contract binds the recipient", **ticks)


def decided_in(page: Any) -> None:
    """Accept every finding of a release in a browser; the download opens."""
    page.wait_for_selector("#findings-head")
    if page.locator("#reason").count():
        assert page.locator("a:has-text('Download everything')").count() == 0, "nothing leaves before the findings are decided"
        if page.locator("#more-findings").count():
            page.click("#more-findings summary")
        for box in page.locator("#more-findings input[type=checkbox], .attacks input[type=checkbox]").all():
            box.check()
        page.fill("#reason", "a contract binds the recipient")
        page.click("button:has-text('Accept what is ticked')")
    page.wait_for_selector("a:has-text('Download everything')")


class Watched:
    """A page that notes what it asks for and what it complains of."""

    def __init__(self, browser: Any, studio: tuple[str, Any], **options: Any) -> None:
        self.address, app = studio
        self.context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce", **options)
        self.page = self.context.new_page()
        self.asked: list[str] = []
        self.complained: list[str] = []
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.page.on("console", lambda m: self.complained.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.complained.append(str(e)))
        self.page.set_default_timeout(180_000)
        self.page.goto(f"{self.address}/enter?code={app.state.door.code}")

    def close(self) -> None:
        self.context.close()
        strangers = [url for url in self.asked if not url.startswith((self.address, "data:"))]
        assert strangers == [], "no request leaves loopback"
        assert self.complained == [], self.complained


BEYOND = """() => [...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > 380.5)
  .map(e => e.tagName + "." + e.className + "#" + e.id).slice(0, 8).join(" ")"""
"""The elements that reach beyond a telephone."""


CUT = """() => [...document.querySelectorAll(".scroll svg.shoal-chart")].map(e => e.closest(".scroll"))
  .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
  .map(e => e.closest("section")?.querySelector("h2")?.innerText ?? e.className).join(", ")"""
"""The charts of which a telephone shows only a part."""


def fitting(page: Any, what: str) -> None:
    """Nothing sticks out on a telephone; afterwards the window is wide again."""
    page.set_viewport_size({"width": 380, "height": 800})
    wide = page.evaluate("document.documentElement.scrollWidth")
    beyond, cut = page.evaluate(BEYOND) if wide > 380 else "", page.evaluate(CUT)
    page.set_viewport_size({"width": 1440, "height": 900})
    assert wide <= 380, f"{what} sticks out: {wide}, {beyond}"
    assert cut == "", f"charts of {what} are cut"


def accessible(page: Any, what: str) -> None:
    """No violation of WCAG 2.2 AA: light on a desktop, dark on a telephone."""
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(AXE_SCRIPT)
    for scheme, width in (("light", 1440), ("dark", 390)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        told = page.evaluate(VIOLATIONS, WCAG)
        assert told == [], f"{what}, {scheme}, {width}: {told}"
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light")
