"""The walk of a verification without a release: which checks run after which failures, and what the caller is refused."""

from __future__ import annotations

import importlib
from types import SimpleNamespace as Some

import pytest

from shoal.errors import TamperError, UnreadableError, UsageError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import EVENT_FORMAT, EVENT_FORMAT_1, FORMAT, REPORT
from shoal.model.certificate.halves import LINKED_FORMATS
from shoal.release import claim as claims
from shoal.release.claim import NOT_COUNTED, Claim
from shoal.release.events.verify import EventClaim
from shoal.release.linked.verify import LinkedClaim

verification = importlib.import_module("shoal.release.verification")
TableClaim = importlib.import_module("shoal.release.certificate.verify").TableClaim
WALK = [
    "certificate",
    "form",
    "signature",
    "files",
    "plan",
    "re-count",
    "derived",
    "columns",
    "uses",
    "labels",
    "claims",
    "report",
]


@pytest.fixture
def walk(monkeypatch, tmp_path):
    """Verify an empty folder with checks of which some fail."""

    def run(*failing, plan=None, in_database=False, **options):
        def step(name):
            def look(*_):
                if name in failing:
                    raise TamperError(f"{name} fails.")
                return f"{name} holds"

            return name, look

        class Fake:
            def __init__(self, place, table, counted):
                self.place, self.certificate, self.plan, self.in_database = place, Some(files=()), plan, in_database

            steps_before = staticmethod(lambda: [step("form")])
            signature, files, count = (staticmethod(step(name)[1]) for name in ("signature", "files", "re-count"))
            plan_steps = staticmethod(lambda: [step("plan")])
            further_steps = staticmethod(lambda: [step(name) for name in ("derived", "columns", "uses", "labels")])
            sentences, report, opt_outs = (staticmethod(step(name)[1]) for name in ("claims", "report", "objections"))
            summary = staticmethod(lambda: {"more": 1})

        monkeypatch.setattr(verification, "_kind_of", lambda place: Fake)
        monkeypatch.setattr(verification, "check_seed", step("seed")[1])
        monkeypatch.setattr(verification, "private_of", lambda place, private: "salted")
        return verification.verify(tmp_path, **options)

    return run


def outcome(found):
    return {check.name: check.ok for check in found.checks}


def test_every_check_runs_once_in_order_with_its_progress(walk):
    calls = []
    found = walk(progress=lambda share, what: calls.append((share, what)))
    assert [c.name for c in found.checks] == WALK
    assert found.ok
    assert found.certificate is None, "it is the certificate of no table"
    assert [share for share, _ in calls] == [0.0, *(pytest.approx(i / 12) for i in range(1, 12))]
    assert calls[-1][1] == "checking report"
    assert walk().ok


def test_data_of_other_files_are_not_counted_and_nothing_follows_from_them(walk):
    found = walk("files")
    assert [c.name for c in found.checks if not c.ok] == ["files", "re-count", "columns", "uses"]
    assert [c.sentence for c in found.failed[1:]] == [NOT_COUNTED] * 3
    assert "derived" not in outcome(found)


def test_nothing_follows_from_data_that_give_other_numbers(walk):
    found = walk("re-count")
    assert [c.name for c in found.failed] == ["re-count"]
    assert [c.name for c in found.checks] == [name for name in WALK if name != "derived"]
    assert [c.name for c in walk("signature", "plan").failed] == ["signature", "plan"]


def test_a_seed_needs_a_plan_and_opt_outs_a_list(walk):
    more = [set(outcome(walk(**options))) - set(WALK) for options in ({}, {"private": "p"}, {"plan": Some()}, {"exclude": ["7"]})]
    assert more == [set(), set(), set(), {"objections"}]
    assert set(outcome(walk(plan=Some(), private="p", exclude=["7"]))) - set(WALK) == {"seed", "objections"}
    assert [c.name for c in walk("seed", "objections", plan=Some(), private="p", exclude=["7"]).failed] == ["seed", "objections"]


def test_what_a_caller_is_refused(walk, tmp_path, monkeypatch):
    for key in ("", " "):
        with pytest.raises(UsageError, match="empty"):
            walk(key=key)
    assert walk(key="k").ok
    with pytest.raises(UsageError, match="from its folder alone"):
        walk(table=Some())
    assert walk(table=Some(), in_database=True).ok
    assert walk(in_database=True).ok
    with pytest.raises(UnreadableError, match="not a folder"):
        verification.verify(tmp_path / "nowhere")

    def refuse(place, listed):
        raise TamperError("'pipe' is not an ordinary file.")

    monkeypatch.setattr(verification, "check_ordinary", refuse)
    assert outcome(walk()) == {"certificate": True, "files": False}


def test_the_kind_of_a_release_is_what_its_certificate_states(monkeypatch, tmp_path):
    stated = [EVENT_FORMAT, EVENT_FORMAT_1, *LINKED_FORMATS, FORMAT, "unknown"]
    kinds = []
    for word in stated:
        monkeypatch.setattr(verification, "stated_format", lambda path, word=word: word)
        kinds.append(verification._kind_of(tmp_path))
    assert kinds == [EventClaim, EventClaim, *[LinkedClaim] * len(LINKED_FORMATS), TableClaim, TableClaim]


# --- one claim -------------------------------------------------------------------------------------------------------------


class One(Claim):
    """A claim with a given certificate."""

    files = count = sentences = summary = read = page = None
    objections = None

    def __init__(self, certificate=None, place=None):
        self.certificate, self.place = certificate, place


def test_data_in_a_database_are_named_by_the_certificate():
    assert [One(c).in_database for c in (Some(data=Some(table="t")), Some(data=Some(table=None)), Some(data=Some()), Some())] == [
        True, False, False, False,
    ]  # fmt: skip


def test_the_key_is_the_expected_one_in_full(monkeypatch):
    key = Some(public="A" * 43 + "=", fingerprint=sign.fingerprint("A" * 43 + "="), origin="file")
    monkeypatch.setattr(claims, "check_signature", lambda certificate: key)
    assert "compare the fingerprint" in One().signature(None)
    for expected in (key.public, key.fingerprint):
        assert One().signature(expected) == f"the signature fits and the key {key.fingerprint} is the one expected"
    with pytest.raises(TamperError, match="short one"):
        One().signature(sign.fingerprint(key.public, sign.SHORT_DIGITS))
    with pytest.raises(TamperError, match="another key"):
        One().signature(key.fingerprint[:-1])
    key.origin = "made for this release"
    assert "nobody's name is proven" in One().signature(None)


def test_the_report_is_the_page_of_a_known_version(tmp_path):
    one = One(Some(tool=claims.RENDERED[0]), tmp_path)
    one.page = lambda: "page"
    (tmp_path / REPORT).write_text("page")
    assert one.report() == "the report is the page that follows from the certificate"
    (tmp_path / REPORT).write_text("Page")
    with pytest.raises(TamperError, match="not the page"):
        one.report()
    one.certificate.tool = "shoal 0.0.1"
    with pytest.raises(TamperError, match="not checked"):
        one.report()


def test_a_list_of_opt_outs_needs_numbers_of_them(monkeypatch):
    monkeypatch.setattr(claims, "check_list", lambda stated, listed, private: "the list fits")
    one = One()
    with pytest.raises(TamperError, match="without a list"):
        one.opt_outs(["7"], "private")
    one.objections = Some()
    assert one.opt_outs(["7"], "private") == "the list fits"
