"""Forms of other tools as questionnaires: what counts, what is flagged, and that nothing is understated."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from shoal.cli import main
from shoal.errors import PolicyError, ShoalError, UnreadableError, UsageError
from shoal.forms import FormQuestion, read_form
from shoal.forms.files import from_mapping, read_questionnaire

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
CLOSED = {"smokes": 2, "age": 80, "pets": 2**3 + 1}
FLAGS = {"home": "place", "comments": "text", "surname": "name", "device": "name", "visit_day": "date"}


def xlsx(path: Path) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    for sheet, rows in ((book.active, SURVEY), (book.create_sheet("choices"), CHOICES)):
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
    assert {n: s["values"] for n, s in form.entries()} == {"sex": 3, "age": 80, "langs": 16, "smokes": 3, "pain": 101}
    assert form.questions[1].text == "Sex"
    flags = {f.question: f.kind for f in form.flags}
    assert flags == {
        "record_id": "name",
        "height": "text",
        "ward": "name",
        "story": "text",
        "born": "date",
        "scan": "file",
    }
    with pytest.raises(SystemExit) as stop:
        main(["design", str(path), "--population", "5000", "--respondents", "200", "--json"])
    assert stop.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["value"] == form.questionnaire(population=5000, respondents=200).meter().unique.value
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
    assert {f.question: f.kind for f in form.flags} == {"where": "place", "why": "text", "weight": "text"}


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
    many = FormQuestion("pets", "several", 17)
    assert [(n, s["values"]) for n, s in many.entries] == [("pets (1 of 2)", 2**16), ("pets (2 of 2)", 2)]
    assert [(n, s["values"]) for n, s in FormQuestion("pets", "several", 16).entries] == [("pets", 2**16)]
    assert FormQuestion("rank", "ranked", 9).entries[0][1]["values"] == 362_880
    assert FormQuestion("rank", "ranked", 10).entries == []
    assert FormQuestion("age", "number", 80, some=True).entries == [("age", {"values": 81})]
    assert FormQuestion("phone", "number", 80).flag.kind == "name"
    assert FormQuestion("name of your ward", "closed", 4).flag is None
