"""Registry pages: what to ask, the map, one question, publishing, and "How exposed am I?"."""

from __future__ import annotations

import re
import threading
from typing import Any

from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError, UsageError
from shoal.kernels.signatures import fingerprint
from shoal.model.display import as_percent, at_most, one_in
from shoal.prediction.questionnaire.meter import about_percent
from shoal.registry.answer.answer import Answer, analysed
from shoal.registry.answer.decide import Decision, Line, decide, share_words, words
from shoal.registry.answer.exposure import places_of
from shoal.registry.answer.plain import codes_of, countries, population_of
from shoal.registry.answer.query import Registry, populations
from shoal.registry.records.population import Population
from shoal.registry.records.record import SHARE_STEP, Record
from shoal.registry.records.vocabulary import attribute, label
from shoal.report import pages
from shoal.report.numbers import percent
from shoal.server.common import status_of
from shoal.studio.here import Fields, Studio, page, posts, problem_of
from shoal.studio.registry import publishing
from shoal.studio.registry.publishing import OWN, SHIPPED, Shelf

MOST_TEXT = 200


def create_router(studio: Studio) -> APIRouter:
    router, shelf = APIRouter(), Shelf(studio)
    _deciding(router, shelf)
    _browsing(router, shelf)
    _publishing(router, studio, shelf)
    _add_exposure(router, shelf)
    return router


AGES = (("age/years", "in years"), ("age/5y", "in fives"), ("age/10y", "in tens"), ("age/20y", "in twenties"), ("", "not asked"))
TARGETS = ("1", "5", "10", "20")
FIRST = {"age": "age/years", "sex": "1", "postcode": "", "place": "", "people": "100", "target": "5"}
"""What the form to decide says at first."""
DECIDING = {"fields": FIRST, "ages": AGES, "targets": TARGETS}
FITS = {
    "exact": "a published table of these people",
    "joint counts": "computed from a published table",
    "coarser coding": "a published table in less detail",
    "finer coding": "a published table in more detail",
    "margins only": "published tables of each question alone",
    "parent population": "a published table of a wider place",
}
"""How what is known fits the questions."""
_CODE = re.compile(r"\b[a-z]+/[A-Za-z0-9/~-]+")


def _deciding(router: APIRouter, shelf: Shelf) -> None:
    """What to ask: a front door for those who have no table yet."""

    @router.get("/decide")
    def decided(request: Request) -> Response:
        which, sent = _which(request, shelf), request.query_params
        asked = "place" in sent
        fields = {name: sent.get(name, "")[:MOST_TEXT].strip() for name in FIRST} if asked else FIRST
        shown: dict[str, Any] = {**DECIDING, "fields": fields, "which": which, "own": shelf.has_own, "d": None, "problem": None}
        shown["here"] = f"/decide?{request.url.query}" if asked else "/decide"
        status = 200
        with shelf.asked(which) as registry:
            try:
                if asked:
                    shown["d"] = _decided(registry, fields)
            except ShoalError as error:
                status, shown["problem"] = status_of(error), problem_of(error)
            counted = countries(registry.source)
        shown["known"] = f"{sum(counted.values()):,} places in {len(counted):,} countries"
        return page(request, "registry/decide.html", status=status, **shown)


def _decided(registry: Registry, fields: Fields) -> dict[str, Any]:
    """What a decision says, in words."""
    codes = [c for c in (fields["age"], "sex" * bool(fields["sex"]), "postcode" * bool(fields["postcode"])) if c]
    if not codes or fields["age"] not in dict(AGES) or fields["target"] not in TARGETS:
        raise UsageError("no question is chosen.", hint="Choose at least one.")
    people = population_of(registry.source, fields["place"])
    known = {attribute(code).partition("/")[0] for coding in registry.source.codings(str(people)) for code in coding}
    if "postcode" in codes and "postcode" not in known:
        raise UsageError(f"nothing is known about postcodes in {fields['place']}.", hint="Leave out the postcode.")
    wanted = codes_of(registry.source, codes, people)
    decision = decide(registry, wanted, people, group_size=_people(fields["people"]), target=int(fields["target"]) / 100)
    answer = registry.query(wanted, people)
    fit: str = answer.fit
    return {
        "place": decision.place,
        "asked": words(line.asked for line in decision.lines),
        "people": f"{decision.group_size:,}",
        "verdict": decision.verdict,
        "before": _before(decision),
        "verdict_words": _verdict(decision),
        "sets": [{"words": words(c), "about": about_percent(e.value), "most": at_most(e.high)} for c, e in decision.sets],
        "lines": [{"asked": label(x.asked), "advice": x.advice, "words": _advice(x, people)} for x in decision.lines],
        "how_many": decision.how_many,
        "letter": decision.letter,
        "grade": decision.before.grade,
        "fit": FITS.get(fit, fit),
        "source": answer.best.source,
        "notes": [_in_words(note) for note in (*answer.notes, *decision.before.notes)],
        "command": f"shoal registry decide --attributes {','.join(wanted)} --population '{people}' "
        f"--group {decision.group_size} --target {decision.target:g}",
    }


def _advice(line: Line, people: Population) -> str:
    """Why a question is judged so; of one that is asked in less detail, in which."""
    if line.code is not None:
        return "" if line.advice == "collect" else label(line.code)
    reason = _in_words(line.reason.replace(f" in {people}", ""))
    return f"{reason[:1].upper()}{reason[1:]}."


def _before(decision: Decision) -> str:
    """The share that the questions make unique, as exact as it is known."""
    share = decision.before
    if decision.verdict == "within":
        return at_most(share.high)
    return share_words(share) if decision.verdict == "beyond" else f"{as_percent(share.low)} to {as_percent(share.high)}"


def _verdict(decision: Decision) -> str:
    target = as_percent(decision.target)
    if decision.verdict == "within":
        return f"That is within your target of {target}: ask it as planned."
    if decision.verdict == "beyond":
        return f"That is more than your target of {target}."
    return f"Whether that is within your target of {target} is not known from the tables that are published."


def _in_words(text: str) -> str:
    """A sentence with codes in words.

    >>> _in_words("with sex beside age/20y, postcode/NL/pc2")
    'with sex beside age in bands of twenty years, the first two digits of the postcode'
    """
    return _CODE.sub(lambda match: label(match[0]), text)


def _browsing(router: APIRouter, shelf: Shelf) -> None:
    @router.get("/registry")
    def listed(request: Request) -> Response:
        which, group = _which(request, shelf), _group(request)
        text = request.query_params.get("text", "").strip()[:MOST_TEXT]
        with shelf.asked(which) as registry:
            places = map_of(registry, text, group)
        return page(request, "registry/map.html", which=which, own=shelf.has_own, text=text, group=group, groups=GROUPS, **places)

    @router.get("/registry/question")
    def one(request: Request) -> Response:
        which, group = _which(request, shelf), _group(request)
        codes = [c.strip() for c in request.query_params.get("attributes", "")[:MOST_TEXT].split(",") if c.strip()]
        place = request.query_params.get("population", "")[:MOST_TEXT]
        shown: dict[str, Any] = {"which": which, "own": shelf.has_own, "group": group, "groups": GROUPS}
        shown |= {"codes": ",".join(codes), "place": place, "found": None, "problem": None}
        try:
            if codes and place:
                with shelf.asked(which) as registry:
                    shown["found"] = question(registry, codes, place, group)
        except ShoalError as error:
            shown |= {"status": status_of(error), "problem": problem_of(error)}
        return page(request, "registry/question.html", **shown)


def _publishing(router: APIRouter, studio: Studio, shelf: Shelf) -> None:
    def form(request: Request, fields: Fields, **more: Any) -> Response:
        tables = studio.workspace.tables.all()
        chosen = next((t for t in tables if t.id == fields.get("table", "")), None)
        names = [] if chosen is None else columns_of(chosen.id)
        shown: dict[str, Any] = {"leaves": "", "notes": (), "record": None, "problem": None, "proposal": None} | more
        return page(request, "registry/publish.html", tables=tables, chosen=chosen, names=names, fields=fields, **shown)

    def columns_of(table_id: str) -> list[str]:
        return [c.name for c in studio.answers.columns(studio.workspace.tables.get(table_id)).columns]

    @posts(router, "/registry/publish")
    def send(request: Request, fields: Fields) -> Response:
        """Look, and publish only what was looked at."""
        try:
            asked = publishing.asked_of(studio, columns_of(fields.get("table", "")), fields)
            proposal = publishing.proposal_of(studio, shelf, asked)
            text = publishing.leaves(proposal)
            if fields.get("leaves", "").replace("\r\n", "\n") != text:
                return form(request, fields, leaves=text, notes=proposal.notes, proposal=proposal)
            record = publishing.published(shelf, proposal)
        except ShoalError as error:
            return form(request, fields, problem=problem_of(error), status=status_of(error))
        return form(request, fields, leaves=publishing.as_file(record), notes=proposal.notes, record=record)

    @router.get("/registry/publish")
    def ask(request: Request) -> Response:
        return form(request, {"table": request.query_params.get("table", "")})


def _add_exposure(router: APIRouter, shelf: Shelf) -> None:
    """The page computes in the browser from the records that it is sent with; it asks for nothing and sends nothing."""
    lock = threading.Lock()
    made: dict[tuple[str, str], Markup] = {}

    @router.get("/me")
    def me(request: Request) -> Response:
        which = _which(request, shelf)
        with lock, shelf.asked(which) as registry:
            head = (which, registry.source.head()[1])
            if head not in made:
                made.clear()
                made[head] = pages.records_of(places_of(registry.source), share_step=SHARE_STEP)
        return page(request, "registry/me.html", body=pages.body(), records=made[head], which=which, own=shelf.has_own)


def _which(request: Request, shelf: Shelf) -> str:
    return OWN if request.query_params.get("from") == OWN and shelf.has_own else SHIPPED


def _group(request: Request) -> int:
    return _people(request.query_params.get("group", "100"))


def _people(text: str) -> int:
    number = text.replace(",", "")
    if not number.isdecimal() or not 1 <= int(number[:12]) <= 10**9:
        raise UsageError("a group is a number of people.", hint="Write for instance 100.")
    return int(number[:12])


MOST_ROWS = 20
STEPS = (0.001, 0.01, 0.05, 0.2, 0.5)
"""Where the colours of the map change."""
GROUPS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


def map_of(registry: Registry, text: str, group: int) -> dict[str, Any]:
    """Populations by what is known of them: the share of a group that would be one of a kind, in every cell."""
    places = populations(registry.source, text, limit=MOST_ROWS + 1)
    shown = places[:MOST_ROWS]
    heads = sorted({c for one in shown for c in one.codings}, key=lambda c: (len(c), c))
    rows = []
    for one in shown:
        cells = [_cell(registry, codes, one.population, group) if codes in one.codings else None for codes in heads]
        rows.append({"population": one.population, "cells": cells})
    return {"heads": [", ".join(label(code) for code in c) for c in heads], "rows": rows, "more": len(places) > MOST_ROWS}


def _cell(registry: Registry, codes: tuple[str, ...], population: str, group: int) -> dict[str, Any]:
    answer = registry.query(codes, population)
    share = answer.unique_share(group)
    return {
        "codes": ",".join(codes),
        "share": percent(share.value),
        "between": f"between {percent(share.low)} and {percent(share.high)}, grade {share.grade}",
        "heat": sum(share.value >= step for step in STEPS),
        "disputed": answer.dispute is not None,
    }


def question(registry: Registry, codes: list[str], population: str, group: int) -> dict[str, Any]:
    """One question: the sentence, every record with where it comes from, and both sides of a dispute."""
    answer = registry.query(codes, population)
    analysis = analysed(answer, group)
    share = analysis["unique_share"]
    return {
        "answer": answer,
        "said": None if share is None else f"{percent(share['value'])} of {group:,} people ({one_in(share['value'])})",
        "between": None if share is None else f"between {percent(share['low'])} and {percent(share['high'])}",
        "grade": None if share is None else share["grade"],
        "smallest": analysis.get("smallest_group", {}).get("sentence", ""),
        "records": [_record(r, registry, answer) for r in answer.records],
        "dispute": _dispute(answer),
        "doubted": [{"holder": r.holder, "codes": ", ".join(r.codes)} for r in answer.doubted],
        "notes": analysis["notes"],
    }


def _record(record: Record, registry: Registry, answer: Answer) -> dict[str, Any]:
    stated = [s for s in registry.source.statements() if s.subject in (record.key, record.id)]
    kappa = record.summary.statistics["kappa"]
    return {
        **{name: getattr(record, name) for name in ("id", "holder", "date", "version", "method", "source")},
        "fingerprint": fingerprint(record.key),
        "people": f"{record.summary.size:,}",
        "cells": f"{record.summary.cells:,}",
        "kappa": f"{kappa.value:g} ± {kappa.step:g}",
        "noise": record.summary.noise,
        "statistics": [(name, f"{value.value:g} ± {value.step:g}") for name, value in sorted(record.summary.statistics.items())],
        "stated": [{"kind": s.kind, "by": fingerprint(s.key), "date": s.date} for s in stated],
        "best": bool(answer.records) and record.id == answer.best.id,
        "signed": _is_signed(record),
    }


def _is_signed(record: Record) -> bool:
    try:
        record.verify()
    except ShoalError:
        return False
    return True


def _dispute(answer: Answer) -> dict[str, Any] | None:
    """Both sides, beside each other; the cautious one is planned by."""
    if answer.dispute is None:
        return None
    rows = []
    for name, apart in sorted(answer.dispute.spread.items()):
        every = (r.summary.statistics for r in answer.dispute.records)
        values = [f"{numbers[name].value:g}" if name in numbers else "–" for numbers in every]
        rows.append({"name": name, "values": values, "apart": f"{apart[1] - apart[0]:.4g}"})
    return {"holders": [r.holder for r in answer.dispute.records], "rows": rows, "cautious": answer.dispute.cautious.holder}
