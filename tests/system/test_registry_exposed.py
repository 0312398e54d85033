"""How exposed am I? The library, the command line and the page in a real browser give the same numbers; nothing is asked for."""

from __future__ import annotations

import json
import random
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry_support import AGES, UTRECHT, make
from shoal.cli import main
from shoal.errors import UsageError
from shoal.kernels.signatures import signer
from shoal.registry.answer.exposure import exposure, places_of
from shoal.registry.keep.builtin import BuiltIn
from shoal.registry.keep.store import Store
from shoal.registry.publish.proposals import propose
from shoal.registry.records.population import Population
from shoal.registry.records.record import SHARE_STEP
from shoal.registry.records.vocabulary import attribute

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("UK/Leeds@2019", "UK/City of London@2019", "NL/Amsterdam@2021", "NL/Utrecht@2021", "US/CA@2010", "NL@2021")
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[Store]:
    """Some of the built-in records, one of a holder who gives no shares, and one with a hostile name."""
    opened = Store(f"sqlite:///{tmp_path_factory.mktemp('exposed') / 'r.db'}")
    source = BuiltIn()
    opened.submit_many([r for p in PLACES for c in source.codings(p) for r in source.topic(c, p)])
    opened.submit(make(AGES, population=Population.parse("BE@2021"), holder=HOSTILE, cells=95))
    yield opened
    opened.close()


def slowly(place: dict[str, Any], answers: list[tuple[str, str]]) -> tuple[float, float, float]:
    """The crowd by its definition, written anew."""
    shares = [place["attributes"][code]["shares"][answer] for code, answer in answers]
    value = place["people"][0]
    for share in shares:
        value *= share
    at_least = sum(max(0.0, s - SHARE_STEP / 2) for s in shares) - (len(shares) - 1)
    at_most = min(min(1.0, s + SHARE_STEP / 2) for s in shares)
    return max(1.0, value), max(1.0, place["people"][1] * max(0.0, at_least)), max(1.0, place["people"][2] * at_most)


def profiles(places: dict[str, Any], many: int) -> list[tuple[str, list[tuple[str, str]]]]:
    rng, out = random.Random(22), []
    for _ in range(many):
        name = rng.choice(sorted(places))
        about = places[name]["attributes"]
        by_name: dict[str, list[str]] = {}
        for code in about:
            by_name.setdefault(attribute(code), []).append(code)
        chosen = [rng.choice(by_name[a]) for a in rng.sample(sorted(by_name), rng.randint(0, len(by_name)))]
        out.append((name, [(c, rng.choice(sorted(about[c]["shares"])) if about[c]["shares"] else "") for c in chosen]))
    return out


def test_the_crowd_is_what_its_definition_says(store):
    places = places_of(store)
    for name, answers in profiles({k: v for k, v in places.items() if k != "BE@2021"}, 300):
        if answers and all(answer for _, answer in answers):
            found = exposure(store, name, answers)
            assert found.crowd == pytest.approx(slowly(places[name], answers), rel=1e-12)
            least = min(answers, key=lambda a: places[name]["attributes"][a[0]]["shares"][a[1]])
            assert found.most_telling == least[0]
            assert all(crowd[0] >= step.crowd[0] for step in found.steps for _, crowd in step.coarser)
            assert found.grade == ("B" if len(answers) == 1 else "C")


def test_a_coarser_answer_holds_the_finer_one_and_its_neighbours(store):
    step = exposure(store, "UK/Leeds@2019", [("age/years", "87")]).steps[0]
    shares = store.topic(["age/years"], "UK/Leeds@2019")[0].shares
    assert [text for text, _ in step.coarser] == ["85-89", "80-89", "80-99"]
    size = store.topic(["age/years"], "UK/Leeds@2019")[0].summary.size
    assert step.coarser[0][1][0] == pytest.approx(size * sum(shares[str(a)] for a in range(85, 90)))
    assert step.coarser[2][1][0] == pytest.approx(size * (sum(shares[str(a)] for a in range(80, 90)) + shares["90+"]))
    zips = exposure(store, "US/CA@2010", [("postcode/US/zip3", "900")]).steps[0]
    assert [text for text, _ in zips.coarser] == ["90…", "9…"]


def test_a_record_without_shares_gives_a_typical_crowd(store):
    found = exposure(store, "BE@2021", [("age/years", "")])
    h2 = store.topic(["age/years"], "BE@2021")[0].summary.statistics["h2"]
    assert found.grade == "C"
    assert found.crowd[1] < found.people[0] * 2.718281828459045**-h2.value < found.crowd[2]


@pytest.mark.parametrize(
    "answers", [[("income/1k", "3")], [("sex", "X")], [("sex", "F"), ("sex", "M")], [("age/years", "3"), ("age/5y", "0-4")]]
)
def test_what_is_not_known_or_asked_twice_is_refused(store, answers):
    with pytest.raises(UsageError):
        exposure(store, "UK/Leeds@2019", answers)
    with pytest.raises(UsageError, match="no single attribute"):
        exposure(store, "UK/Nowhere@2019", [])


def test_the_command_line_says_the_same(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["registry", "exposed", "--population", "UK/Leeds@2019", "--answers", "sex=F,age/years=87", "--json"])
    assert stop.value.code == 0
    found = exposure(BuiltIn(), "UK/Leeds@2019", [("sex", "F"), ("age/years", "87")])
    told = json.loads(capsys.readouterr().out)
    assert told.pop("counted") == {"crowd": [1351, 1351, 1351], "grade": "B"}, "women of 87 in the table itself"
    assert told == json.loads(json.dumps(found.to_json()))


@pytest.fixture(scope="module")
def pages(store, tmp_path_factory) -> Iterator[dict[str, str]]:
    """The page as a file of a mirror, and as the service shows it."""
    import uvicorn

    from shoal.cli.registry import pages_of
    from shoal.registry.keep.mirror import write_mirror
    from shoal.server.app import create_app

    folder = write_mirror(store, tmp_path_factory.mktemp("mirror") / "m", also=pages_of)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        served = uvicorn.Server(uvicorn.Config(create_app(store), host="127.0.0.1", port=0, log_level="error", lifespan="off"))
        thread = threading.Thread(target=served.run)
        thread.start()
        while not served.started:
            time.sleep(0.02)
        port = served.servers[0].sockets[0].getsockname()[1]
        yield {"file": (folder / "exposed.html").as_uri(), "service": f"http://127.0.0.1:{port}/registry/v1/exposed"}
        served.should_exit = True
        thread.join()


@pytest.mark.browser
@pytest.mark.parametrize("where", ["file", "service"])
def test_the_page_computes_in_the_browser_and_asks_for_nothing(browser, pages, store, where):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_default_timeout(600_000)
    asked: list[str] = []
    complained: list[str] = []
    page.on("request", lambda r: asked.append(r.url))
    page.on("console", lambda m: complained.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: complained.append(str(e)))
    page.goto(pages[where])
    loaded = len(asked)
    places = places_of(store)
    if where == "file":
        wanted = profiles(places, 1000)
        found = page.evaluate("(all) => all.map(([place, answers]) => shoalExposure(place, answers))", wanted)
        assert found == [json.loads(json.dumps(exposure(store, name, answers).to_json())) for name, answers in wanted]
    page.select_option("#country", "UK")
    page.select_option("#place", "UK/Leeds@2019")
    page.check("input[value='=F']")
    page.click("#next")
    page.select_option("#choice", "=87")
    assert "87" in page.text_content("#stairs")
    page.click("#next")
    crowd = exposure(store, "UK/Leeds@2019", [("sex", "F"), ("age/years", "87")]).crowd[0]
    assert page.inner_text("#crowd") == f"{round(crowd, -1):,.0f} people"
    assert "85-89" in page.inner_text("#advice")
    assert "age in years" in page.inner_text("#advice")
    page.click("#back")
    assert "402,000" in page.inner_text("#crowd")
    assert "Source: ONS" in page.inner_text("#record")
    page.click("#forget")
    assert "790,000" in page.inner_text("#crowd")
    page.select_option("#country", "BE")
    assert HOSTILE in page.inner_text("#record")  # shown as text
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    if where == "service":
        assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    assert page.url == pages[where]
    assert asked[loaded:] == []
    assert [url for url in asked if not url.startswith("data:")] == [pages[where]]
    assert complained == []
    unnamed = page.evaluate(
        "[...document.querySelectorAll('select,input,button')].filter(e => !(e.labels && e.labels.length)"
        " && !e.textContent.trim() && !e.getAttribute('aria-labelledby')).length"
    )
    assert unnamed == 0
    page.close()


def test_a_public_table_of_ones_own_gives_its_shares(tmp_path):
    opened = Store(f"sqlite:///{tmp_path / 'r.db'}")
    shares = {"F": 0.5062, "M": 0.4938}
    made = propose([40_500, 39_500], ["sex"], UTRECHT, holder="H", date="2025-01-15", cells=2, source="A table", shares=shares)
    opened.submit(made.record.signed(signer()))
    assert exposure(opened, str(UTRECHT), [("sex", "M")]).steps[0].share == pytest.approx((0.4938, 0.49375, 0.49385))
    opened.close()
