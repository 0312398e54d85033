"""The studio over HTTP: who may come in, what is refused, what survives kill -9, and that the command line repeats it."""

from __future__ import annotations

import json
import os
import re
import signal
import time
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pyarrow.parquet as pq
import pytest

import nursery
import shoal
from servers import tools
from shoal.studio.answers import Answers, StillCounting
from shoal.studio.guard import POLICY
from studio_support import Form, Visitor, decided, ended, hostile_table, served, started
from surfaces import RARE, canary_table


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any, Path]]:
    folder = tmp_path_factory.mktemp("studio")
    with served(folder / "kept", limit=3_000_000) as (address, app):
        yield address, app, folder


@pytest.fixture
def visitor(studio: tuple[str, Any, Path]) -> Iterator[Visitor]:
    address, app, _ = studio
    made = Visitor(address)
    assert made.enter(app.state.door.code).status_code == 200
    yield made
    made.close()


def test_a_link_works_once_and_nobody_else_comes_in(studio: tuple[str, Any, Path]) -> None:
    address, app, _ = studio
    code = app.state.door.code
    first, second = Visitor(address), Visitor(address)
    try:
        assert second.http.get("/").status_code == 401
        assert second.enter("wrong").status_code == 401
        assert first.enter(code).status_code == 200
        assert second.enter(code).status_code == 401, "the link was used"
        assert app.state.door.code != code
        cookie = httpx.get(f"{address}/enter", params={"code": app.state.door.code}, timeout=120).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        for path in ("/t/0123456789abcdef/measure", "/kept", "/jobs/0123456789abcdef", "/r/0123456789abcdef/x.zip", "/nowhere"):
            assert second.http.get(path).status_code == 401
    finally:
        first.close()
        second.close()


def test_other_hosts_origins_and_forms_are_refused(visitor: Visitor, studio: tuple[str, Any, Path]) -> None:
    port = studio[0].rsplit(":", 1)[1]
    token = visitor.token()
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", ""):
        assert visitor.http.get("/", headers={"host": host}).status_code == 400
    assert visitor.http.get("/", headers={"host": f"localhost:{port}"}).status_code in (200, 401)
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{int(port) + 1}"):
        refused = visitor.http.post("/demo", data={"token": token}, headers={"origin": origin})
        assert refused.status_code == 403
    for wrong in ("", "x", token[:-1] + ("0" if token[-1] != "0" else "1")):
        assert visitor.http.post("/demo", data={"token": wrong}).status_code == 403
        assert visitor.http.post("/tables", content=b"a,b\n1,2\n", headers={"x-shoal-token": wrong}).status_code == 403
    strange = {"sec-fetch-site": "cross-site"}
    with httpx.Client(base_url=studio[0], cookies=visitor.http.cookies, timeout=120) as bare:
        assert bare.post("/demo", data={"token": token}, headers=strange).status_code == 403
    assert visitor.http.get("/").text.count("table-card") == 0, "nothing was brought"


def test_every_answer_is_guarded(visitor: Visitor) -> None:
    for path in ("/", "/kept", "/verify", "/nowhere", "/static/studio.js", "/static/studio.css"):
        page = visitor.http.get(path)
        assert page.headers["content-security-policy"] == POLICY
        assert page.headers["x-content-type-options"] == "nosniff"
        assert "unsafe" not in page.headers["content-security-policy"]
        assert not re.search(r"<[^>]+\s(?:style|on\w+)=", page.text) or path.startswith("/static")
    assert visitor.http.get("/nowhere").status_code == 404
    assert visitor.http.get("/static/../app.py").status_code in (400, 404)
    assert visitor.http.get("/static/x").status_code == 404
    squeezed = {
        path: "content-encoding" in visitor.http.get(path).headers for path in ("/", "/static/studio.css", "/kept", "/me")
    }
    assert squeezed == {"/": False, "/static/studio.css": True, "/kept": False, "/me": True}, "never beside what was typed"
    for site, small in (("same-origin", True), ("none", True), ("same-site", False), ("cross-site", False)):
        found = visitor.http.get("/kept", headers={"sec-fetch-site": site}).headers
        assert ("content-encoding" in found) is small, f"what a page of another origin causes has its full length: {site}"
    with visitor.http.stream("GET", "/me") as answer:
        assert sum(map(len, answer.iter_raw())) <= 150_000, "as it is sent"
    first = sum(len(visitor.http.get(p).content) for p in ("/", "/static/studio.js", "/static/studio.css", "/static/fish.svg"))
    assert first <= 150_000, "the first page is light"


def test_bad_files_get_a_friendly_page_and_leave_nothing(visitor: Visitor, tmp_path: Path) -> None:
    bad = {
        "empty.csv": b"",
        "a.pdf": b"%PDF-1.4",
        "broken.parquet": b"PAR1" + b"x" * 50 + b"PAR1",
        "no rows.csv": b"age,sex\n",
        "no table.zip": b"PK\x03\x04" + b"\0" * 26 + b"readme.txt",
        "bomb.xlsx": b"PK\x03\x04 not a workbook",
        "large.csv": b"a,b\n" + b"1,2\n" * 750_001,
    }
    for name, content in bad.items():
        page = visitor.http.post("/tables", data={"token": visitor.token()}, files={"file": (name, content)})
        assert page.status_code in (400, 413), name
        assert "<dt>Found</dt>" in page.text, name
        assert "<dt>Do</dt>" in page.text, name
        assert "table-card" not in page.text, name
    fits = b"a,b\n" + b"1,2\n" * 749_999
    assert len(fits) == 3_000_000
    page = visitor.http.post("/tables", data={"token": visitor.token()}, files={"file": ("fits.csv", fits)})
    assert page.status_code == 200
    visitor.post("/kept/delete", sure="1")


def test_from_a_table_to_a_release_that_the_command_line_repeats(visitor: Visitor, tmp_path: Path) -> None:
    people = shoal.datasets.people(1500, seed=2).select(["name", "sex", "education", "occupation", "diagnosis"])
    source = tmp_path / "people.parquet"
    pq.write_table(people, source)
    table = visitor.bring(source)
    measured = shoal.measure(source, quasi=["sex", "education", "occupation"])
    page = visitor.get(f"/t/{table}/measure")
    assert f"{measured.unique:,} of 1,500 people are one of a kind" in page.text
    assert "you ask for 5" in page.text
    why = visitor.get(f"/t/{table}/measure?why=k").text
    assert str(measured.explain("k")).splitlines()[0][:40] in why.replace("&#39;", "'").replace("&gt;", ">")
    assert visitor.get(f"/t/{table}/understand?a=0&b=1&c=2").status_code == 200
    # a role is corrected and taken back
    number = people.column_names.index("occupation")
    assert visitor.post(f"/t/{table}/role", column=str(number), role="insensitive").status_code == 200
    page = visitor.post(f"/t/{table}/go", number="0", tab="measure")
    assert f"{measured.unique:,} of 1,500 people are one of a kind" in page.text
    # a search is stopped, and begun again
    page = visitor.get(f"/t/{table}/improve")
    job = re.search(r'data-job="([0-9a-f]{16})"', page.text)
    assert job is not None
    visitor.post(f"/jobs/{job[1]}/cancel")
    state = visitor.http.get(f"/jobs/{job[1]}").json()["state"]
    assert state in ("cancelled", "done"), "done where it ended before it was stopped"
    visitor.post(f"/t/{table}/search")
    # plans
    for _ in range(3000):
        page = visitor.get(f"/t/{table}/improve")
        if "data-job" not in page.text:
            break
        time.sleep(0.2)
    assert "Most detail" in page.text
    # a column is locked where its slider stands, and unlocked, without a script
    columns = {str(people.column_names.index(c)) for c in ("sex", "education", "occupation")}
    stands = {f"level.{n}": "0" for n in columns}
    page = visitor.post(f"/t/{table}/lock", lock=str(number), **{**stands, f"level.{number}": "1"})
    assert page.text.count('aria-pressed="true">Unlock') == 1
    assert "Undo: <bdi>locked occupation" in page.text
    assert "min_level: 1" in visitor.get(f"/t/{table}/policy.yml").text
    page = visitor.post(f"/t/{table}/lock", lock=str(number), **stands)
    assert "Unlock" not in page.text
    assert visitor.post(f"/t/{table}/lock", lock="99", **stands).status_code == 400
    assert "tried when the release is written" in page.text, "the attacks"
    for _ in range(3000):
        plans = visitor.get(f"/t/{table}/plans").text
        if "What each plan keeps" in plans and "data-job" not in visitor.get(f"/t/{table}/improve").text:
            break
        time.sleep(0.2)
    assert [plans.count(f'<th scope="row"><bdi>{c}</bdi>') for c in ("sex", "education", "occupation")] == [1, 1, 1]
    assert "✓ taken" not in plans
    page = visitor.post(f"/t/{table}/plan", k="5")
    assert "Meets all you asked" in page.text
    assert visitor.get(f"/t/{table}/plans").text.count("✓ taken") == 1
    assert page.text.count('class="past"') == 2, "Measure and Understand are behind"
    early = visitor.post(f"/t/{table}/release", approved_by="M. Okafor", format="csv")
    assert early.status_code == 403, "nothing is signed before it is written and read"
    page = ended(visitor, visitor.post(f"/t/{table}/release", format="csv"))
    # the findings come first: signing and downloads open when each is accepted with a reason
    shut = re.search(r'action="/r/([0-9a-f]{16})/accept"', page.text)
    assert shut is not None
    assert 'name="approved_by"' not in page.text
    assert '.zip" download' not in page.text
    assert "so it is known without finding the person&#39;s row" in page.text or "is far more common than" in page.text
    for path in ("x.zip", "file/0", "file/1"):
        assert visitor.http.get(f"/r/{shut[1]}/{path}").status_code == 403, path
    assert visitor.post(f"/r/{shut[1]}/sign", approved_by="M. Okafor").status_code == 403
    number = re.search(r'name="(f\.\d+)"', page.text)
    assert number is not None
    assert visitor.post(f"/r/{shut[1]}/accept", **{number[1]: "1"}).status_code == 400, "a reason is needed"
    page = decided(visitor, page)
    assert "a contract binds the recipient" in page.text
    page = ended(visitor, visitor.post(f"/r/{shut[1]}/sign", approved_by="M. Okafor", format="csv"))
    assert "Every finding is decided" in page.text, "what was accepted is found again, and stays accepted"
    assert "everyone hides among at least" in page.text
    assert page.text.count('class="small seconds"') == 4, "each line says how long it took"
    assert page.text.count('class="past"') == 3, "Improve is behind, too"
    assert "Counted again and found so.</strong> Every class has at least 5 members." in page.text
    assert "✓ safe together</span> <strong>Beside your earlier releases</strong>" in page.text, "the same plan twice"
    tried = page.text.count("✓ holds") + page.text.count("⚠ read this")
    assert f"{tried} tried</span>" in visitor.get(f"/t/{table}/improve").text, "by the attacks on this very plan"
    assert page.text.count("+ needs you") == 2, "an outside table and an earlier release are for the reader to bring"
    address = re.search(r"/r/[0-9a-f]{16}/[^\"]+\.zip", page.text)
    assert address is not None
    whole = visitor.http.get(address[0]).content
    with zipfile.ZipFile(BytesIO(whole)) as packed:
        names = packed.namelist()
        mine = {n.split("/", 1)[1]: packed.read(n) for n in names}
    assert {"data.csv", "plan.json", "certificate.json", "report.html"} <= set(mine)
    assert b"M. Okafor" in mine["certificate.json"]
    for signed in ("certificate.json", "report.html"):
        assert b"Reason: a contract binds the recipient" in mine[signed], "reasons stand under the signature"
    (tmp_path / "policy.yml").write_bytes(visitor.get(f"/t/{table}/policy.yml").content)
    words = ["anonymize", str(source), "--policy", str(tmp_path / "policy.yml"), "--out", str(tmp_path / "again")]
    assert nursery.shoal(*words).returncode == 0
    for name in ("data.csv", "plan.json"):
        assert (tmp_path / "again" / name).read_bytes() == mine[name], "the command line repeats it byte for byte"
    # any folder can be checked, and a changed one is found out
    send = {"token": visitor.token()}
    page = visitor.http.post("/verify", data=send, files={"file": ("r.zip", whole)})
    assert "Every claim of this release holds." in page.text
    with zipfile.ZipFile(tmp_path / "changed.zip", "w") as out:
        for name, body in mine.items():
            out.writestr(f"r/{name}", body.replace(b"F", b"M") if name == "data.csv" else body)
    page = visitor.http.post("/verify", data=send, files={"file": ("r.zip", (tmp_path / "changed.zip").read_bytes())})
    assert "does not hold what it claims" in page.text
    report = re.search(r'/r/[0-9a-f]{16}/file/\d+(?=" target)', page.text + visitor.get(f"/t/{table}/prove").text)
    assert report is not None
    headers = visitor.http.get(report[0]).headers
    assert "sha256-" in headers["content-security-policy"]
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "SAMEORIGIN", "it stands in the page that shows it, and in no other's"
    holding = visitor.http.get(f"/t/{table}/prove").headers
    assert holding["content-security-policy"] == f"{POLICY}; frame-src 'self'"
    assert holding["x-frame-options"] == "DENY"
    visitor.post("/kept/delete", sure="1")
    assert "Nothing is kept here." in visitor.get("/kept").text


def test_the_reader_asks_and_its_repairs_are_shown_and_overruled(visitor: Visitor, tmp_path: Path) -> None:
    lines = [f"{20 + i % 9},{'fm'[i % 2]},{i % 3},{'abc'[i % 3]}" for i in range(60)]
    doubled = tmp_path / "doubled.csv"
    doubled.write_text("\n".join(["age,sex,age,ill", *lines]) + "\n", encoding="utf-8")
    table = visitor.bring(doubled)
    page = visitor.get(f"/t/{table}/measure").text
    assert page.index("Numbered doubled names") < page.index("people are one of a kind"), "before the first number"
    assert "--read" not in page
    refused = visitor.post(f"/t/{table}/read", option="rename_duplicates", value="false")
    assert refused.status_code == 400
    assert "rename_duplicates" not in visitor.get(f"/t/{table}/policy.yml").text, "nothing changed"
    uneven = tmp_path / "uneven.csv"
    uneven.write_text("\n".join(["age,sex,visits,ill", *lines, "31,f"]) + "\n", encoding="utf-8")
    asked = visitor.http.post("/tables", data={"token": visitor.token()}, files={"file": ("uneven.csv", uneven.read_bytes())})
    place = re.search(r"/t/([0-9a-f]{16})/read", asked.text)
    assert place is not None, asked.text
    assert "Leave the lines that do not fit out" in asked.text
    assert "31" not in asked.text.partition("<dl>")[2].partition("</dl>")[0], "no value"
    table = place[1]
    visitor.post(f"/t/{table}/read", option="bad_lines", value="set-aside")
    page = visitor.get(f"/t/{table}/measure").text
    assert "Set aside 1 line with too few or too many fields" in page
    assert "60 people" in page
    assert "bad_lines: set-aside" in visitor.get(f"/t/{table}/policy.yml").text, "the command line reads it in the same way"
    assert visitor.post(f"/t/{table}/read", option="delimiter", value=";").status_code == 400
    assert visitor.get(f"/t/{table}/improve").status_code == 200
    visitor.post("/kept/delete", sure="1")


def test_the_code_page_the_sheet_and_the_names_can_be_chosen(visitor: Visitor, tmp_path: Path) -> None:
    towns = "".join(f"{20 + i % 9};{'fm'[i % 2]};{('Plzeň', 'Děčín')[i % 2]}\n" for i in range(60))
    doubtful = ("age;sex;town\n" + towns).encode("cp1250")
    book = openpyxl.Workbook()
    book.active.append(["ward", "beds"])  # type: ignore[union-attr]
    book.active.append(["A", 4])  # type: ignore[union-attr]
    people = book.create_sheet("People 2024")
    for row in [["age", "sex"], *([20 + i % 9, "fm"[i % 2]] for i in range(60))]:
        people.append(row)
    book.save(tmp_path / "two.xlsx")
    nameless = "".join(f"{'fm'[i % 2]},{'ABC'[i % 3]},ill\n" for i in range(60)).encode()
    for name, content, option, value in (
        ("towns.csv", doubtful, "encoding", "cp1250"),
        ("two.xlsx", (tmp_path / "two.xlsx").read_bytes(), "sheet", "People 2024"),
        ("nameless.csv", nameless, "header", "false"),
    ):
        asked = visitor.http.post("/tables", data={"token": visitor.token()}, files={"file": (name, content)})
        place = re.search(r"/t/([0-9a-f]{16})/read", asked.text)
        assert place is not None, asked.text
        assert f'value="{value}"' in asked.text
        visitor.post(f"/t/{place[1]}/read", option=option, value=value)
        assert "60" in visitor.get(f"/t/{place[1]}/measure").text
    assert visitor.post(f"/t/{place[1]}/read", option="encoding", value="no-such").status_code == 400
    visitor.post("/kept/delete", sure="1")


def test_a_moved_slider_gets_its_numbers_before_the_rest(visitor: Visitor, tmp_path: Path) -> None:
    source = tmp_path / "few.csv"
    source.write_text("age,sex,ill\n" + "".join(f"{20 + i},{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(60)), encoding="utf-8")
    table = visitor.bring(source)
    visitor.get(f"/t/{table}/improve")
    first = visitor.http.get(f"/t/{table}/improve", headers={"x-shoal-first": "1"}).text
    assert "data-more" in first
    assert "Nearest ways that work" not in first
    assert "Not yet" in first
    whole = visitor.get(f"/t/{table}/improve").text
    assert "data-more" not in whole
    assert "Nearest ways that work" in whole
    assert "From raw to safe" in whole
    assert "age, before and after" in whole
    assert "sex, before and after" in visitor.get(f"/t/{table}/improve?column=1").text
    for odd in ("99", "x", "-1"):
        assert visitor.http.get(f"/t/{table}/improve?column={odd}").status_code == 400
    assert "such a person would be one of a kind" not in visitor.get(f"/t/{table}/understand").text
    example = visitor.get(f"/t/{table}/understand?example=3").text
    assert "Somebody who does not exist" in example
    visitor.post("/kept/delete", sure="1")


def test_two_windows_merge_per_slider_and_a_conflict_is_shown(visitor: Visitor, tmp_path: Path) -> None:
    source = tmp_path / "two windows.csv"
    source.write_text("age,sex,ill\n" + "".join(f"{20 + i},{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(60)), encoding="utf-8")
    table = visitor.bring(source)

    def standing(page: Any) -> list[str]:
        return re.findall(r'name="level\.[01]" value="(\d)" checked', page.text)

    stale = visitor.get(f"/t/{table}/improve")
    old = Form(stale, "/levels").fields
    assert [old["level.0"], old["level.1"]] == ["0", "0"]
    assert standing(visitor.post(f"/t/{table}/levels", **{**old, "level.0": "2"})) == ["2", "0"]
    # the other window still shows the first page: its form, sent whole, moves its own slider only
    both = visitor.post(f"/t/{table}/levels", **{**old, "level.1": "1"})
    assert both.status_code == 200
    assert standing(both) == ["2", "1"]
    # both moved the same slider: the later one is asked, not obeyed; the same move twice is none
    clash = visitor.post(f"/t/{table}/levels", **{**old, "level.0": "1"})
    assert clash.status_code == 409
    assert "Another window moved age" in clash.text
    assert standing(clash) == ["2", "1"]
    assert standing(visitor.post(f"/t/{table}/levels", **{**old, "level.0": "2"})) == ["2", "1"]
    # asked again on the page that shows the conflict, it is done
    assert standing(visitor.post(f"/t/{table}/levels", **{**Form(clash, "/levels").fields, "level.0": "1"})) == ["1", "1"]
    # what is asked merges the same way
    asked = Form(stale, "/goal").fields
    visitor.post(f"/t/{table}/goal", **{**asked, "k": "7"})
    page = visitor.post(f"/t/{table}/goal", **{**asked, "suppress": "10"})
    assert Form(page, "/goal").fields["k"] == "7"
    assert Form(page, "/goal").fields["suppress"] == "10"
    assert visitor.post(f"/t/{table}/goal", **{**asked, "k": "9"}).status_code == 409
    # what has to stay detailed too; and levels whose meaning has changed
    page = visitor.post(f"/t/{table}/goal", **{**asked, "keep.1": "high"})
    assert Form(page, "/goal").fields["keep.1"] == "high"
    assert Form(page, "/goal").fields["k"] == "7"
    assert visitor.post(f"/t/{table}/goal", **{**asked, "keep.1": "low"}).status_code == 409
    seen = Form(page, "/levels").fields
    page = visitor.post(f"/t/{table}/levels/0/bands", widths="30")
    assert visitor.post(f"/t/{table}/levels", **{**seen, "level.0": "2"}).status_code == 409
    # Undo takes back what its window shows, never what another window did since
    undo = Form(page, "/go").fields
    number = re.search(r'class="quiet undo" name="number" value="(\d+)"', page.text)
    assert number is not None
    after = visitor.post(f"/t/{table}/role", column="2", role="insensitive")
    assert visitor.post(f"/t/{table}/go", **undo, number=number[1]).status_code == 409
    last = visitor.get(f"/t/{table}/improve")
    assert Form(last, "/go").fields["seen"] == Form(after, "/go").fields["seen"]
    # a slider that another window took away does not stand in the way of the others
    visitor.post(f"/t/{table}/role", column="1", role="insensitive")
    assert visitor.post(f"/t/{table}/levels", **{**Form(last, "/levels").fields, "level.0": "1"}).status_code == 200
    visitor.post("/kept/delete", sure="1")


def test_one_line_tells_a_page_of_other_windows_and_of_its_job(visitor: Visitor, tmp_path: Path) -> None:
    source = tmp_path / "small.csv"
    source.write_text("age,sex,ill\n" + "".join(f"{20 + i},{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(60)), encoding="utf-8")
    table = visitor.bring(source)
    page = visitor.get(f"/t/{table}/improve")
    shown = re.search(r'data-live="([^"]+)" data-state="([^"]+)"', page.text)
    job = re.search(r'data-job="([0-9a-f]{16})"', page.text)
    assert shown is not None
    assert job is not None
    ended(visitor, page)
    with visitor.http.stream("GET", f"{shown[1]}?job={job[1]}") as line:
        lines = (json.loads(text.removeprefix("data: ")) for text in line.iter_lines() if text)
        first = next(lines)
        assert first == visitor.http.get(f"{shown[1].replace('live', 'now')}?job={job[1]}").json()
        assert (first["state"], first["job"]["open"], first["job"]["id"]) == (shown[2], False, job[1])
        visitor.post(f"/t/{table}/role", column="1", role="insensitive")
        assert next(told for told in lines if told["state"] != shown[2])["state"] in visitor.get(f"/t/{table}/improve").text
    assert visitor.http.get(f"/t/{table}/live?job=0123456789abcdef").status_code == 404
    assert visitor.http.get("/t/0123456789abcdef/live").status_code == 404


def test_the_goal_says_what_the_table_is_used_for_and_the_card_what_that_costs(visitor: Visitor, tmp_path: Path) -> None:
    people = shoal.datasets.people(600, seed=6).select(["sex", "education", "occupation", "diagnosis"])
    source = tmp_path / "people.parquet"
    pq.write_table(people, source)
    table = visitor.bring(source)
    for number, role in enumerate(("quasi", "quasi", "quasi", "sensitive")):
        visitor.post(f"/t/{table}/role", column=str(number), role=role)
    form = Form(visitor.get(f"/t/{table}/improve"), "/goal").fields
    assert (form["use"], form["was.use"], form["was.count.0"]) == ("", "", "")
    page = ended(visitor, visitor.post(f"/t/{table}/goal", **{**form, "use": "counts", "count.0": "1", "count.1": "1"}))
    assert "for counts of people by sex and education." in page.text
    assert "Best for its use" in page.text
    assert "Objective: the table of counts of sex, education." in page.text
    assert visitor.post(f"/t/{table}/goal", **{**form, "use": "predict.3"}).status_code == 409, "another window was first"
    page = visitor.post(f"/t/{table}/plan", least="1", seen=Form(page, "/plan").fields["seen"])
    verdict = page.text[page.text.index('id="verdict"') : page.text.index('id="goal"')]
    card = re.search(r"Best for its use</strong> <span>k 5</span> <span>([^<]+) lost</span> <span>([^<]+) out<", page.text)
    assert card is not None
    assert f"<b>{card[1]}</b>" in verdict, "the verdict says what the card says"
    assert "Smallest group" in verdict
    written = ended(visitor, visitor.post(f"/t/{table}/release", format="csv", no_ledger="1"))
    assert visitor.http.get(re.search(r"/r/[0-9a-f]{16}/", written.text)[0] + "sign").status_code in (200, 403)  # type: ignore[index]
    written = decided(visitor, written)
    place = re.search(r'href="(/r/[^"]+\.zip)"', written.text)
    assert place is not None
    with zipfile.ZipFile(BytesIO(visitor.http.get(place[1]).content)) as packed:
        plan = json.loads(next(packed.read(n) for n in packed.namelist() if n.endswith("plan.json")))
    assert any(note.startswith("Objective: the table of counts of sex, education.") for note in plan["notes"])
    form = Form(visitor.get(f"/t/{table}/improve"), "/goal").fields
    page = visitor.post(f"/t/{table}/goal", **{**form, "use": "predict.3"})
    assert "for predictions of diagnosis." in page.text


def test_undecided_columns_are_asked_one_by_one_and_a_page_to_sign_waits_for_decisions(visitor: Visitor, tmp_path: Path) -> None:
    source = tmp_path / "unknown.csv"
    lines = [f"{20 + i % 40},{'fm'[i * 7 % 5 % 2]},{10 + i * 31 % 23},{10 + i * 7919 % 87}" for i in range(400)]
    source.write_text("\n".join(["age,sex,minutes-per-day,hours-per-week", *lines]), encoding="utf-8")
    table = visitor.bring(source)
    page = visitor.get(f"/t/{table}/measure")
    asked = []
    while found := re.search(r'id="undecided">.*?what is <bdi>([^<]+)</bdi>', page.text):
        asked.append(found[1])
        page = visitor.post(f"/t/{table}/role", column=Form(page, "/role").fields["column"], role="sensitive")
    assert asked == ["hours-per-week", "minutes-per-day"], "the one with most different values first"
    ended(visitor, visitor.get(f"/t/{table}/improve"))
    page = ended(visitor, visitor.post(f"/t/{table}/plan", least="1"))
    page = ended(visitor, visitor.post(f"/t/{table}/release", format="csv", no_ledger="1"))
    place = re.search(r'action="(/r/[0-9a-f]{16}/)accept"', page.text)
    assert place is not None
    assert visitor.http.get(place[1] + "sign").status_code == 403
    page = decided(visitor, page)
    assert place[1] + "sign" in page.text
    signed = visitor.http.get(place[1] + "sign")
    assert signed.status_code == 200
    for words in ("What leaves", "What can still be learnt", "a contract binds the recipient", "400 rows written, 0 left out."):
        assert words in signed.text


POLICIES = {
    "bounds": "roles: {quasi: {sex: {max_level: 0}, education: {}, occupation: {}}, sensitive: [diagnosis], rest: drop}",
    "a fixed level": "roles: {quasi: {sex: {min_level: 0, max_level: 0}, education: {}, occupation: {}}, rest: drop}",
    "a named method": "roles: {quasi: {sex: {}, education: {}, occupation: {}}, rest: drop}\nmethod: local\ncells: ranges",
    "one level per column": "roles: {quasi: {sex: {}, education: {}, occupation: {}}, rest: drop}\nmethod: lattice",
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_file_gets_the_plan_that_the_command_line_makes(visitor: Visitor, tmp_path: Path, name: str) -> None:
    """Nothing is chosen in the studio: the planner's own plan is released, with the bounds and the method of the file."""
    source, policy = tmp_path / "people.parquet", tmp_path / "policy.yml"
    pq.write_table(shoal.datasets.people(400, seed=5).select(["sex", "education", "occupation", "diagnosis"]), source)
    asked = "\nrequire: {k: 5}\nallow: {loss: 1, blank: 1}\nseed: 1234567890123456\n"
    policy.write_text(POLICIES[name] + asked, encoding="utf-8")
    shoal.anonymize(source, policy).write(tmp_path / "command")
    table = visitor.bring(source)
    sent = {"file": ("policy.yml", policy.read_bytes())}
    assert visitor.http.post(f"/t/{table}/policy", data={"token": visitor.token()}, files=sent).status_code == 200
    for _ in range(3000):
        page = visitor.get(f"/t/{table}/improve")
        if "data-job" not in page.text:
            break
        time.sleep(0.2)
    assert "Meets all you asked" in page.text
    assert page.text.count('aria-pressed="true"') == 1 + page.text.count("Unlock"), "one card is the plan of the release"
    page = ended(visitor, visitor.post(f"/t/{table}/release", format="csv", no_ledger="1"))
    page = decided(visitor, page)
    address = re.search(r"/r/[0-9a-f]{16}/[^\"]+\.zip", page.text)
    assert address is not None
    with zipfile.ZipFile(BytesIO(visitor.http.get(address[0]).content)) as packed:
        mine = {n.split("/", 1)[1]: packed.read(n) for n in packed.namelist()}
    for file in ("data.csv", "plan.json"):
        assert (tmp_path / "command" / file).read_bytes() == mine[file], file


def test_levels_of_a_column_are_edited_by_plain_forms(visitor: Visitor, tmp_path: Path) -> None:
    source, rare = tmp_path / "lands.csv", "Tuvalu"
    lands = [*["NL", "BE", "FR", "JP"] * 15, rare]
    source.write_text(
        "land,age,ill\n" + "".join(f"{x},{20 + i % 9},{'abc'[i % 3]}\n" for i, x in enumerate(lands)), encoding="utf-8"
    )
    table = visitor.bring(source)
    visitor.get(f"/t/{table}/measure")
    for number in ("0", "1"):
        visitor.post(f"/t/{table}/role", column=number, role="quasi")
    visitor.post(f"/t/{table}/role", column="2", role="sensitive")
    place = f"/t/{table}/levels/0"
    page = visitor.get(place).text
    assert "BE" in page
    assert rare not in page, "what one person has is not named"
    assert "1 values that fewer than 5 records have are not named" in page
    visitor.post(f"{place}/together", name="Low Countries", **{"v.0": "1", "v.3": "1"})  # BE, NL in order of their text
    said = visitor.get(f"/t/{table}/policy.yml").text
    assert "groups: {FR: [FR], JP: [JP], Low Countries: [BE, NL]}" in said
    assert "on_gap: top" in said
    page = visitor.get(place).text
    assert "Low Countries</bdi> 30" in page
    assert visitor.post(f"{place}/together", name="", **{"v.0": "1"}).status_code == 400
    assert visitor.post(f"{place}/nothing").status_code == 400
    assert visitor.http.get(f"/t/{table}/levels/2").status_code == 400, "no level of a column that is not made coarser"
    saved = visitor.http.get(f"/t/{table}/levels-file/0").text
    assert "BE;Low Countries;*" in saved
    assert rare not in saved
    visitor.post(f"{place}/apart", group="2")
    assert "groups" not in visitor.get(f"/t/{table}/policy.yml").text
    file = {"file": ("levels.csv", saved.replace("Low Countries", "Benelux").encode())}
    visitor.http.post(f"/t/{table}/levels-file/0", data={"token": visitor.token()}, files=file)
    assert "Benelux" in visitor.get(place).text
    visitor.post(f"/t/{table}/levels/1/bands", widths="5, 10", top="26")
    assert "intervals: [5, 10], top: 26" in visitor.get(f"/t/{table}/policy.yml").text
    assert visitor.post(f"/t/{table}/levels/1/bands", widths="5, 7").status_code == 400, "bands must nest"
    visitor.post(f"{place}/codes", lengths="1")
    assert "prefix: [1]" in visitor.get(f"/t/{table}/policy.yml").text
    visitor.post(f"{place}/built")
    assert "prefix" not in visitor.get(f"/t/{table}/policy.yml").text
    visitor.post("/kept/delete", sure="1")


def test_what_known_records_of_a_person_reveal(visitor: Visitor, tmp_path: Path) -> None:
    source = tmp_path / "visits.csv"
    shops = [("ann", "a"), ("ann", "b"), ("bob", "b"), ("bob", "c"), ("cem", "b")]
    source.write_text("who,shop\n" + "".join(f"{who},{shop}\n" for who, shop in shops), encoding="utf-8")
    table = visitor.bring(source)
    visitor.get(f"/t/{table}/measure")
    visitor.post(f"/t/{table}/unit", column="")
    assert "Each row is one person here." in visitor.get(f"/t/{table}/events").text
    visitor.post(f"/t/{table}/unit", column="0")
    page = visitor.get(f"/t/{table}/events?place=1").text
    expected = shoal.measure(source, unit="who", place="shop").sentence
    assert expected in page
    assert "People singled out by known records" in page
    assert visitor.http.get(f"/t/{table}/events?place=7").status_code == 400
    visitor.post("/kept/delete", sure="1")


def test_addresses_and_logs_hold_no_value(visitor: Visitor, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table = visitor.bring(hostile_table(tmp_path / "hostile.csv"))
    seen = []
    visitor.http.event_hooks["request"] = [lambda request: seen.append(str(request.url))]
    for tab in ("measure", "understand", "improve", "prove"):
        page = visitor.get(f"/t/{table}/{tab}?panel=policy")
        assert page.status_code == 200, tab
        assert "<script>document" not in page.text
        assert "<img src=x" not in page.text
    assert not [url for url in seen if "flu" in url or "img" in url]
    for column in ("99", "-1", "x", "1e3", ""):
        assert visitor.post(f"/t/{table}/role", column=column, role="quasi").status_code == 400
    for role in ("", "king"):
        assert visitor.post(f"/t/{table}/role", column="0", role=role).status_code == 400
    for fields in ({"level.0": "99"}, {"level.0": "x"}, {"level.77": "0"}):
        assert visitor.post(f"/t/{table}/levels", **fields).status_code == 400
    wrong: list[tuple[str, dict[str, str]]] = [
        ("scale", {"column": "0", "scale": "king"}),
        ("audience", {"preset": "nobody"}),
        ("unit", {"column": "99"}),
        ("goal", {"keep.0": "heavy"}),
        ("goal", {"preset": "nobody"}),
        ("goal", {"k": "1", "suppress": "5"}),
        ("goal", {"k": "5", "suppress": "nan"}),
        ("goal", {"k": "5", "suppress": "101"}),
        ("way", {"suppress": "inf"}),
        ("way", {"column": "0", "level": "x"}),
        ("levels/0/bands", {"widths": "wide"}),
        ("goal", {"use": "counts"}),
        ("goal", {"use": "predict.0"}),
        ("plan", {"k": "12345"}),
        ("offer", {"number": "0"}),
        ("go", {"number": "99"}),
        ("release", {"format": "exe"}),
    ]
    for place, fields in wrong:
        page = visitor.post(f"/t/{table}/{place}", **fields)
        assert (page.status_code, "Something is in the way" in page.text) == (400, True), (place, fields)
    files = {"file": ("p.yml", b"roles: {quasi: {diagnosis: {hierarchy: ../../etc/passwd}}}\nrequire: {k: 2}\n")}
    page = visitor.http.post(f"/t/{table}/policy", data={"token": visitor.token()}, files=files)
    assert page.status_code == 400
    assert visitor.get(f"/t/{table}/measure").status_code == 200
    visitor.post("/kept/delete", sure="1")
    told = capfd.readouterr()
    assert not re.search("flu|hiv|Error", told.err + told.out)


def test_no_page_job_or_database_holds_what_only_one_person_has(
    visitor: Visitor, studio: tuple[str, Any, Path], tmp_path: Path
) -> None:
    canary_table(tmp_path / "bestand.csv")
    assert RARE.search((tmp_path / "bestand.csv").read_text(encoding="utf-8"))
    table = visitor.bring(tmp_path / "bestand.csv")
    visitor.get(f"/t/{table}/improve")
    for _ in range(3000):
        if "data-job" not in visitor.get(f"/t/{table}/improve").text:
            break
        time.sleep(0.2)
    named = visitor.get(f"/t/{table}/measure?panel=policy")
    assert "kolomjob" in named.text, "names of columns are shown, so the search below would find what is shown"
    for tab in ("measure", "understand", "improve", "prove", "measure?why=k", "policy.yml"):
        assert not RARE.search(visitor.get(f"/t/{table}/{tab}").text), tab
    for path in ("/", "/kept"):
        assert not RARE.search(visitor.get(path).text), path
    for file in (studio[2] / "kept").glob("studio.db*"):
        assert not RARE.search(file.read_bytes().decode("latin-1")), file.name
    visitor.post("/kept/delete", sure="1")


def test_kill_9_in_a_job_loses_no_step_and_is_told(tmp_path: Path) -> None:
    port, source = tools.free_port(), tmp_path / "people.parquet"
    shoal.datasets.write_people(source, 6000, 1)
    process, code = started(tmp_path / "kept", port)
    visitor = Visitor(f"http://127.0.0.1:{port}")
    try:
        visitor.enter(code)
        table = visitor.bring(source)
        visitor.get(f"/t/{table}/measure")
        visitor.post(f"/t/{table}/goal", k="7", suppress="10")
        page = visitor.get(f"/t/{table}/improve")
        job = re.search(r'data-job="([0-9a-f]{16})"', page.text)
        assert job is not None
        while visitor.http.get(f"/jobs/{job[1]}").json()["state"] == "queued":
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
        process, _ = started(tmp_path / "kept", port)
        for _ in range(3000):
            state = visitor.http.get(f"/jobs/{job[1]}").json()["state"]
            if state != "running":
                break
            time.sleep(0.2)
        assert state in ("lost", "done"), "the session lives on, and the job is not said to run for ever"
        page = visitor.get(f"/t/{table}/improve")
        assert 'name="k" min="2" max="1000000" value="7"' in page.text, "the last step is there"
        assert state == "done" or "The studio stopped while this ran" in page.text
        assert 'name="k"' in visitor.post(f"/t/{table}/search").text
    finally:
        visitor.close()
        process.terminate()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def test_a_page_that_counts_asks_for_itself_again(visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "visits.csv"
    source.write_text(
        "who,day,ward\n" + "".join(f"{i % 20},2026-01-0{1 + i % 3},w{i % 2}\n" for i in range(80)), encoding="utf-8"
    )
    table = visitor.bring(source)
    visitor.post(f"/t/{table}/unit", column="0")
    asked = {"events?time=1&place=2", "understand?a=0&b=1", "measure", "levels/1"}

    def counting(*_: Any) -> Any:
        raise StillCounting

    for kind in ("measured", "improvement", "table"):
        monkeypatch.setattr(Answers, kind, counting)
    for place in asked:
        page = visitor.http.get(f"/t/{table}/{place}")
        assert f'content="0;url=/t/{table}/{place}"'.replace("&", "&amp;") in page.text, place
    monkeypatch.undo()
    page = visitor.get(f"/t/{table}/events?time=1&place=2")
    assert 'id="curve-head"' in page.text
    visitor.post("/kept/delete", sure="1")


def test_a_port_in_use_is_told(tmp_path: Path, studio: tuple[str, Any, Path]) -> None:
    port = studio[0].rsplit(":", 1)[1]
    words = ["studio", "--no-browser", "--workspace", str(tmp_path / "x"), "--port", port]
    done = nursery.shoal(*words)
    assert done.returncode == 2
    assert "is in use" in done.stderr


def test_plans_stay_while_sliders_move_from_a_taken_one(visitor: Visitor, tmp_path: Path) -> None:
    source = tmp_path / "some.csv"
    rows = (f"{20 + i * 7 % 50},{'fm'[i % 2]},{'xyzw'[i % 4 if i % 9 else 3]},{'abc'[i % 3]}\n" for i in range(400))
    source.write_text("age,sex,district,ill\n" + "".join(rows), encoding="utf-8")
    table = visitor.bring(source)
    ended(visitor, visitor.get(f"/t/{table}/improve"))
    page = visitor.get(f"/t/{table}/improve")  # by now the plans of that search stand there
    assert "What rows look like, before and after" in page.text, "local recoding is taken, and its rows are shown"
    compared = visitor.get(f"/t/{table}/plans").text
    assert compared.count("as fine as each group allows") == 3
    assert "Least loss: rows before and after" in compared
    sizes = re.findall(r'name="k" value="(\d+)"', page.text)
    safest = sizes[-1]
    assert int(safest) > 5
    page = visitor.post(f"/t/{table}/plan", k=safest)
    form = Form(page, "/levels").fields
    age = next(name for name in form if name.startswith("level."))
    assert form[age] != "0"
    page = visitor.post(f"/t/{table}/levels", **{f"was.{age}": form[f"was.{age}"], age: "0"})
    assert re.findall(r'name="k" value="(\d+)"', page.text) == sizes, "the cards are still there"
    assert "data-job" not in page.text, "nothing is searched for again"
    assert re.search(r"Groups under \d+ people are not shown|in groups too small to be named", page.text)
    now = Form(page, "/goal").fields
    page = ended(visitor, visitor.post(f"/t/{table}/goal", **{"was.k": now["was.k"], "k": str(int(safest) + 1)}))
    page = ended(visitor, visitor.post(f"/t/{table}/goal", **{"was.k": str(int(safest) + 1), "k": safest}))
    page = visitor.get(f"/t/{table}/improve")
    assert re.findall(r'name="k" value="(\d+)"', page.text)[0] == safest, "a goal of that size has a search of its own"
    visitor.post("/kept/delete", sure="1")


def test_a_table_without_releases_and_jobs_has_no_empty_list(visitor: Visitor, tmp_path: Path) -> None:
    source = tmp_path / "some.csv"
    source.write_text("age,sex\n" + "".join(f"{20 + i % 5},{'fm'[i % 2]}\n" for i in range(40)), encoding="utf-8")
    table = visitor.bring(source)
    assert "<thead>" not in visitor.get("/kept").text
    visitor.get(f"/t/{table}/improve")
    assert visitor.get("/kept").text.count("<thead>") == 1
    visitor.post("/kept/delete", sure="1")
