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


@pytest.mark.parametrize("approved", [False, True])
def test_after_its_expiry_the_same_question_is_asked_again(fhir: Fhir, approved: bool) -> None:
    house = fhir.house
    (made,) = house.operator.pseudonymize("ward", ["0012"])
    ask = [("target", "ward"), ("pseudonym", made), ("purpose", "adverse event"), ("case", "12")]
    assert fhir("Rita", "$de-pseudonymize", *ask).status_code == 202
    (old,) = house["Rita"].requests()
    if approved:
        house["Aldo"].approve(old.id)
    house.clock.now += 8 * 86400
    again = fhir("Rita", "$de-pseudonymize", *ask)
    assert again.status_code == 202
    fresh = again.headers["content-location"].removeprefix("Task/")
    assert fresh != old.id
    house["Aldo"].approve(fresh)
    assert parts(fhir("Rita", "$de-pseudonymize", *ask))[0]["original"] == "0012"


def test_an_approval_that_died_does_not_block_the_question(fhir: Fhir) -> None:
    house = fhir.house
    (made,) = house.operator.pseudonymize("ward", ["0012"])
    ask = [("target", "ward"), ("pseudonym", made), ("purpose", "adverse event"), ("case", "12")]
    fhir("Rita", "$de-pseudonymize", *ask)
    house["Aldo"].approve(house["Rita"].requests()[0].id)
    house.owner.revoke_tokens("Aldo")
    again = fhir("Rita", "$de-pseudonymize", *ask)
    assert again.status_code == 202
    house["Ana"].approve(again.headers["content-location"].removeprefix("Task/"))
    assert fhir("Rita", "$de-pseudonymize", *ask).status_code == 200


def test_what_the_interface_can_do_is_open(fhir: Fhir) -> None:
    found = fhir.inner.get(BASE + "metadata").json()
    assert (found["resourceType"], found["fhirVersion"], found["rest"][0]["mode"]) == ("CapabilityStatement", "4.0.1", "server")
    listed = {"$" + operation["name"] for operation in found["rest"][0]["operation"]}
    listed |= {f"Task/{{request_id}}/${operation['name']}" for operation in found["rest"][0]["resource"][0]["operation"]}
    paths = fhir.inner.get("/openapi.json").json()["paths"]
    assert listed == {path.removeprefix(BASE) for path in paths if "$" in path and path.startswith(BASE)}


def test_approvals_are_tasks(fhir: Fhir) -> None:
    house = fhir.house
    (made,) = house.operator.pseudonymize("ward", ["0012"])
    ask = [("target", "ward"), ("pseudonym", made), ("purpose", "adverse event"), ("case", "12")]
    place = fhir("Rita", "$de-pseudonymize", *ask).headers["content-location"]

    def get(who: str, path: str) -> Any:
        return fhir.inner.get(BASE + path, headers={"Authorization": f"Bearer {house.tokens[who]}"})

    task = get("Aldo", place).json()
    told = {i["type"]["text"]: i["valueString"] for i in task["input"]}
    assert (task["status"], told["pseudonym"], told["case"]) == ("requested", made, "12")
    assert "0012" not in json.dumps(task)
    assert [e["resource"]["id"] for e in get("Aldo", "Task").json()["entry"]] == [task["id"]]
    assert get("Olga", place).status_code in (403, 404)
    assert fhir("Rita", place + "/$approve", ("digest", told["digest"])).status_code == 403
    assert fhir("Aldo", place + "/$approve", ("digest", "0" * 64)).status_code == 403
    assert fhir("Aldo", place + "/$approve", ("digest", told["digest"])).json()["status"] == "accepted"
    assert fhir("Rita", "$de-pseudonymize", *ask).status_code == 200
    assert get("Rita", place).json()["status"] == "completed"
    other = fhir("Rita", "$de-pseudonymize", *ask).headers["content-location"]
    assert (
        fhir.inner.post(BASE + other + "/$deny", headers={"Authorization": f"Bearer {house.tokens['Aldo']}"}).json()["status"]
        == "rejected"
    )
    late = fhir("Rita", "$de-pseudonymize", *ask).headers["content-location"]
    house.clock.now += 8 * 86400
    assert get("Rita", late).json()["statusReason"] == {"text": "expired"}


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


ODD = [
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
]


@pytest.mark.parametrize("operation", ["$pseudonymize", "$de-pseudonymize"])
def test_odd_bodies_are_refused_without_values(fhir: Fhir, operation: str) -> None:
    for number, body in enumerate(ODD):
        answer = fhir("Olga" if operation == "$pseudonymize" else "Rita", operation, body=body)
        assert answer.status_code in (400, 422), number
        assert "kanarie" not in answer.text, number
