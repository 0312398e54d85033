"""Changes of a questionnaire: each gives a text that the library reads, and a suggestion done is what it promised."""

from __future__ import annotations

import pytest

from shoal.errors import PolicyError, UsageError
from shoal.studio.questionnaire.meters import EXAMPLE, about_of, answers_of, spec_of
from shoal.studio.workspace import Workspace, question_edits


def names(text):
    return list(question_edits.document_of(text)["questions"])


def test_what_is_suggested_is_what_is_done():
    text = EXAMPLE
    asked = question_edits.questionnaire_of(text)
    suggested = [asked.suggest(), *asked.single_changes(9)]
    assert suggested[0].reached
    assert len(suggested) > 3
    for one in suggested:
        done = question_edits.questionnaire_of(question_edits.with_changes(text, asked, one.changes)).meter().unique.value
        assert done == pytest.approx(one.after, rel=0.02), one.text
    sizes = [s.after for s in suggested[1:]]
    assert sizes == sorted(sizes)
    assert all(s.before - s.after >= 0.002 for s in suggested)
    met = question_edits.questionnaire_of(question_edits.with_changes(text, asked, suggested[0].changes))
    assert met.single_changes() == []


def test_joined_answers_keep_their_shares_and_their_words():
    text = question_edits.new("t", 1000, 100)
    text = question_edits.with_question(
        text, "a", {"answers": {"x": 0.5, "y": 0.3, "z": 0.15, "w": 0.05}, "text": "Q?"}, new=True
    )
    text = question_edits.with_question(text, "b", {"values": 40, "ordered": True, "band": 1, "keep": True}, new=True)
    asked = question_edits.questionnaire_of(text)
    changes = {c.text: c for s in asked.single_changes(9) for c in s.changes}
    assert changes
    from shoal.prediction.questionnaire.suggest import Change

    joined = question_edits.with_changes(
        text, asked, (Change("a", (0, 1, 2, 2), "", 0.0), Change("b", tuple(i // 5 for i in range(40)), "", 0.0))
    )
    found = question_edits.document_of(joined)["questions"]
    assert found["a"] == {"answers": {"x": 0.5, "y": 0.3, "other": 0.2}, "text": "Q?"}
    assert found["b"] == {"values": 8, "ordered": True, "keep": True, "band": 5}
    uneven = question_edits.with_changes(text, asked, (Change("b", (0,) * 39 + (1,), "", 0.0),))
    told = question_edits.document_of(uneven)["questions"]["b"]
    assert told["shares"] == [0.975, 0.025]
    assert told["source"] == "guess", "shares of answers that were only counted stay a guess"
    assert question_edits.questionnaire_of(uneven).meter().unique.grade == "C"


def test_questions_are_added_moved_and_left_out():
    text = question_edits.new("t", 1000, 100)
    for name in ("a", "b", "c"):
        text = question_edits.with_question(text, name, {"values": 3}, new=True)
    assert names(question_edits.moved(text, "c", 0)) == ["c", "a", "b"]
    assert names(question_edits.moved(text, "a", 99)) == ["b", "c", "a"]
    assert names(question_edits.without_question(text, "b")) == ["a", "c"]
    with pytest.raises(UsageError, match="already"):
        question_edits.with_question(text, "a", {"values": 3}, new=True)
    for call in (question_edits.without_question, lambda t, n: question_edits.moved(t, n, 0)):
        with pytest.raises(UsageError, match="does not exist"):
            call(text, "none")
    tied = question_edits.document_of(text) | {"linked": [{"questions": ["a", "b"], "correlation": 0.5}], "subgroups": ["a", "c"]}
    left = question_edits.document_of(question_edits.without_question(question_edits.brought(tied), "a"))
    assert "linked" not in left
    assert left["subgroups"] == ["c"]
    with pytest.raises(PolicyError):
        question_edits.with_question(text, "d", {"values": 3, "shares": [1]}, new=True)


@pytest.mark.parametrize(
    "more",
    [
        {"questions": {"a": {"table": "people.csv:age"}}},
        {"questions": {"a": {"counts": "../../secret.csv:n"}}},
        {"questions": {"a": {"values": 2}}, "registry": "mirror"},
        {"questions": {"a": {"values": 2}, "b": {"values": 2}}, "linked": [{"questions": ["a", "b"], "joint": "j.csv"}]},
    ],
)
def test_files_beside_a_questionnaire_are_not_read(more):
    with pytest.raises(PolicyError, match="names files beside it"):
        question_edits.brought({"population": 100, **more})


def test_a_guess_is_no_knowledge():
    def meter(**more):
        return question_edits.questionnaire_of(
            question_edits.with_question(
                question_edits.new("t", 1000, 50), "a", {"answers": {"x": 0.99, "y": 0.01}, **more}, new=True
            )
        ).meter()

    known, guessed = meter(), meter(source="guess")
    assert known.unique.value == guessed.unique.value
    assert (known.unique.grade, guessed.unique.grade) == ("A", "C")
    assert guessed.unique.high > known.unique.high, "the range holds for any shares"
    assert guessed.light != "green"


def test_forms_of_the_page():
    assert answers_of("woman 51\n man: 49 %\n") == {"woman": 0.51, "man": 0.49}
    assert answers_of("a b 1\nc 3") == {"a b": 0.25, "c": 0.75}
    for wrong in ("", "a", "a 1", "a 1\na 2", "a 0\nb 0", "a -1\nb 2"):
        with pytest.raises(UsageError):
            answers_of(wrong)
    assert spec_of({"how": "range", "low": "18", "high": "97", "band": "5", "unit": "year"}) == {
        "range": [18, 97],
        "band": 5,
        "unit": "year",
    }
    assert about_of({"population": "17.5M", "respondents": "1,200", "target": "5"}) == {
        "population": 17_500_000,
        "respondents": 1200,
        "target": 0.05,
    }
    assert about_of({"target": "100"}) == {"target": 1.0}
    for wrong in ("0", "100.1", "nan", "", "1e9"):
        with pytest.raises(UsageError):
            about_of({"target": wrong})
    for wrong in ({"how": ""}, {"how": "values", "values": "x"}, {"how": "registry", "code": "sex"}):
        with pytest.raises(UsageError):
            spec_of(wrong)


def test_questionnaires_are_kept_with_their_steps(tmp_path):
    with Workspace(tmp_path) as workspace:
        kept = workspace.questionnaires.add("t", "began", question_edits.new("t", 10, 5))
        workspace.questionnaires.history.add(kept.id, "more", EXAMPLE)
    with Workspace(tmp_path) as workspace:
        found = workspace.questionnaires.get(kept.id)
        assert found.at == 1
        assert workspace.questionnaires.history.now(kept.id).policy == EXAMPLE
        workspace.questionnaires.history.go(kept.id, 0)
        assert names(workspace.questionnaires.history.now(kept.id).policy) == []
        workspace.delete_everything()
        assert workspace.questionnaires.all() == []
        with pytest.raises(UsageError, match="not here any more"):
            workspace.questionnaires.get(kept.id)
