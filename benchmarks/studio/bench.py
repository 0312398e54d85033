"""The studio in a browser: first page, first sentence, sliders, twenty people at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow.csv as pa_csv
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent.parent / "tools"))

import common  # noqa: E402

import programs  # noqa: E402
import shoal  # noqa: E402

COLUMNS = (
    "person_id",
    "date_of_birth",
    "sex",
    "municipality",
    "postcode",
    "education",
    "occupation",
    "income",
    "diagnosis",
    "visits",
)
PEOPLE, PAGES = 20, 10
PORT = 8791
WEIGHT = """["navigation", "resource"].flatMap(kind => performance.getEntriesByType(kind))
    .reduce((sum, part) => sum + part.encodedBodySize, 0)"""
READY = 8.0
"""Seconds between the start of the studio and the visit: somebody looks for the file."""


def start(folder: str) -> tuple[subprocess.Popen[str], str, str]:
    words = [sys.executable, "-m", "shoal", "studio", "--workspace", folder, "--no-browser", "--port", str(PORT)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"(http://127\.0\.0\.1:\d+)/enter\?code=(\S+)", line):
            return process, found[1], found[2]
    raise RuntimeError("the studio did not start")


def processor(pid: int) -> float:
    """Processor seconds of the studio and of the processes that it started, so far; those of the browser are not its own."""
    parents, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parts = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(stat.parent.name)] = int(parts[1])
        used[int(stat.parent.name)] = (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    ours = {pid}
    while more := {p for p, parent in parents.items() if parent in ours and p not in ours}:
        ours |= more
    return sum(used.get(p, 0.0) for p in ours)


def visit(page: Any, address: str, code: str, source: Path, pid: int) -> dict[str, Any]:
    page.goto(f"{address}/enter?code={code}")
    begun = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("h1")
    first, weight = time.perf_counter() - begun, page.evaluate(WEIGHT)
    begun, before = time.perf_counter(), processor(pid)
    page.set_input_files("#file", str(source))
    page.wait_for_selector(".chips")
    sentence, spent = time.perf_counter() - begun, processor(pid) - before
    said = page.inner_text("h1")
    page.goto(page.url.replace("measure", "improve"))
    page.wait_for_selector("#levels")
    page.wait_for_selector("[data-job]", state="detached")
    return {
        "first_page": first, "bytes": weight, "sentence": sentence, "sentence_processor": spent, "said": said,
        "sliders": sliders(page, pid),
    }  # fmt: skip


SLIDE = """id => new Promise(done => {
    const begun = performance.now();
    const look = () => requestAnimationFrame(() =>
        document.querySelector(`body:not(.waiting) .stop.on #${id}`) ? done(performance.now() - begun) : look());
    document.getElementById(id).click();
    look();
})"""
"""Clicks a stop; milliseconds until the frame that shows its numbers, on the page's own clock."""


def sliders(page: Any, pid: int) -> list[tuple[float, float]]:
    """Every stop of every column once: seconds until the page shows the level that was clicked, and of the processor."""
    out = []
    for place in page.eval_on_selector_all(".stops input", "all => all.map(one => one.id)"):
        if page.locator(f"#{place}").is_checked():
            continue
        before = processor(pid)
        out.append((page.evaluate(SLIDE, place) / 1000, processor(pid) - before))
        page.wait_for_selector("[data-more]", state="detached")
        page.wait_for_selector("[data-job]", state="detached")
    return out


def at_once(address: str, cookies: dict[str, str], paths: list[str]) -> list[float]:
    """Twenty people, each asking for one page after the other, with half a second to read each."""

    def person(number: int) -> list[float]:
        took = []
        with httpx.Client(base_url=address, cookies=cookies, timeout=60) as http:
            time.sleep(number * 0.5 / PEOPLE)
            for i in range(PAGES):
                begun = time.perf_counter()
                http.get(paths[(number + i) % len(paths)]).raise_for_status()
                took.append(time.perf_counter() - begun)
                time.sleep(0.5)
        return took

    with ThreadPoolExecutor(PEOPLE) as people:
        return [second for took in people.map(person, range(PEOPLE)) for second in took]


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    load = round(os.getloadavg()[0], 1)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "people.csv"
        pa_csv.write_csv(shoal.datasets.people(rows, seed=3).select(COLUMNS), source)
        process, address, code = start(str(Path(folder) / "kept"))
        try:
            time.sleep(READY)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=programs.find("chromium"), args=list(programs.FLAGS))
                page = browser.new_page()
                page.set_default_timeout(300_000)
                found = visit(page, address, code, source, process.pid)
                table = re.sub(r"/improve.*$", "", page.url)
                cookies = {c["name"]: c["value"] for c in page.context.cookies()}
                browser.close()
            paths = ["/", *(f"{table.removeprefix(address)}/{tab}" for tab in ("measure", "understand", "improve", "prove"))]
            for path in paths:
                httpx.get(address + path, cookies=cookies, timeout=300).raise_for_status()
            before = processor(process.pid)
            pages = at_once(address, cookies, paths)
            spent = processor(process.pid) - before
        finally:
            process.terminate()
            process.wait()
    moved, worked = zip(*found["sliders"], strict=True)
    common.record(
        HERE,
        question="waiting in the browser",
        n=rows,
        load=load,
        first_page=round(found["first_page"], 3),
        first_page_bytes=found["bytes"],
        first_sentence=round(found["sentence"], 2),
        first_sentence_processor=round(found["sentence_processor"], 2),
        slider={"times": len(moved), "median": _at(moved, 50), "p95": _at(moved, 95), "processor_p95": _at(worked, 95)},
        twenty_people={
            "pages": len(pages),
            "median": _at(pages, 50),
            "p95": _at(pages, 95),
            "processor_each": round(spent / len(pages), 4),
        },
        answer={"said": found["said"]},
    )


def _at(seconds: Sequence[float], share: float) -> float:
    return round(float(np.percentile(seconds, share)), 3)


if __name__ == "__main__":
    main()
