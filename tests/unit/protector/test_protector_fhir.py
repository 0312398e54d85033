"""FHIR operations in the manner of gPAS: the same roles, four eyes, limits and log; odd bodies are refused without values."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from protector_support import House
from shoal.protector import Limit, care

fastapi = pytest.importorskip("fastapi")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the test client's own change of HTTP library
    from fastapi.testclient import TestClient

from shoal.server.protector.api import create_app  # noqa: E402

BASE = "/vault/v1/fhir/"


def parameters(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"resourceType": "Parameters", "parameter": [{"name": n, "valueString": v} for n, v in pairs]}


def parts(answer: Any) -> list[dict[str, str]]:
    """What each row of an answer says."""
    rows = answer.json()["parameter"]
    return [
        {p["name"]: p["valueIdentifier"]["value"] if "valueIdentifier" in p else p["valueCode"] for p in r["part"]} for r in rows
    ]


class Fhir:
    def __init__(self, inner: Any, house: House) -> None:
        self.inner, self.house = inner, house

    def __call__(self, who: str, operation: str, *pairs: tuple[str, str], body: Any = None, kind: str = "fhir+json") -> Any:
        text = json.dumps(parameters(*pairs) if body is None else body)
        headers = {"Authorization": f"Bearer {self.house.tokens[who]}", "Content-Type": f"application/{kind}"}
        return self.inner.post(BASE + operation, content=text, headers=headers)


@pytest.fixture
def fhir(sqlite_house: House) -> Iterator[Fhir]:
    sqlite_house.owner.create_domain("ward")
    with TestClient(create_app(sqlite_house.vault), base_url="http://127.0.0.1", raise_server_exceptions=False) as inner:
        yield Fhir(inner, sqlite_house)


def test_found_only_after_it_was_made(fhir: Fhir) -> None:
    none = fhir("Olga", "$pseudonymize", ("target", "ward"), ("original", "0012"))
    assert none.status_code == 200
    assert parts(none) == [{"target": "ward", "original": "0012", "error": "not-found"}]
    made = fhir("Olga", "$pseudonymize-allow-create", ("target", "ward"), ("original", "0012"), ("original", "0013"))
    one, other = parts(made)
    assert (made.json()["resourceType"], one["original"], other["original"]) == ("Parameters", "0012", "0013")
    assert one["pseudonym"] == fhir.house.operator.find("ward", "0012") != other["pseudonym"]
    assert parts(fhir("Olga", "$pseudonymize", ("target", "ward"), ("original", "0012"), kind="json")) == [one]


def test_the_way_back_takes_four_eyes_and_is_gone_once_told(fhir: Fhir) -> None:
    house = fhir.house
    (made,) = house.operator.pseudonymize("ward", ["0012"])
    ask = [("target", "ward"), ("pseudonym", made.lower()), ("purpose", "adverse event"), ("case", "12")]
    asked = fhir("Rita", "$de-pseudonymize", *ask)
    assert (asked.status_code, asked.json()["resourceType"]) == (202, "OperationOutcome")
    assert fhir("Rita", "$de-pseudonymize", *ask).status_code == 202
    (request,) = house["Rita"].requests()
    assert request.id in asked.json()["issue"][0]["details"]["text"]
    house["Aldo"].approve(request.id)
    other = [(n, "13" if n == "case" else v) for n, v in ask]
    assert fhir("Rita", "$de-pseudonymize", *other).status_code == 202, "an approval is for its case alone"
    told = fhir("Rita", "$de-pseudonymize", *ask)
    assert parts(told) == [{"target": "ward", "original": "0012", "pseudonym": made}]
    assert fhir("Rita", "$de-pseudonymize", *ask).status_code == 202, "delivered once: asked anew"
    assert [e["action"] for e in care.read_log(house.auditor, last=50)].count("reveal") == 1


def test_somebody_elses_approval_serves_nobody_else(fhir: Fhir) -> None:
    house = fhir.house
    house.tokens["Rolf"] = house.add("Rolf", ["requester", "approver"])
    (made,) = house.operator.pseudonymize("ward", ["0012"])
    ask = [("target", "ward"), ("pseudonym", made), ("purpose", "adverse event"), ("case", "12")]
    fhir("Rita", "$de-pseudonymize", *ask)
    house["Aldo"].approve(house["Rita"].requests()[0].id)
    assert fhir("Rolf", "$de-pseudonymize", *ask).status_code == 202


def test_roles_limits_and_unknown_domains_are_outcomes(fhir: Fhir) -> None:
    call = (("target", "ward"), ("original", "0012"))
    for who in ("Rita", "Aldo"):
        refused = fhir(who, "$pseudonymize-allow-create", *call)
        assert (refused.status_code, refused.json()["issue"][0]["code"]) == (403, "forbidden")
    assert (
        fhir("Olga", "$de-pseudonymize", ("target", "ward"), ("pseudonym", "P-1"), ("purpose", "x"), ("case", "1")).status_code
        == 403
    )
    assert fhir("Olga", "$pseudonymize", ("target", "none"), ("original", "0012")).status_code in (400, 404)
    fhir.house.set_limit("pseudonymize", Limit(3600.0, 1, None))
    assert fhir("Olga", "$pseudonymize-allow-create", *call).status_code == 200
    assert fhir("Olga", "$pseudonymize-allow-create", *call).status_code == 403
    assert fhir.inner.post(BASE + "$pseudonymize", json=parameters(*call)).status_code == 401


GOOD = ("target", "ward"), ("original", "kanarie")


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"resourceType": "Patient", "parameter": []},
        {"resourceType": "Parameters", "parameter": []},
        {"resourceType": "Parameters", "parameter": [{"name": "original", "valueInteger": 12}]},
        {"resourceType": "Parameters", "parameter": [{"name": "original", "valueString": 12}]},
        {**parameters(*GOOD), "id": "kanarie"},
        parameters(("target", "ward")),
        parameters(("original", "kanarie")),
        parameters(*GOOD, ("kanarie", "kanarie")),
        parameters(*GOOD, ("target", "ward")),
        parameters(("target", "ward"), ("original", "")),
        parameters(("target", "ward"), ("original", "x" * 4097)),
        parameters(("target", "ward"), *[("original", "kanarie")] * 10_001),
    ],
)
@pytest.mark.parametrize("operation", ["$pseudonymize", "$de-pseudonymize"])
def test_odd_bodies_are_refused_without_values(fhir: Fhir, operation: str, body: Any) -> None:
    answer = fhir("Olga" if operation == "$pseudonymize" else "Rita", operation, body=body)
    assert answer.status_code in (400, 422)
    assert "kanarie" not in answer.text
