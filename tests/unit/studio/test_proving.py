"""The lines of a release while it is written: done, worked on, waiting; attacks one by one; seconds only of what is done."""

from __future__ import annotations

from typing import Any

from shoal.studio.prove import findings, proven, repeat, signing, so_far, ticks, undecided
from shoal.studio.workspace.database import Job, Kept, Made

TOLD = {
    "records": 1200,
    "suppressed": 34,
    "k": 7,
    "attacks": [{"verdict": v} for v in ("broken", "warning", "holds", "not run")],
}
PAST = {"Recode": 1.5, "Recount": 0.5, "Attacks": 0.1, "homogeneity": 0.2, "leftovers": 0.3}


def job(state: Any, doing: str, **found: Any) -> Job:
    return Job("j", "t", "release", state, {}, 0.5, doing, found, "", "", 0.0, 0.0, 0.0)


def made(**told: Any) -> Made:
    return Made(id="r", table_id="t", name="the release", told=told, made=0.0)


def states(lines: list[dict[str, Any]]) -> list[str]:
    return [line["state"] for line in lines]


def test_attacks_tick_one_by_one() -> None:
    verdicts = {"homogeneity: blood: type": "holds", "leftovers": "broken"}
    lines = ticks(job("running", "attacking: skewness", past=PAST, verdicts=verdicts), None)
    assert states(lines) == ["done", "done", "now", "wait"]
    assert [line["seconds"] for line in lines] == [1.5, 0.5, None, None], "what runs has no seconds yet"
    tried = [(a["name"], a["state"]) for a in lines[2]["tried"]]
    assert tried == [("homogeneity: blood: type", "holds"), ("leftovers", "broken"), ("skewness", "now")]
    between = ticks(job("running", "attacking: leftovers: broken", past=PAST, verdicts=verdicts), None)
    assert states(between) == ["done", "done", "now", "wait"]
    assert [a["state"] for a in between[2]["tried"]] == ["holds", "broken"], "what is done does not run"
    stopped = ticks(job("failed", "attacking: skewness", verdicts=verdicts), None)[2]["tried"]
    assert [a["state"] for a in stopped] == ["holds", "broken", "bad"]


def test_every_piece_of_work_has_its_line() -> None:
    for doing, found in (
        ("", ["now", "wait", "wait", "wait"]),
        ("building the hierarchies", ["now", "wait", "wait", "wait"]),
        ("counting the written file again", ["done", "now", "wait", "wait"]),
        ("attacking", ["done", "done", "now", "wait"]),
        ("certifying", ["done", "done", "done", "now"]),
        ("proving the folder again", ["done", "done", "done", "now"]),
    ):
        assert states(ticks(job("running", doing), None)) == found, doing
    assert states(ticks(job("failed", "attacking: skewness"), None)) == ["done", "done", "bad", "wait"]
    assert states(ticks(None, None)) == ["wait"] * 4
    whole = ticks(job("done", ""), made(past=PAST, **TOLD))
    assert states(whole) == ["done"] * 4
    assert [None if t["seconds"] is None else round(t["seconds"], 6) for t in whole] == [1.5, 0.5, 0.6, None]
    assert [t["words"] for t in whole[:3]] == [
        "1,200 rows written, 34 left out.",
        "Read back from the file, counted by a second way: smallest group 7.",
        "3 tried: 1 holds, 2 to read before you share it.",
    ]
    assert whole[3]["words"] == "Signed, and the whole folder proven again."
    assert proven({**TOLD, "says": "any known record is shared."}).keys() == {"Recode", "Attacks"}, (
        "of events groups are not counted"
    )
    says = {"says": "any known record is shared.", "cost": "Times by the hour. 3 left out."}
    assert proven({**TOLD, **says})["Recode"] == "1,200 rows written. Times by the hour."
    assert proven({**TOLD, **says, "rows": 1500})["Recode"] == "1,500 rows of 1,200 people written, 34 people left out."


def test_how_far_it_is_and_how_long_it_takes_yet_by_the_release_before() -> None:
    assert so_far(None, None) == so_far(job("done", ""), made(past=PAST)) == ""
    assert so_far(job("running", ""), None) == "No proof is in yet. Recode runs now."
    one = job("running", "counting the written file again", past={"Recode": 9.0})
    assert so_far(one, None) == "One of four proofs is in. Recount runs now."
    assert (
        so_far(one, made(past=PAST)) == "One of four proofs is in. Recount runs now; about 1 second to go, by the release before."
    )
    two = job("running", "attacking: skewness", past={"Recode": 9.0, "Recount": 1.0})
    long = made(past={"Recode": 50.0, "skewness": 20.0, "Certificate": 4.0})
    assert so_far(two, long) == "Two of four proofs are in. Attacks run now; about 24 seconds to go, by the release before."
    assert so_far(two, made(past={"Recode": 50.0})) == "Two of four proofs are in. Attacks run now."


def test_the_command_that_repeats_a_release() -> None:
    table = Kept(**{**dict.fromkeys(Kept.__dataclass_fields__, ""), "file": "a b.csv"})  # type: ignore[arg-type]
    assert repeat(table, made(format="csv")) == "shoal anonymize 'a b.csv' --policy policy.yml --out 'the release'"
    drawn = repeat(table, made(format="parquet", seeded=True))
    assert drawn == "shoal anonymize 'a b.csv' --policy policy-with-seed.yml --format parquet --out 'the release'"


def test_findings_are_ranked_and_an_acceptance_holds_for_what_was_read() -> None:
    attacks = [
        {"name": "skewness: blood_type", "verdict": "warning", "sentence": "A. B.", "rate": 0.1},
        {"name": "holding", "verdict": "holds", "sentence": "fine.", "rate": 0.9},
        {"name": "homogeneity: income", "verdict": "warning", "sentence": "C.", "rate": 0.4},
        {"name": "new attack", "verdict": "broken", "sentence": "It breaks. More.", "rate": None},
    ]
    accepted = {"homogeneity: income": {"sentence": "C.", "reason": "r"}, "new attack": {"sentence": "It broke.", "reason": "r"}}
    release = made(attacks=attacks, accepted=accepted)
    found = findings(release)
    assert [f["name"] for f in found] == ["new attack", "homogeneity: income", "skewness: blood_type"]
    assert found[0]["said"] == "It breaks."
    assert "blood type is far more common" in found[2]["said"]
    assert [f["accepted"] is None for f in found] == [True, False, True], "other numbers are decided again"
    assert undecided(release) == 2


def test_the_page_to_sign_says_who_decided_what_in_a_line_for_each_kind() -> None:
    names = ["skewness: income", "skewness: blood_type", "new attack"]
    attacks = [{"name": n, "verdict": "warning", "sentence": "It says. More.", "rate": 0.1} for n in names]
    by = {"sentence": "It says. More.", "reason": "a contract", "by": "anna", "when": 86400.0}
    accepted = dict.fromkeys(names[:2], by) | {names[2]: {**by, "by": "ben"}}
    policy = "roles:\n  quasi: {age: {}}\n  direct: [name]\n  rest: drop\nrequire: {k: 5}\nrecipient: the town\n"
    told = {**TOLD, "attacks": attacks, "accepted": accepted, "policy": policy, "k": 1_200}
    page = signing(made(**told, more="; whoever knows more finds up to 7 %"))
    assert page["claim"] == "everyone hides among at least 1,200; whoever knows more finds up to 7 %."
    assert page["roles"] == [("Generalized", "age"), ("Removed", "name")]
    assert (page["rest"], page["about"]["recipient"]) == ("drop", "the town")
    assert [line.partition(" of ")[2].split(" is ")[0] for line in page["learnt"]] == ["income and blood type", ""]
    assert page["learnt"][1] == "It says."
    by_whom = [(d["by"], d["day"], len(d["names"])) for d in page["decided"]]
    assert by_whom == [("anna", "1970-01-02", 2), ("ben", "1970-01-02", 1)]
