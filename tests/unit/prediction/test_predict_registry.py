"""Questions whose answers a registry knows: a mirror, a file, a running service; and what happens where it knows nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nursery

pytest.importorskip("sqlalchemy")

from registry_support import AGES, UTRECHT, make
from servers import tools
from shoal.api.design import questionnaire
from shoal.errors import EngineError, PolicyError, UnreadableError, UsageError
from shoal.kernels.signatures import signer
from shoal.prediction.summaries.published import PublishedSummary, shape_of, shape_with_kappa
from shoal.registry.keep.mirror import write_mirror
from shoal.registry.keep.store import Store
from shoal.registry.records.population import Population

ASKED = """
population: NL/Utrecht@2021
respondents: 200
registry: {registry}
questions:
  age: {{registry: age/years}}
  sex: {{registry: {{code: sex}}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry as a file and as a mirror."""
    place = tmp_path_factory.mktemp("registry")
    store = Store(f"sqlite:///{place / 'reg.db'}")
    key = signer()
    store.submit(make(AGES, cells=95, key=key))
    store.submit(make([33_000, 32_000], codes=("sex",), cells=2, key=key))
    store.submit(make((1e6 * np.arange(1, 301.0) ** -1).astype(int), codes=("place/municipality",), cells=300, key=key))
    store.submit(make([2000] * 50, codes=("height/cm",), population=Population.parse("NL@2021"), cells=50, key=key))
    write_mirror(store, place / "mirror")
    store.close()
    return place


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / f"{name}.yml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("registry", ["reg.db", "mirror"])
def test_answers_come_from_a_file_or_a_mirror_beside_the_questionnaire(folder: Path, registry: str) -> None:
    q = questionnaire(written(folder, registry[:3], ASKED.format(registry=registry)))
    assert q.population == 72_000  # as published, rounded
    assert (q.questions["age"].source, q.questions["sex"].source) == ("kappa", "kappa")
    p = np.array(AGES) / sum(AGES)
    q.questions.pop("sex")
    q.links.clear()
    meter = q.meter()
    assert meter.unique.value == pytest.approx(float((p * (1 - p) ** 199).sum()), abs=0.01)
    assert meter.unique.grade == "C", "nobody said that the key is trusted"
    assert q.notes[0] == "age: the record is signed by a key that you did not say you trust: grade C (name it with --trust)"


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[str]:
    pytest.importorskip("uvicorn")
    port = tools.free_port()
    command = [sys.executable, "-m", "shoal.cli", "serve", "--registry", str(folder / "reg.db"), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/registry/v1/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=120)


def test_a_running_service_gives_the_same_answers(folder: Path, served: str) -> None:
    file = written(folder, "http", ASKED.format(registry="mirror"))
    near, far = questionnaire(file), questionnaire(file, registry=served)
    assert far.population == near.population
    for name in near.questions:
        assert np.array_equal(near.questions[name].p, far.questions[name].p)
    with pytest.raises(UsageError, match="has no record of 'income/1k' in 'NL/Utrecht@2021'"):
        questionnaire(
            written(folder, "h2", "population: NL/Utrecht@2021\nquestions: {a: {registry: income/1k}}"), registry=served
        )


def test_a_service_that_is_not_there_is_told_plainly(folder: Path) -> None:
    file = written(folder, "gone", ASKED.format(registry="mirror"))
    with pytest.raises(EngineError, match="does not answer"):
        questionnaire(file, registry=f"http://127.0.0.1:{tools.free_port()}")


def test_a_file_never_makes_us_call_an_address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("called out")

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", refused)
    with pytest.raises(PolicyError, match="by its folder or file"):
        questionnaire(written(folder, "call", ASKED.format(registry="http://127.0.0.1:1")))


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        (
            "population: NL/Utrecht@2021\nregistry: reg.db\nquestions: {a: {registry: income/1k}}",
            UsageError,
            "no record of 'income/1k'",
        ),
        ("population: NL/Nowhere@2021\nquestions: {a: {registry: income/1k}}", UsageError, "no record of 'income/1k'"),
        ("population: 500\nregistry: reg.db\nquestions: {a: {registry: age/years}}", PolicyError, "about whom"),
        ("population: NL/Utrecht@2021\nregistry: nowhere\nquestions: {a: {registry: sex}}", UnreadableError, "does not exist"),
        ("population: NL/Utrecht@2021\nregistry: reg.db\nquestions: {a: {values: 3}}", PolicyError, "how many people"),
        ("population: NL/Utrecht@2021\nregistry: reg.db\nquestions: {a: {registry: agee}}", UsageError, "not in the vocabulary"),
        (
            "population: Nowhereville\nregistry: reg.db\nquestions: {a: {registry: sex}}",
            UsageError,
            "a place called 'Nowhereville'",
        ),
        ("population: 9\nregistry: reg.db\nquestions: {a: {registry: {cod: sex}}}", PolicyError, "'cod' is not known"),
    ],
)
def test_what_the_registry_cannot_answer_is_said(folder: Path, text: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        questionnaire(written(folder, "bad", text))


def test_a_wider_population_or_a_shape_that_does_not_fit_is_grade_c_and_says_so(folder: Path) -> None:
    text = (
        "population: NL/Utrecht@2021\nregistry: mirror\nquestions: {h: {registry: height/cm}, t: {registry: place/municipality}}"
    )
    q = questionnaire(written(folder, "wide", text), population=50_000)
    assert [x.source for x in q.questions.values()] == ["kappa", "kappa"]
    assert q.meter().unique.grade == "C"
    assert "h: Nothing is known about NL/Utrecht@2021; this is about NL@2021." in q.notes
    assert any(n.startswith("t: the published numbers do not fix the shape") for n in q.notes)


def test_shapes_have_the_published_numbers() -> None:
    for kappa, cells in ((0.0914, 95), (1.2, 300), (0.0, 5), (1e-9, 7), (3.0, 50)):
        p = shape_with_kappa(kappa, cells)
        assert p.sum() == pytest.approx(1.0)
        assert float((p[p > 0] * np.log(cells * p[p > 0])).sum()) == pytest.approx(kappa, abs=1e-8)
    for collision in (0.0123, 0.0127, 0.014):
        p = shape_with_kappa(0.0914, 95, collision=collision)
        assert float((p * p).sum()) == pytest.approx(collision, rel=1e-6)
    assert not shape_of(PublishedSummary(0.1, 20, 1000))[1]


def test_the_command_asks_the_registry(folder: Path) -> None:
    file = written(folder, "command", ASKED.format(registry="mirror"))
    out = nursery.shoal("design", str(file), "--json")
    assert out.returncode == 0, out.stderr
    assert json.loads(out.stdout)["grade"] == "C"  # known one by one, not together
    assert str(UTRECHT) == "NL/Utrecht@2021"


BUILT_IN = """
population: UK/Leeds@2019
respondents: 200
questions:
  age: {registry: age/years}
  sex: {registry: sex}
"""


def test_the_records_that_come_with_shoal_answer_without_a_registry_and_joint_ones_are_used(tmp_path: Path) -> None:
    from shoal.registry.answer.query import Registry

    q = questionnaire(written(tmp_path, "leeds", BUILT_IN))
    truth = Registry().query(["age/years", "sex"], "UK/Leeds@2019").unique_share(200)
    m = q.meter()
    assert m.unique.grade == "B"
    assert abs(m.unique.value - truth.value) < 0.01
    assert truth.low - 0.01 < m.unique.low <= m.unique.value <= m.unique.high < truth.high + 0.01
    assert m.verdict == "beyond"
    assert q.questions["sex"].labels == ("F", "M")
    assert (q.questions["age"].ordered, q.questions["age"].band, q.questions["age"].unit) == (True, 1.0, "year")
    assert q.suggest().reached
    assert q.suggest().text.startswith("ask age in ")
    beside = q.copy()
    beside.add("dog", shares=[0.2, 0.8])
    wide = beside.meter()
    assert wide.unique.grade == "C", "how a dog depends on the rest nobody said"
    assert wide.unique.high >= m.unique.high


@pytest.mark.parametrize("people", ["NL/Utrecht@2021", "NL/Amsterdam@2021"])
@pytest.mark.parametrize("respondents", [30, 400, 3000])
def test_a_joint_record_of_three_attributes_gives_the_registrys_own_answer(tmp_path: Path, people: str, respondents: int) -> None:
    from shoal.registry.answer.query import Registry

    codes = {"age": "age/5y", "place": "postcode/NL/pc4", "sex": "sex"}
    asked = "\n".join(f"  {name}: {{registry: {code}}}" for name, code in codes.items())
    q = questionnaire(written(tmp_path, "three", f"population: {people}\nrespondents: {respondents}\nquestions:\n{asked}\n"))
    truth = Registry().query(list(codes.values()), people).unique_share(respondents)
    m = q.meter()
    assert {b.names for b in q.blocks()} == {("age", "sex"), ("place",)}, "age and sex were counted together"
    assert m.unique.to_json() == truth.to_json()


def test_a_trusted_key_is_grade_b_and_a_place_nobody_knows_is_an_error(folder: Path, tmp_path: Path) -> None:
    store = Store(f"sqlite:///{folder / 'reg.db'}")
    key = store.topic(("sex",), "NL/Utrecht@2021")[0].key
    store.close()
    q = questionnaire(written(folder, "trusted", ASKED.format(registry="reg.db")), trust=[key])
    assert q.questions["age"].source == "registry"
    assert q.notes == ()
    with pytest.raises(UsageError, match="no record of 'age/years'"):
        questionnaire(written(tmp_path, "nowhere", BUILT_IN.replace("UK/Leeds@2019", "DE/Ulm@2019")))


@pytest.mark.parametrize(("code", "band", "first", "last"), [("age/5y", 5, "0-4", "90+"), ("age/20y", 20, "0-19", "80+")])
def test_joint_counts_answer_in_coarser_bands(tmp_path: Path, code: str, band: int, first: str, last: str) -> None:
    from shoal.registry.answer.query import Registry

    q = questionnaire(written(tmp_path, "bands", BUILT_IN.replace("age/years", code)))
    truth = Registry().query([code, "sex"], "UK/Leeds@2019").unique_share(200)
    m = q.meter()
    assert m.unique.grade == "B"
    assert truth.low - 0.02 < m.unique.low <= truth.value <= m.unique.high < truth.high + 0.02
    age = q.questions["age"]
    assert (age.ordered, age.band, age.labels[0], age.labels[-1]) == (True, band, first, last)


def test_an_estimated_population_is_never_more_than_grade_c(tmp_path: Path) -> None:
    file = written(tmp_path, "estimate", BUILT_IN.replace("UK/Leeds@2019", "DE@2020").replace("age/years", "age/5y"))
    for code in ("age/years", "age/5y", "age/10y"):
        q = questionnaire(written(tmp_path, "margin", file.read_text().replace("age/5y", code)))
        assert q.meter().unique.grade == "C"
        assert any("estimate, not a count" in note for note in q.notes)
