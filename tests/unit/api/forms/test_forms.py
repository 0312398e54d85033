"""Forms of other tools as questionnaires: what counts, what is flagged, and that nothing is understated."""

from __future__ import annotations

import csv
import gzip
import json
import math
import shutil
import tomllib
from importlib import resources
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shoal.api.design import questionnaire, resolver
from shoal.cli import main
from shoal.errors import PolicyError, ShoalError, UnreadableError, UsageError
from shoal.forms import Form, FormQuestion, read_form
from shoal.forms.files import from_mapping, read_questionnaire
from shoal.forms.form import read_condition
from shoal.prediction.questionnaire.meter import parts, unique_share
from shoal.prediction.questionnaire.questionnaire import Questionnaire
from shoal.registry.keep.builtin import countries

OLD = Path(__file__).parent / "form.xls"
SURVEY = (
    ("type", "name", "label", "constraint", "relevant"),
    ("select_one yn", "smokes", "Do you smoke?"),
    ("integer", "age", "How old are you?", ". >= 18 and . <= 97"),
    ("select_multiple pets", "pets", "Which pets?", None, "${smokes} = 1"),
    ("geopoint", "home", "Where do you live?"),
    ("text", "comments", "Anything else?"),
    ("text", "surname", "Your surname"),
    ("deviceid", "device"),
    ("date", "visit_day", "When?"),
    ("note", "hello", "Hello"),
)
CHOICES = (("list_name", "name"), ("yn", 1), ("yn", 0), ("pets", "cat"), ("pets", "dog"), ("pets", "fish"))
CLOSED = {"smokes": 2, "age": 80, "pets": 2**3}
FLAGS = {"home": "place", "comments": "text", "surname": "name", "device": "name", "visit_day": "date"}


def xlsx(path: Path) -> Path:
    return workbook(path, SURVEY, CHOICES)


def workbook(path: Path, survey: tuple, choices: tuple) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    for sheet, rows in ((book.active, survey), (book.create_sheet("choices"), choices)):
        for row in rows:
            sheet.append(row)
    book.worksheets[0].title = "survey"
    book.save(path)
    book.close()
    return path


@pytest.mark.parametrize("old", [False, True], ids=["xlsx", "xls"])
def test_an_xlsform_new_and_old_gives_the_same(tmp_path, old):
    path = Path(shutil.copy(OLD, tmp_path / "form.xls")) if old else xlsx(tmp_path / "form.xlsx")
    form = read_form(path)
    assert {name: spec["values"] for name, spec in form.entries()} == CLOSED
    assert {f.question: f.kind for f in form.flags} == FLAGS
    document = form.document(population=1000)
    assert document["open"] == FLAGS
    assert document["questions"]["age"] == {"values": 80, "ordered": True, "band": 1, "text": "How old are you?"}
    assert document["questions"]["pets"]["when"] == {"smokes": [0]}, "who does not smoke is not asked"
    assert document["questions"]["smokes"]["role"] == "sensitive"
    q = from_mapping(document)
    assert {n: x.answers for n, x in q.questions.items()} == CLOSED
    assert set(q.skipped) == set(FLAGS)
    asked = read_questionnaire(path, population=1000, respondents=100)
    assert {n: x.answers for n, x in asked.questions.items()} == CLOSED
    assert asked.meter().unique.value == from_mapping({**document, "respondents": 100}).meter().unique.value


HEAD = (
    "Variable / Field Name,Form Name,Section Header,Field Type,Field Label,"
    '"Choices, Calculations, OR Slider Labels",Field Note,Text Validation Type OR Show Slider Number,'
    "Text Validation Min,Text Validation Max,Identifier?,Branching Logic (Show field only if...)\n"
)


def test_a_dictionary_of_redcap(tmp_path, capsys):
    rows = """record_id,f,,text,Record,,,,,,,
sex,f,,radio,<b>Sex</b>,"1, Woman | 2, Man | 3, Another",,,,,,
age,f,,text,Age,,,integer,18,97,,
height,f,,text,Height,,,number,100,220,,
langs,f,,checkbox,Languages,"1, nl | 2, en | 3, fr | 4, de",,,,,,
smokes,f,,yesno,Smokes,,,,,,,[sex] = '1'
pain,f,,slider,Pain,no | worst,,,,,,
ward,f,,dropdown,Ward,"1, A | 2, B",,,,,y,
story,f,,notes,Tell us,,,,,,,
born,f,,text,Date of birth,,,date_dmy,,,,
scan,f,,file,Upload,,,,,,,
sum,f,,calc,Sum,[a]+[b],,,,,,
intro,f,,descriptive,Hello,,,,,,,
"""
    path = tmp_path / "dictionary.csv"
    path.write_text("\ufeff" + HEAD + rows, encoding="utf-8")
    form = read_form(path)
    assert {n: s["values"] for n, s in form.entries()} == {
        "sex": 3, "age": 80, "langs": 16, "smokes": 2, "pain": 101, "ward": 2,
    }  # fmt: skip
    assert dict(form.entries())["smokes"]["when"] == ("sex", (0,))
    assert form.questions[1].text == "Sex"
    flags = {f.question: f.kind for f in form.flags}
    assert flags == {
        "record_id": "name",
        "height": "amount",
        "story": "text",
        "born": "date",
        "scan": "file",
    }
    with pytest.raises(SystemExit) as stop:
        main(["design", str(path), "--population", "5000", "--respondents", "200", "--json"])
    assert stop.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["value"] == questionnaire(path, population=5000, respondents=200).meter().unique.value
    assert set(told["skipped"]) == set(flags)
    with pytest.raises(UsageError, match="how many people"):
        read_questionnaire(path)
    path.write_text("field_name,field_type\nsex,yesno\n", encoding="utf-8")
    assert [n for n, _ in read_form(path).entries()] == ["sex"], "heads as programs get them"
    path.write_text("age,sex\n1,2\n", encoding="utf-8")
    with pytest.raises(PolicyError, match="REDCap data dictionary"):
        read_form(path)


def lss(questions: str, more: str = "") -> bytes:
    return f"""<?xml version="1.0" encoding="UTF-8"?><document><LimeSurveyDocType>Survey</LimeSurveyDocType>
<questions><rows>{questions}</rows></questions>{more}</document>""".encode()


def row(**cells: object) -> str:
    return "<row>" + "".join(f"<{k}>{v}</{k}>" for k, v in cells.items()) + "</row>"


def test_an_age_counts_a_ticked_consent_does_not_and_marked_questions_are_called_so(tmp_path):
    """As in projects of REDCap: an age in a plain text field, consent as a box, a date of birth marked as an identifier."""
    head = 'Variable / Field Name,Form Name,Field Type,Field Label,"Choices, Calculations, OR Slider Labels",Identifier?'
    date = "Text Validation Type OR Show Slider Number"
    lines = [
        f"{head},{date}",
        "age,f,text,Age (years),,,",
        'consent,f,checkbox,"By checking this box I give my consent freely to take part.","1, I consent",,',
        'pets,f,checkbox,Which pets?,"1, Cat",,',
        "dob,f,text,Date of birth,,y,date_ymd",
        "email,f,text,E-mail,,y,email",
        "remark,f,text,Anything else?,,,",
    ]
    path = tmp_path / "dictionary.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    form = read_form(path)
    asked = {name: spec["values"] for name, spec in form.entries()}
    assert asked == {"age": 121, "pets": 2}
    assert form.ignored == {"consent": "about taking part"}
    says = {flag.question: flag.says for flag in form.flags}
    assert says["dob"] == "the form marks it as an identifier."
    assert says["email"] == "it asks for e-mail address."
    assert set(says) == {"dob", "email", "remark"}


def test_a_survey_of_limesurvey(tmp_path):
    asked = [
        row(qid=1, parent_qid=0, type="L", title="edu", other="Y", relevance="1"),
        row(qid=2, parent_qid=0, type="M", title="has", other="N", relevance="edu == 1"),
        row(qid=3, parent_qid=0, type="N", title="age", relevance="1"),
        row(qid=4, parent_qid=0, type="F", title="trust", relevance="1"),
        row(qid=5, parent_qid=0, type="S", title="where", relevance="1"),
        row(qid=6, parent_qid=0, type="T", title="why", relevance="1"),
        row(qid=7, parent_qid=0, type="R", title="order", relevance="1"),
        row(qid=8, parent_qid=0, type="Y", title="yes", relevance=""),
        row(qid=9, parent_qid=0, type="X", title="hello"),
        row(qid=10, parent_qid=0, type="N", title="weight"),
    ]
    parts = [row(qid=20 + i, parent_qid=2, title=f"SQ{i}") for i in range(3)]
    parts += [row(qid=30 + i, parent_qid=4, title=f"SQ{i}") for i in range(2)]
    answers = [row(qid=q, code=f"A{i}", scale_id=0) for q, n in ((1, 4), (4, 5), (7, 3)) for i in range(n)]
    attributes = [
        row(qid=3, attribute="min_num_value_n", value=16),
        row(qid=3, attribute="max_num_value_n", value=99),
        row(qid=3, attribute="num_value_int_only", value=1),
        row(qid=5, attribute="location_mapservice", value=1),
        row(qid=10, attribute="min_num_value_n", value=40),
        row(qid=10, attribute="max_num_value_n", value=120),
    ]
    texts = [row(qid=1, question="&lt;p&gt;What did you learn?&lt;/p&gt;")]
    more = "".join(
        f"<{name}><rows>{''.join(found)}</rows></{name}>"
        for name, found in (
            ("subquestions", parts),
            ("answers", answers),
            ("question_attributes", attributes),
            ("question_l10ns", texts),
        )
    )
    path = tmp_path / "s.lss"
    path.write_bytes(lss("".join(asked), more))
    form = read_form(path)
    wanted = {"edu": 5, "has": 9, "age": 84, "trust SQ0": 5, "trust SQ1": 5, "order": 6, "yes": 2}
    assert {n: s["values"] for n, s in form.entries()} == wanted
    assert form.questions[0].text == "What did you learn?"
    assert {f.question: f.kind for f in form.flags} == {
        "edu other": "text", "where": "place", "why": "text", "weight": "amount",
    }  # fmt: skip


@pytest.mark.parametrize(
    "raw",
    [b"", b"not xml", b"<document/>", b'<!DOCTYPE d [<!ENTITY a "aa">]><document>&a;</document>', b"\xff\xfe<\x00d\x00"],
    ids=["empty", "text", "other xml", "entities", "utf-16"],
)
def test_what_is_no_survey_is_refused(tmp_path, raw):
    path = tmp_path / "s.lss"
    path.write_bytes(raw)
    with pytest.raises(ShoalError):
        read_form(path)


def test_other_endings_and_broken_workbooks_are_refused(tmp_path):
    for name, raw in (("a.xls", b"\xd0\xcf\x11\xe0 broken"), ("a.xlsx", b"PK broken"), ("a.doc", b"x")):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(UnreadableError):
            read_form(tmp_path / name)
    with pytest.raises(UnreadableError):
        read_form(tmp_path / "none.lss")


def test_many_choices_and_orders_are_counted_at_their_limits():
    assert FormQuestion("pets", "several", 17).cells == [2**16, 2]
    assert FormQuestion("pets", "several", 16).cells == [2**16]
    assert FormQuestion("pets", "several", 5, alone=True).cells == [2**4 + 1], "none of these excludes the others"
    assert FormQuestion("rank", "ranked", 9).cells == [362_880]
    assert FormQuestion("rank", "ranked", 10).cells == []
    unclear = Form((FormQuestion("age", "number", 80, conditions=(None,)),), "XLSForm")
    assert [spec["values"] for _, spec in unclear.entries()] == [81], "a condition that is not understood: one answer more"
    assert FormQuestion("phone", "number", 80).flag.kind == "name"
    assert FormQuestion("hh_number_floors", "number", 8).flag is None
    assert FormQuestion("name of your ward", "closed", 4).flag is None


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("q1", "What is your name?", "name"),
        ("q2", "Telefoonnummer", "name"),
        ("q3", "Adresse e-mail", "name"),
        ("q4", "Имя", "name"),
        ("q5", "電話番号", "name"),
        ("q6", "رقم الهاتف", "name"),
        ("anschrift", "", "place"),
        ("q8", "Direccion", "place"),
        ("q9", "What would you change?", "text"),
    ],
)
def test_names_telephone_numbers_and_addresses_are_flagged_in_many_languages(name, text, kind):
    assert FormQuestion(name, "text", text=text).flag.kind == kind


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Informed_consent", ""),
        ("q0", "Do you agree to participate in this survey?"),
        ("q0", "Are you willing to take part?"),
        ("toestemming", ""),
        ("q0", "Acceptez-vous de participer à cette enquête ?"),
        ("einwilligung_ok", ""),
        ("q0", "知情同意"),
    ],
)
def test_consent_is_not_a_question_about_the_person(name, text):
    form = Form((FormQuestion(name, "closed", 2, text=text), FormQuestion("sex", "closed", 2)), "XLSForm")
    assert form.ignored == {name: "about taking part"}
    assert [n for n, _ in form.entries()] == ["sex"]
    assert not FormQuestion(name, "closed", 12, text=text).about_taking_part, "so many answers are about something else"


WORK = (
    ("type", "name", "label", "relevant", "choice_filter", "constraint"),
    ("select_one yn", "consent", "Do you agree to take part?"),
    ("select_one yn", "works", "Do you have a job?", "${consent} = 'y'"),
    ("select_one job", "occupation", "Occupation", "${works} = 'y'"),
    ("select_one why", "why_not", "Why not?", "${works} = 'n'"),
    ("select_one country", "country", "Country"),
    ("select_one town", "town", "Town", None, "country=${country}"),
    ("select_multiple job or_other", "wishes", "Jobs that you would like"),
    ("calculate", "score", "Score"),
)
LISTS = (
    ("list_name", "name", "label", "country"),
    *((("yn", v, v)) for v in "yn"),
    *(("job", f"j{i}", f"job {i}") for i in range(6)),
    *(("why", f"w{i}", f"reason {i}") for i in range(4)),
    *(("country", c, c) for c in "ab"),
    *(("town", f"{c}{i}", f"town {c}{i}", c) for c in "ab" for i in range(3 if c == "a" else 5)),
)


def test_skip_logic_and_choices_that_depend_on_others_divide_as_people_answer(tmp_path):
    q = read_questionnaire(workbook(tmp_path / "work.xlsx", WORK, LISTS), population=10_000, respondents=300)
    assert q.ignored == {"consent": "about taking part"}
    assert [f.question for f in q.flags] == ["wishes_other"]
    assert q.questions["works"].when is None, "everybody who answers agreed to"
    for name in q.questions:
        q.mark(name, "quasi")
    names = ["works", "occupation", "why_not", "country", "town"]
    pieces = parts(q.blocks(names), names)
    assert sum(d.entropy for d, _ in pieces) == pytest.approx(
        math.log(2) + 0.5 * (math.log(6) + math.log(4)) + math.log(2) + 0.5 * (math.log(3) + math.log(5))
    )
    assert [d.cells for d, _ in pieces] == [6 + 4, 3 + 5]
    assert parts(q.blocks(["occupation", "why_not"]), ["occupation", "why_not"])[0][0].cells == 10, "without the gate as well"
    assert q.questions["wishes"].answers == 2**7


@pytest.mark.parametrize("seed", range(6))
def test_branches_equal_the_people_listed_one_by_one(seed):
    """A gate, two questions behind it, one behind one of those, shares at random: the meter against every combination."""
    rng = np.random.default_rng(seed)
    share = {name: rng.dirichlet(np.ones(n)) for name, n in (("g", 3), ("a", 4), ("b", 2), ("c", 3), ("free", 2))}
    q = Questionnaire(population=1000, respondents=40, independence_known=True)
    q.add("g", shares=share["g"]).add("a", shares=share["a"], when=("g", (0, 2))).add("b", shares=share["b"], when=("g", (1,)))
    q.add("c", shares=share["c"], when=("a", (1, 3))).add("free", shares=share["free"])
    listed: dict[tuple, float] = {}
    for g, a, b, c, f in product(range(3), range(4), range(2), range(3), range(2)):
        p = share["g"][g] * share["a"][a] * share["b"][b] * share["c"][c] * share["free"][f]
        asked_a, asked_b = g in (0, 2), g == 1
        full = (g, a if asked_a else None, b if asked_b else None, c if asked_a and a in (1, 3) else None, f)
        listed[full] = listed.get(full, 0.0) + p
    for names in (["g", "a", "b", "c", "free"], ["a", "b", "c"], ["b", "free"], ["a"], ["g", "c"], ["c"]):
        places = ["gabcf".index(n[0]) for n in names]
        margin: dict[tuple, float] = {}
        for cell, p in listed.items():
            key = tuple(cell[i] for i in places)
            margin[key] = margin.get(key, 0.0) + p
        law = np.array(list(margin.values()))
        got, truth = unique_share(parts(q.blocks(names), names), 40)[0], float((law * (1 - law) ** 39).sum())
        if "c" in names and "a" not in names:
            assert got >= truth - 1e-12, "behind gates that do not count: never fewer"
        else:
            assert got == pytest.approx(truth, rel=1e-9), names
    assert q.meter().unique.value == pytest.approx(unique_share(parts(q.blocks(), list(q.questions)), 40)[0])


def test_a_condition_on_several_choices_and_conditions_joined():
    pets = FormQuestion("pets", "several", 3, codes=("cat", "dog", "fish"))
    food = FormQuestion("food", "closed", 5, conditions=(read_condition("selected(${pets}, 'dog')", "XLSForm"),))
    both = FormQuestion("x", "closed", 2, conditions=(read_condition("${food} = '1' or ${pets} = 'cat'", "XLSForm"),))
    entries = dict(Form((pets, food, both), "XLSForm").entries())
    assert entries["food"]["when"] == ("pets", (2, 3, 6, 7))
    assert entries["x"]["values"] == 3, "one of two conditions on two questions is not understood: one answer more"


@pytest.mark.parametrize(
    ("text", "tool", "found"),
    [
        ("[sex] = '1' and [age] > 17", "REDCap", [("sex", "=", "1"), ("age", ">", "17")]),
        ("[pets(2)] = '1'", "REDCap", [("pets", "has", "2")]),
        ("[pets(2)] = '0'", "REDCap", None),
        ("[event_1_arm_1][sex] = '1'", "REDCap", None),
        ('((edu.NAOK == "A1"))', "LimeSurvey", [("edu", "=", "A1")]),
        ("not(${a} = 1)", "XLSForm", None),
        ("${a} = 1 and (${b} = 2 or ${c} = 3)", "XLSForm", None),
        ("count-selected(${a}) > 2", "XLSForm", None),
        ("once(random()) < 0.5", "XLSForm", None),
    ],
)
def test_conditions_are_understood_or_not_used(text, tool, found):
    got = read_condition(text, tool)
    assert (None if got is None else [(c.question, c.sign, c.value) for c in got.comparisons]) == found


def test_the_sentence_says_what_is_known_and_how_many_must_answer(tmp_path, capsys):
    path = workbook(tmp_path / "work.xlsx", WORK, LISTS)
    with pytest.raises(SystemExit) as stop:
        main(["design", str(path), "--population", "5000", "--respondents", "100", "--require"])
    said = " ".join(capsys.readouterr().out.split())
    assert stop.value.code == 1, "not known is not met"
    assert said.startswith("Not known whether the target of 5.0 % is met: ")
    assert "What would tell: a pilot of about 50 people" in said
    assert "between 0 % and 100 %" not in said
    assert "Not counted, about taking part: consent" in said
    assert "Cheapest change" in said
    assert read_questionnaire(path, population=5000).enough() == (None, None), "even all of them are not enough"
    q = read_questionnaire(path, population=10**7, respondents=100)
    expected, certain = q.enough()
    pieces = parts(q.blocks(q.counted), list(q.counted))
    assert unique_share(pieces, expected)[0] <= 0.05 < unique_share(pieces, int(expected * 0.99) - 1)[0]
    assert certain is None or certain >= expected
    with pytest.raises(SystemExit):
        main(["design", str(path), "--population", "5000", "--respondents", "100", "--sensitive", "wishes,occupation", "--json"])
    got = json.loads(capsys.readouterr().out)
    assert {"wishes", "occupation"} <= set(got["roles"]["other"])
    assert got["verdict"] in ("within", "not known", "beyond")


def test_the_three_verdicts():
    def verdict(respondents, target):
        q = Questionnaire(population=10**6, respondents=respondents, target=target).add("a", shares=[0.5, 0.3, 0.2])
        return q.add("b", shares=[0.6, 0.4]).meter()

    assert verdict(1000, 0.05).verdict == "within"
    assert verdict(2, 0.05).verdict == "beyond"
    assert verdict(12, 0.05).verdict == "not known"
    assert "What would tell" in verdict(12, 0.05).sentence
    asked = {"population": 10**6, "respondents": 1000, "questions": {"a": {"shares": [0.5, 0.5]}}}
    assert from_mapping({**asked, "open": {"surname": "name"}}).meter().verdict == "within", "kept apart from the answers"
    opened = from_mapping({**asked, "open": {"born": "date"}}).meter()
    assert opened.verdict == "not known", "others may know the day"
    assert "the answers of born are open" in opened.sentence


def test_plain_yaml_has_roles_and_skip_logic():
    asked = {
        "works": {"answers": {"yes": 0.6, "no": 0.4}},
        "job": {"values": 10, "when": {"works": [True]}},
        "mood": {"values": 5, "role": "sensitive"},
    }
    q = from_mapping({"population": 1000, "questions": asked})
    assert q.questions["job"].when == ("works", (0,))
    assert list(q.counted) == ["works", "job"]
    for bad in ({"works": ["perhaps"]}, {"later": [0]}, ["works"], {"works": [7]}):
        with pytest.raises(ShoalError):
            from_mapping({"population": 1000, "questions": {**asked, "x": {"values": 2, "when": bad}}})
    with pytest.raises(ShoalError):
        from_mapping({"population": 1000, "questions": {"x": {"values": 2, "role": "direct"}}})


TWO = (("list_name", "name", "label"), ("sex", "f", "Female"), ("sex", "m", "Male"), ("yn", "yes", "Yes"), ("yn", "no", "No"))
HEADS = ("type", "name", "label", "relevant", "calculation", "constraint")
MORE_CHOICES = (*TWO, *(("team", f"t{i}", f"Team {i}") for i in range(12)))


def asked_in(place, survey, tmp_path, choices=MORE_CHOICES, respondents=100):
    from shoal.api.design import questionnaire

    return questionnaire(workbook(tmp_path / "form.xlsx", (HEADS, *survey), choices), population=place, respondents=respondents)


AGE_AND_SEX = (("integer", "age", "How old are you?"), ("select_one sex", "sex", "Your sex"))


def test_who_asks_and_when_is_not_an_answer_of_the_person(tmp_path):
    survey = (
        ("start", "started"), ("end", "ended"), ("today", "day"), ("text", "enumerator_name", "Enumerator"),
        ("select_one team", "interviewer", "Who interviews?"), ("date", "d1", "Date of interview"),
        ("select_one yn", "eligible", "Is the respondent eligible?"), ("select_one yn", "smokes", "Do you smoke?"),
    )  # fmt: skip
    q = asked_in(1000, survey, tmp_path)
    assert list(q.questions) == ["smokes"]
    assert not q.flags, "none of it is an open answer"
    assert {n for n, why in q.ignored.items() if why == "about the interview"} == {
        "started", "ended", "day", "enumerator_name", "interviewer", "d1",
    }  # fmt: skip
    assert q.ignored["eligible"] == "about taking part"


def test_the_counts_of_a_place_give_a_proven_lower_end_for_any_form(tmp_path):
    """Age and sex are counted together in Leeds: more questions only make people more unique."""
    from shoal.registry import Registry

    survey = (*AGE_AND_SEX, ("select_one yn", "smokes", "Do you smoke?", "${sex} = 'f'"), ("select_one yn", "pets", "Pets?"))
    q = asked_in("Leeds", survey, tmp_path)
    alone = Registry().query(["age/years", "sex"], "UK/Leeds@2019").unique_share(100)
    m = q.meter()
    assert q.population == 793_139
    assert m.unique.low == alone.low > m.target
    assert m.verdict == "beyond"
    assert m.sentence.startswith("Beyond the target of 5.0 %")
    assert q.questions["sex"].p == pytest.approx([0.5088, 0.4912], abs=0.002), "in the order of the form"
    assert asked_in(793_139, survey, tmp_path).meter().verdict == "not known"


@pytest.mark.parametrize(
    "row",
    [
        ("integer", "age", "How old are you?", "", "", ". >= 18 and . <= 99"),
        ("integer", "age_of_child", "Age of the child"),
        ("integer", "age", "How old are you?", "${sex} = 'f'"),
    ],
    ids=["adults only", "somebody else", "some are asked"],
)
def test_an_age_of_only_some_people_proves_nothing(tmp_path, row):
    q = asked_in("Leeds", (AGE_AND_SEX[1], row), tmp_path)
    assert set(q.published) == {frozenset(["sex"])}
    assert q.meter().unique.low < 0.01


def test_ages_of_adults_are_likely_as_in_the_place(tmp_path):
    q = asked_in("Leeds", (("integer", "age", "How old are you?", "", "", ". >= 18 and . <= 99"),), tmp_path)
    p = q.questions["age"].p
    assert (len(p), q.questions["age"].source) == (82, "guess")
    assert p[:10].sum() > 5 * p[-10:].sum(), "hardly anybody is 90 or older"
    assert p.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("condition", "formula", "asked"),
    [
        ("${adult} = 'yes'", "if(${age} >= 18, 'yes', 'no')", [18, 120]),
        ("${adult} = 1", "if(${age} >= 18 and ${age} < 65, 1, 0)", [18, 64]),
        ("${adult} >= 18", "${age}", [18, 120]),
        ("${adult} = 'no'", "if(${age} >= 18, 'yes', 'no')", None),
        ("${adult} = 'yes'", "round(${age} div 2, 0)", None),
    ],
)
def test_conditions_on_calculated_fields(tmp_path, condition, formula, asked):
    survey = (AGE_AND_SEX[0], ("calculate", "adult", "", "", formula), ("select_one yn", "votes", "Do you vote?", condition))
    q = asked_in(100_000, survey, tmp_path).questions["votes"]
    assert (q.when, q.answers) == ((("age", tuple(range(asked[0], asked[1] + 1))), 2) if asked else (None, 3))


def test_a_calculated_field_of_redcap_is_followed(tmp_path):
    rows = 'age,f,,text,Age,,,integer,0,120,,\nadult,f,,calc,,"if([age]>=18,1,0)",,,,,,\n'
    rows += "votes,f,,yesno,Vote?,,,,,,,[adult] = '1'\n"
    file = tmp_path / "d.csv"
    file.write_text(HEAD + rows, encoding="utf-8")
    q = read_form(file).questionnaire(population=1000)
    assert q.questions["votes"].when == ("age", tuple(range(18, 121)))


def test_a_sentence_names_what_matters_and_the_pilot_that_would_tell(tmp_path):
    """A pilot of that size, of people who answer as is guessed, decides."""
    from shoal.api.table_predictions import from_pilot

    survey = (*AGE_AND_SEX, *(("select_one team", f"q{i}", "Which?") for i in range(3)))
    q = asked_in(100_000, survey, tmp_path, respondents=500)
    m = q.meter()
    assert "age, q0, q1 divide people most: by them alone, " in m.sentence
    assert "the place, whose counts may give sex and age (--population Utrecht)" in m.would_tell
    size = int(m.would_tell.partition("a pilot of about ")[2].partition(" ")[0].replace(",", ""))
    rng = np.random.default_rng(5)
    pilot = {name: rng.integers(0, x.answers, size).tolist() for name, x in q.questions.items()}
    assert from_pilot(pilot, list(pilot), target=0.05, population=100_000, respondents=500).meter().verdict == "beyond"


LONG = (
    ("type", "name", "label", "constraint"),
    ("integer", "age", "How old are you?"),
    ("select_one sex", "sex", "Your sex"),
    *(("select_one ten", f"job{i}", "Which of these do you own?") for i in range(5)),
)
LONG_CHOICES = (
    ("list_name", "name", "label"),
    ("sex", "f", "Female"),
    ("sex", "m", "Male"),
    *(("ten", i, f"T{i}") for i in range(10)),
)


def test_a_form_without_a_place_has_the_shares_of_the_world_and_says_what_to_expect(tmp_path):
    """Nothing is proven of people of whom nothing is known; but what real tables with as many answers show is said."""
    form = workbook(tmp_path / "form.xlsx", LONG, LONG_CHOICES)
    q = questionnaire(form, respondents=500)
    assert q.population > 7e9
    assert not q.published, "a country's counts prove nothing of other people"
    assert q.questions["sex"].p == pytest.approx([0.5, 0.5], abs=0.02)
    age = q.questions["age"].p
    assert (age.size, q.questions["age"].source) == (121, "guess")
    assert age[:40].sum() == pytest.approx(0.64, abs=0.03)
    m = q.meter()
    assert (m.verdict, m.likely, m.unique.low) == ("not known", "beyond", 0.0)
    assert m.sentence.startswith("Not proven, but expect to miss the target of 5.0 %: ")
    assert "none with 1,000 combinations of answers per respondent had under 8.0 %" in m.sentence
    assert q.notes[0].startswith("sex, age: shares of the world's people, a guess; by them alone ")
    assert questionnaire(form, respondents=500, population=2000).population == 2000
    with pytest.raises(UsageError, match="how many people answer"):
        questionnaire(form)


@pytest.mark.parametrize("k", [20, 100, 1000])
def test_what_is_said_of_any_country_holds_in_every_one(k):
    """Each country counted by itself: by five years of age and sex at least, by years of age at most as many are unique."""
    share = resolver("")("age/years,sex", "world").share(k, None)
    for record in countries():
        people = record.counts.cells(("age/5y", "sex")).people
        p = people[people > 0] / people.sum()
        assert share.low <= float((p * (1 - p) ** (k - 1)).sum()) <= share.high
    assert share.grade == "C"
    assert (k == 1000) == (share.low == 0)
    assert share.low < share.value < share.high


@pytest.mark.parametrize(("fives", "people", "seen"), [(5, 100, (1000, 0.08)), (5, 101, (0, 0.0)), (12, 1000, (10**9, 0.50))])
def test_combinations_per_respondent_are_compared_with_real_tables_at_the_limit(fives, people, seen):
    q = Questionnaire(population=10**6, respondents=people)
    for i in range(fives):
        q.add(f"q{i}", values=10 if i else 5000)  # a long list counts as ten answers
    m = q.meter()
    assert m.seen == seen
    assert bool(m.likely) == (seen[1] > 0.05)


def test_an_expectation_is_said_only_where_nothing_is_proven():
    q = Questionnaire(population=10**6, respondents=20, target=0.05)
    for i in range(6):
        q.add(f"q{i}", shares=[0.1] * 10)
    assert (q.meter().verdict, q.meter().likely) == ("beyond", "")
    few = Questionnaire(population=10**6, respondents=1000, target=0.5).add("a", values=10).add("b", values=10)
    assert (few.meter().verdict, few.meter().likely) == ("within", "")


@pytest.mark.parametrize(
    ("question", "shares"),
    [
        (FormQuestion("gender", "closed", 3, labels=("Female", "Male", "Other")), [0.495, 0.495, 0.01]),
        (FormQuestion("age", "closed", 4, labels=("Under 20", "20-59", "60+", "Unknown")), [0.33, 0.53, 0.13, 0.01]),
        (FormQuestion("age", "number", 3, codes=("30", "31", "120")), [0.5, 0.5, 0.0]),
        (FormQuestion("age", "closed", 2, text="Age of your child", labels=("0-4", "5-9")), None),
        (FormQuestion("colour", "closed", 2, labels=("Female", "Male")), None),
        (FormQuestion("age", "closed", 2, labels=("Young", "Old")), None),
    ],
)
def test_usual_questions_have_the_shares_of_the_world(question, shares):
    ask = resolver("")
    found = question.usual_shares({**ask("sex", "world").shares, **ask("age/years", "world").shares})
    assert (found and found[0]) == (None if shares is None else pytest.approx(shares, abs=0.02))
    assert (found and found[1]) == (None if shares is None else "")


@pytest.mark.parametrize(
    ("name", "answers", "country", "shares", "whose"),
    [
        ("marital_status", "Never married, Married, Divorced or widowed", "UK", (0.3568, 0.4870, 0.1567), "England"),
        ("Familienstand", "ledig, verheiratet, geschieden, verwitwet", "DE", (0.3032, 0.5033, 0.1133, 0.0802), "England"),
        ("religion", "Muslim, Christian, None, Other", "KE", (0.1102, 0.8637, 0.0162, 0.0101), "Kenya"),
        ("employment", "Employed full-time, Self-employed, Unemployed, Retired", "UK", (0.579, 0.120, 0.045, 0.255), "England"),
        ("employed", "yes, no", "US", (0.6231, 0.3769), "United States"),
        ("education", "Less than high school, High school, Some college, Bachelor's, Master's, PhD", "US",
         (0.158, 0.263, 0.268, 0.195, 0.100, 0.016), "United States"),
        ("home_ownership", "Own, Rent", "KE", (0.613, 0.387), "Kenya"),
        ("How many people live in your household?", "1, 2, 3, 4, 5 or more", "US", (0.242, 0.267, 0.176, 0.185, 0.130), "United"),
        ("Were you born in the UK?", "Yes, No", "UK", (0.863, 0.137), "England"),
        ("marital_status_of_head", "Single, Married, Widowed", "UK", None, None),
        ("marital_status", "A, B, Married, D, E", "UK", None, None),
        ("favourite_colour", "Single, Married", "UK", None, None),
    ],
)  # fmt: skip
def test_usual_questions_beyond_sex_and_age(name, answers, country, shares, whose):
    labels = tuple(answers.split(", "))
    found = FormQuestion("q1", "closed", len(labels), name, labels=labels).usual_shares({}, country)
    assert (found and found[0]) == (None if shares is None else pytest.approx(list(shares), abs=0.001))
    assert found is None or f"people of {whose}" in found[1].replace("the ", "")


def test_shares_of_usual_questions_add_up():
    tables = tomllib.loads(resources.files("shoal.forms").joinpath("usual.toml").read_text(encoding="utf-8"))
    names = set(tables.pop("people"))
    for table in tables.values():
        assert set(table["shares"]) <= names
        for place, shares in table["shares"].items():
            assert 0.9 < sum(shares.values()) - shares.get("hispanic", 0) <= 1.0001, place
            assert set(shares) <= set(table.get("answers", shares))


def test_american_shares_of_usual_questions_are_those_of_the_survey(shared_data):
    tables = tomllib.loads(resources.files("shoal.forms").joinpath("usual.toml").read_text(encoding="utf-8"))
    with gzip.open(shared_data / "atus_cran" / "atus_2003_2016_respondents.csv.gz", "rt", encoding="utf-8") as source:
        rows = list(csv.DictReader(source))

    def share(column, *values):
        kept = [row[column] for row in rows if row[column]]
        return sum(x in values for x in kept) / len(kept)

    us = {name: table["shares"]["US"] for name, table in tables.items() if "US" in table.get("shares", ())}
    assert us["marital"]["married"] == pytest.approx(share("marital", "married"), abs=1e-4)
    assert us["marital"]["single"] == pytest.approx(share("marital", "never married"), abs=1e-4)
    assert us["education"]["short"] == pytest.approx(share("edu", "some college", "associate degree"), abs=1e-4)
    assert us["working"]["yes"] == pytest.approx(share("labor_status", "employed-at work", "employed-absent"), abs=1e-4)
    assert us["race"]["black"] == pytest.approx(share("race", "Black only"), abs=1e-4)
    assert us["hispanic"]["yes"] == pytest.approx(share("hispanic", "yes"), abs=1e-4)
    assert us["born"]["abroad"] == pytest.approx(share("country_born", "non-US"), abs=1e-4)
    assert us["housing"]["rent"] == pytest.approx(share("home_type", "rent"), abs=1e-4)
    assert us["household"]["2"] == pytest.approx(share("hh_size", "2"), abs=1e-4)
    assert us["citizen"]["no"] == pytest.approx(share("citizen", "no"), abs=1e-4)


def test_of_boxes_to_tick_hardly_anybody_ticks_several():
    race = FormQuestion("race", "several", 3, "Race", labels=("White", "Black or African American", "Asian"))
    shares, whose = race.usual_shares({}, "US")
    assert len(shares) == 8
    assert sum(shares) == pytest.approx(1)
    assert shares[1] > 0.8
    assert shares[0] + shares[3] + shares[5] + shares[6] + shares[7] == pytest.approx(0.01)
    assert "United States" in whose


def test_a_form_of_usual_questions_says_what_to_expect_and_that_it_is_a_guess(tmp_path):
    """The data dictionary of a study: race, sex and origin. Equally likely answers would make 68 % unique."""
    file = tmp_path / "d.csv"
    race = "1, American Indian | 2, Asian | 3, Black | 4, Hispanic or Latino | 5, Pacific Islander | 6, White | 99, Unknown"
    sex = "1, Cis Female | 2, Trans Female | 3, Cis Male | 4, Trans Male | 5, Non-binary"
    file.write_text(
        HEAD + f'gender,f,,radio,Gender,"{sex}",,,,,,\nrace,f,,checkbox,Race,"{race}",,,,,,\n'
        'ethnicity,f,,radio,Ethnicity,"1, Hispanic or Latino | 2, Not Hispanic or Latino",,,,,,\n',
        encoding="utf-8",
    )
    m = questionnaire(file, respondents=500, population="US").meter()
    assert (m.verdict, m.unique.grade) == ("not known", "C")
    assert m.unique.high > 0.6, "the range holds for any shares"
    assert 0.02 < m.unique.value < 0.04
    assert m.as_guessed[0] <= m.unique.value <= m.as_guessed[1] < 0.08
    assert "answers had the shares noted below" in m.sentence
    assert "a pilot of about" in m.would_tell
    notes = " ".join(questionnaire(file, respondents=500, population="US").notes)
    assert "race, ethnicity: shares of people of the United States (time use survey, 2003-2016), a guess" in notes


def test_answers_listed_in_plain_yaml_have_the_usual_shares():
    asked = {
        "marital": {"answers": ["Single", "Married", "Widowed"], "text": "Marital status"},
        "colour": {"answers": ["red", "green"]},
        "sex": {"answers": ["female", "male"]},
    }
    q = from_mapping({"population": 1000, "respondents": 100, "questions": asked}, resolve=resolver(""))
    assert {n: x.source for n, x in q.questions.items()} == {"marital": "guess", "colour": "uniform", "sex": "guess"}
    assert q.questions["marital"].labels == ("Single", "Married", "Widowed")
    assert q.questions["marital"].p[1] > 0.5
    assert any(note.startswith("marital: shares of people of England and Wales") for note in q.notes)
    assert q.meter().as_guessed is None, "nobody guessed the shares of the colours"


@pytest.mark.parametrize("seed", range(6))
def test_the_range_with_guessed_shares_holds_for_every_dependence(seed):
    """Joint tables with these margins, of many kinds, counted cell by cell."""
    rng = np.random.default_rng(seed)
    people = int(rng.integers(10, 400))
    margins = [rng.dirichlet(np.full(int(rng.integers(2, 6)), 0.8)) for _ in range(3)]
    q = Questionnaire(population=10**6, respondents=people)
    for i, p in enumerate(margins):
        q.add(f"q{i}", shares=p, source="guess")
    low, high = q.meter().as_guessed
    for kind in range(30):
        joint = rng.gamma(0.05 + 0.1 * kind, size=[len(p) for p in margins]) + 1e-12
        for _ in range(200):
            for axis, p in enumerate(margins):
                others = tuple(a for a in range(3) if a != axis)
                joint *= np.expand_dims(p / joint.sum(axis=others), others)
        share = float((joint * (1 - np.minimum(joint, 1)) ** (people - 1)).sum())
        assert low - 1e-6 <= share <= high + 1e-6


def test_a_list_without_choices_is_named_and_the_rest_is_read(tmp_path, capsys):
    survey = (*SURVEY[:3], ("select_multiple cattle", "livestock", "Which animals?"), ("select_one yn", "paid", "Paid?"))
    path = workbook(tmp_path / "f.xlsx", survey, CHOICES)
    form = read_form(path)
    assert [q.name for q in form._closed] == ["smokes", "age", "paid"]
    assert {f.question: f.kind for f in form.flags} == {"livestock": "amount"}
    assert form.notes == ("choices that are not in the file, so that how many there are is not known: livestock",)
    with pytest.raises(SystemExit):
        main(["design", str(path), "--group", "100"])
    assert "note: choices that are not in the file" in capsys.readouterr().out


def test_a_question_in_parts_is_named_once(tmp_path, capsys):
    listed = (*(("crops", f"c{i}") for i in range(40)), *(("sexes", x) for x in ("Male", "Female")))
    survey = (
        SURVEY[0],
        ("select_multiple crops", "crops", "Which crops were grown?"),
        SURVEY[2],
        ("select_one sexes", "sex", "Your sex?"),
        ("integer", "household_size", "How many people live in your household?", ". >= 1 and . <= 12"),
    )
    path = workbook(tmp_path / "f.xlsx", survey, (*CHOICES, *listed))
    q = questionnaire(path, respondents=500, population="Kenya")
    assert list(q.questions)[:3] == ["crops (1 of 3)", "crops (2 of 3)", "crops (3 of 3)"]
    meter = q.meter()
    assert meter.matters == ("crops", "age", "household_size")
    assert meter.by_these > 0.99
    assert not any(sum(name.startswith("crops") for name in names) > 1 for names, _ in (*meter.pairs, *meter.triples))
    assert "(1 of 3)" not in meter.sentence
    with pytest.raises(SystemExit):
        main(["design", str(path), "--group", "500", "--population", "Kenya"])
    assert "\n  crops: Which crops were grown?\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "taking_part"),
    [
        ("moud", "Have you been prescribed and taken medication for this, so that [street use is excluded]?", False),
        ("manual_exclude", "A field for records that were found to need to be left out of it by hand", True),
        ("q7", "Exclude this record?", True),
        ("q8", "After reading all of the above, do you give your informed consent to be part of it?", True),
    ],
)
def test_a_long_text_that_excludes_something_is_not_about_taking_part(name, text, taking_part):
    assert FormQuestion(name, "closed", 2, text=text).about_taking_part is taking_part


MUCH = ("Not at all", "A little bit", "Moderately", "Quite a bit", "Extremely")
AGREE = ("Very strongly disagree", "Strongly disagree", "Mildly disagree", "Neutral", "Mildly agree", "Strongly agree")


@pytest.mark.parametrize(
    ("name", "text", "labels", "role"),
    [
        ("mspss3", "I get the help and support I need from my family.", AGREE, "sensitive"),
        ("pcl1", "Repeated and disturbing memories of the stressful experience at work?", MUCH, "sensitive"),
        ("roc4", "This change will improve the efficiency of our organization.", AGREE, "sensitive"),
        ("edu1", "What is the highest level of school that you finished?", ("Primary", "Secondary", "University"), "quasi"),
        ("reg2", "In which region of the country do you live now?", ("North", "South", "West"), "quasi"),
        ("hcw", "Is the patient a healthcare worker?", ("No", "Yes", "Unknown"), "quasi"),
    ],
)
def test_a_rated_statement_is_an_opinion_whatever_it_speaks_of(name, text, labels, role):
    form = Form((FormQuestion(name, "closed", len(labels), text=text, labels=labels),), "REDCap")
    assert form.roles[name].value == role
