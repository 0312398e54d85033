"""The studio's other doors in a real browser: questionnaire, registry, vault, "How exposed am I?" and the log-in."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest

import shoal
from protector_support import House, build
from registry_support import AGES, make
from shoal.registry.answer.exposure import exposure
from shoal.registry.keep.builtin import BuiltIn
from shoal.registry.keep.store import Store
from shoal.studio.accounts import create_house
from shoal.studio.workspace import question_edits
from shoal.studio.workspace.people import People
from studio_support import HOSTILE, Visitor, Watched, accessible, fitting, running, served

DICTIONARY = (
    ("field_name", "field_type", "field_label", "select_choices_or_calculations"),
    (f"q {HOSTILE}", "radio", HOSTILE, "1, a | 2, b"),
    ("n" * 200, "radio", "\u05d2\u05d9\u05dc \u202e", "1, a | 2, b | 3, c"),
    ("surname", "text", "=1+1", ""),
    ("story", "notes", "Tell us", ""),
)


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, House]]:
    """A served vault with people in every role."""
    from fastapi import FastAPI

    from shoal.server.common import new_app
    from shoal.server.protector import api

    folder = tmp_path_factory.mktemp("vault")
    house = build(str(folder / "data.vault"), folder)
    app: FastAPI = new_app("vault")
    app.include_router(api.create_router(house.vault))
    api.install_errors(app)
    with running(app) as address:
        yield address, house
    house.vault.close()


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, vault: tuple[str, House]) -> Iterator[tuple[str, Any]]:
    folder = tmp_path_factory.mktemp("studio") / "kept"
    with served(folder, vault=vault[0]) as found:
        found[1].state.folder = folder
        yield found


@pytest.mark.browser
def test_a_questionnaire_is_metered_live_and_changed_by_one_click(browser: Any, studio: tuple[str, Any], tmp_path: Path) -> None:
    seen = Watched(browser, studio)
    page = seen.page
    page.goto(f"{seen.address}/questions")
    accessible(page, "questionnaires")
    fitting(page, "questionnaires")
    page.click("text=Open the example")
    page.wait_for_selector(".offer")
    text = page.evaluate("async () => await (await fetch(location.href + '/questions.yml')).text()")
    asked = question_edits.questionnaire_of(text)
    numbers = page.evaluate("async () => await (await fetch(location.href + '/meter.json')).json()")
    assert numbers["value"] == asked.meter().unique.value
    assert asked.paragraph() in page.inner_text("#letter")
    before = page.inner_text("#says")
    assert "between" in before, "the headline has the range of its number"
    # live: another band, and the meter follows in place
    page.select_option("#band1", "10")
    page.wait_for_function("(old) => document.querySelector('#says').innerText !== old", arg=before)
    page.wait_for_selector("button.undo:has-text('described age')")
    page.click("button.undo")
    page.wait_for_function("(old) => document.querySelector('#says').innerText === old", arg=before)
    page.wait_for_selector(".offer")
    page.click(".offer button >> nth=0")
    page.wait_for_selector("text=what you aim for is met")
    assert page.locator("#says em.met").count() == 1
    for name in ("Change it", "Add a question"):
        page.click(f"summary:has-text('{name}') >> nth=0")
    page.fill("#new-name", HOSTILE)
    page.check("form[action$=add] input[value=answers]")
    page.fill("#new-answers", "<b>yes</b> 30\nno 70")
    page.click("text=Add it")
    page.wait_for_selector(f".questions li:nth-child({page.locator('.questions li').count()})")
    page.wait_for_selector("button.undo:has-text('added')")
    assert page.locator("img").count() == 0
    accessible(page, "questionnaire")
    fitting(page, "questionnaire")
    # a form with hostile names; names and free text are flagged, and left out by one click
    file = tmp_path / "dictionary.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(DICTIONARY)
    page.goto(f"{seen.address}/questions")
    page.set_input_files("#form-file", str(file))
    page.click("text=Bring it in")
    page.wait_for_selector("#flags-head")
    assert "names people" in page.inner_text(".attacks")
    assert "free text" in page.inner_text(".attacks")
    assert page.locator("img").count() == 0
    fitting(page, "a brought form")
    page.click(".attacks button >> nth=0")
    page.wait_for_selector("button.undo:has-text('left out surname')")
    assert page.title() != "broken"
    seen.close()


def test_a_questionnaire_without_scripts_and_what_is_refused(studio: tuple[str, Any], tmp_path: Path) -> None:
    visitor = Visitor(studio[0])
    visitor.enter(studio[1].state.door.code)
    page = visitor.post("/questions", title="Mine", population="17.5M", respondents="100")
    place = page.url.path
    assert "Add the first question" in page.text
    page = visitor.post(f"{place}/add", name="sex", how="answers", answers="woman 51\nman 49", known="1")
    page = visitor.post(f"{place}/add", name="age", how="range", low="18", high="97", band="1", unit="year")
    page = visitor.post(f"{place}/add", name="place", how="registry", code="age/years", place="UK/Leeds@2019")
    assert "could be recognised" in page.text
    page = visitor.post(f"{place}/move", question="2", to="0")
    assert visitor.get(f"{place}/questions.yml").text.index("place:") < visitor.get(f"{place}/questions.yml").text.index("sex:")
    page = visitor.post(f"{place}/remove", question="0")
    page = visitor.post(f"{place}/about", target="5")
    for _ in range(20):
        if "Apply" in page.text:
            break
        page = visitor.get(place)
    page = visitor.post(f"{place}/apply", number="0")
    assert "what you aim for is met" in page.text
    steps = len(re.findall(r'name="number" value="\d+"', page.text))
    wrong: list[tuple[str, dict[str, str]]] = [
        ("add", {"name": "", "how": "values", "values": "3"}),
        ("add", {"name": "x", "how": "values", "values": "-3"}),
        ("add", {"name": "x", "how": "values", "values": "99999999"}),
        ("add", {"name": "sex", "how": "values", "values": "2"}),
        ("add", {"name": "x", "how": "range", "low": "9", "high": "1"}),
        ("edit", {"question": "9", "how": "values", "values": "2"}),
        ("remove", {"question": "x"}),
        ("move", {"question": "0", "to": "x"}),
        ("about", {"population": "-1"}),
        ("about", {"respondents": "99999999999"}),
        ("about", {"target": "nan"}),
        ("apply", {"number": "77"}),
        ("closed", {"question": "0"}),
        ("go", {"number": "77"}),
    ]
    for path, fields in wrong:
        assert visitor.post(f"{place}/{path}", **fields).status_code == 400, (path, fields)
    assert len(re.findall(r'name="number" value="\d+"', visitor.get(place).text)) == steps, "nothing was changed"
    for name, raw in (("a.lss", b"<x/>"), ("a.xlsx", b"PK"), ("a.exe", b"MZ"), ("a.yml", b"questions: {a: {table: 'x.csv:a'}}")):
        sent = visitor.http.post("/questions/import", data={"token": visitor.token()}, files={"file": (name, raw)})
        assert (sent.status_code, "<dt>Do</dt>" in sent.text) == (400, True), name
    assert visitor.post(f"{place}/delete").status_code == 200
    assert visitor.http.get(place).status_code == 404
    visitor.close()


@pytest.mark.browser
def test_the_registry_is_browsed_published_to_and_disputed(browser: Any, studio: tuple[str, Any], tmp_path: Path) -> None:
    seen = Watched(browser, studio)
    page = seen.page
    page.goto(f"{seen.address}/registry")
    page.fill("#text", "leeds")
    page.click("button:has-text('Show')")
    page.wait_for_selector("th:has-text('Leeds (United Kingdom), 2019')")
    assert page.locator("tbody tr").count() == 1
    accessible(page, "registry")
    fitting(page, "registry")
    page.click("a.heat >> nth=-1")
    page.wait_for_selector("text=Every number")
    assert "signature holds" in page.inner_text("main")
    accessible(page, "a record")
    fitting(page, "a record")
    people = shoal.datasets.people(3000, seed=9).select(["sex", "education", "diagnosis"])
    pa_csv.write_csv(people, tmp_path / "people.csv")
    page.goto(seen.address)
    page.set_input_files("#file", str(tmp_path / "people.csv"))
    page.wait_for_selector(".chips")
    page.goto(f"{seen.address}/registry/publish")
    page.click("text=Choose")
    page.fill("#code0", "sex")
    page.fill("#population", "NL/Zzz@2024")
    page.fill("#holder", HOSTILE)
    page.click("text=Show what would leave")
    page.wait_for_selector("text=This, and nothing else, would leave.")
    leaving = json.loads(page.inner_text("#leaves"))
    assert leaving["attributes"] == ["sex"]
    assert not (studio[1].state.folder / "registry" / "registry.db").exists(), "nothing is kept by looking"
    accessible(page, "publish")
    fitting(page, "publish")
    page.click("text=Sign it and keep it")
    page.wait_for_selector("text=Published: signed and kept")
    signed = json.loads(page.inner_text("#leaves"))
    assert {k: v for k, v in signed.items() if k in leaving and k != "key"} == {k: v for k, v in leaving.items() if k != "key"}
    assert page.locator("img").count() == 0
    seen.close()


def test_what_to_ask_is_decided_on_the_first_page(studio: tuple[str, Any]) -> None:
    visitor = Visitor(studio[0])
    visitor.enter(studio[1].state.door.code)
    assert 'action="/decide"' in visitor.get("/").text
    page = visitor.get("/decide?age=age/years&sex=1&place=Leeds&people=100&target=5").text
    assert re.search(r"age in years and sex make <em class=\"risk\">about 55.% of 100 people</em> one of a kind", page)
    assert "Ask age in bands of ten years and sex" in page
    assert "5.0 % holds from 599 respondents on" in page
    assert "We ask 100 people of Leeds for" in page
    told = re.sub(r"<pre.*?</pre>|<form.*?</form>", "", page, flags=re.DOTALL)
    assert not re.search(r"age/\d|age/years|postcode/", told), "codes are shown in words"
    unknown = visitor.get("/decide?age=age/years&sex=1&place=California&people=500&target=5").text
    assert "is not known from the tables that are published" in unknown
    assert "That is within your target" in visitor.get("/decide?age=age/10y&place=Germany&people=1,000&target=5").text
    for wrong in (
        "place=Leeds",
        "age=age/years&place=Nowhere+at+all&people=9&target=5",
        "age=age/5y&place=Leeds&people=0&target=5",
        "age=x&place=Leeds&people=9&target=5",
        "age=age/5y&place=Leeds&people=9&target=7",
        "age=age/5y&postcode=1&place=Leeds&people=9&target=5",
    ):
        assert visitor.http.get(f"/decide?{wrong}").status_code == 400, wrong
    visitor.close()


def test_both_sides_of_a_dispute_are_shown(studio: tuple[str, Any]) -> None:
    from shoal.kernels.signatures import signer
    from shoal.registry.records.population import Population

    visitor = Visitor(studio[0])
    visitor.enter(studio[1].state.door.code)
    folder = studio[1].state.folder / "registry"
    folder.mkdir(exist_ok=True)
    people, flat = Population.parse("BE/Gent@2021"), [700] * 95
    store = Store(f"sqlite:///{folder / 'registry.db'}")
    for counts, holder in ((AGES, "Office A"), (flat, "Office <img src=x>")):
        store.submit(make(counts, population=people, holder=holder, cells=95, key=signer()))
    store.close()
    page = visitor.get("/registry/question?attributes=age/years&population=BE/Gent@2021&from=own").text
    assert "Holders disagree" in page
    assert "Office A" in page
    assert "<img src=x" not in page
    assert "disputed" in visitor.get("/registry?text=gent&from=own").text
    for wrong in ("attributes=nonsense&population=BE@2021", "attributes=sex&population=@@", "population=BE&group=0"):
        assert visitor.http.get(f"/registry/question?{wrong}").status_code == 400, wrong
    visitor.close()


@pytest.mark.browser
def test_how_exposed_am_i_is_computed_in_the_browser_only(browser: Any, studio: tuple[str, Any]) -> None:
    seen = Watched(browser, studio)
    page = seen.page
    page.goto(f"{seen.address}/me")
    page.wait_for_selector("#crowd:not(:empty)")
    loaded = len(seen.asked)
    page.select_option("#country", "UK")
    page.select_option("#place", "UK/Leeds@2019")
    assert page.locator("#country option:checked").inner_text() == "United Kingdom", "codes are spoken as words"
    assert page.locator("label.option:has(input[value='=F'])").inner_text().startswith("female")
    page.check("input[value='=F']")
    page.click("#next")
    page.select_option("#choice", "=87")
    page.click("#next")
    crowd = exposure(BuiltIn(), "UK/Leeds@2019", [("sex", "F"), ("age/years", "87")]).crowd[0]
    assert page.inner_text("#crowd") == f"{round(crowd, -1):,.0f} people"
    assert seen.asked[loaded:] == [], "nothing is asked for after loading"
    assert page.url == f"{seen.address}/me", "no answer is in the address"
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]
    accessible(page, "me")
    fitting(page, "me")
    seen.close()


@pytest.mark.browser
def test_the_vault_needs_two_people_and_shows_an_identity_once(
    browser: Any, studio: tuple[str, Any], vault: tuple[str, House], tmp_path: Path
) -> None:
    house = vault[1]
    identity = "Zebedeus Kanarie"
    house.owner.create_domain("care")
    pseudonym = house["Olga"].pseudonymize("care", [identity], purpose="care")[0]
    seen = Watched(browser, studio)
    page = seen.page

    def as_(role: str, token: str) -> None:
        page.goto(f"{seen.address}/vault")
        if page.locator("text=Leave the vault").count():
            page.click("text=Leave the vault")
        page.wait_for_selector("#vault-secret")
        page.select_option("#vault-role", role)
        page.fill("#vault-secret", token)
        page.click("form[action='/vault/enter'] button")
        page.wait_for_selector("text=Leave the vault")
        accessible(page, f"vault, {role}")
        fitting(page, f"vault, {role}")

    page.goto(f"{seen.address}/vault")
    accessible(page, "the vault's door")
    as_("requester", house.tokens["Rita"])
    page.fill("#r-domain", "care")
    page.fill("#r-pseudonyms", pseudonym)
    page.fill("#r-purpose", "<b>treatment</b>")
    page.fill("#r-case", "C-1")
    page.click("form[action='/vault/request'] button")
    page.wait_for_selector("text=waits for approval by another person")
    assert page.locator("text=Reveal once").count() == 0
    as_("approver", house.tokens["Aldo"])
    assert identity not in page.content()
    page.click("button:has-text('Approve') >> nth=0")
    page.wait_for_selector("text=is approved")
    as_("requester", house.tokens["Rita"])
    page.click("text=Reveal once")
    page.wait_for_selector("#revealed")
    assert identity in page.inner_text("#revealed")
    page.goto(f"{seen.address}/vault")
    assert identity not in page.content(), "shown once"
    as_("auditor", house.tokens["Udo"])
    assert page.locator("#events tbody tr").count() > 3
    assert "The log is whole" in page.inner_text("main")
    assert identity not in page.content()
    as_("operator", house.tokens["Olga"])
    as_("owner", house.tokens["Otto"])
    page.fill("#a-name", "Nora")
    page.select_option("#a-role", "operator")
    page.click("form[action='/vault/actor'] button")
    first = page.inner_text("#code-half")
    as_("auditor", house.tokens["Udo"])
    page.click("form[action='/vault/confirm'] button >> nth=0")
    second = page.inner_text("#code-half")
    page.click("text=Leave the vault")
    page.fill("#code-one", first)
    page.fill("#code-two", second)
    page.click("text=Make my token")
    token = page.inner_text("#vault-token").strip()
    as_("operator", token)
    seen.close()
    database = b"".join(f.read_bytes() for f in studio[1].state.folder.rglob("*") if f.is_file())
    assert identity.encode() not in database
    assert token.encode() not in database, "tokens stay in memory"


@pytest.mark.browser
def test_the_pages_of_several_people(browser: Any, tmp_path: Path) -> None:
    people = People(tmp_path / "kept")
    people.users.add("anna", "admin", "four words in a row")
    with running(create_house(people)) as address:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        page = context.new_page()
        page.set_default_timeout(600_000)
        page.goto(address)
        accessible(page, "log-in")
        fitting(page, "log-in")
        page.fill("#name", "anna")
        page.fill("#password", "four words in a row")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Log out")
        for path in ("/users", "/account"):
            page.goto(address + path)
            accessible(page, path)
            fitting(page, path)
        context.close()
