"""Data with a codebook: labels arrive, what names a person does not, and the codebook of a release says what was done."""

from __future__ import annotations

import csv
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pyreadstat
import pytest

import shoal
from shoal.cli import main
from shoal.errors import OutputError, TamperError, UnreadableError
from shoal.systems import codebook, ddi, from_ddi, from_limesurvey, from_redcap, limesurvey, to_ddi, to_signing_page
from shoal.systems.codebook import Variable, only, spss_names

HEAD = (
    "Variable / Field Name,Form Name,Field Type,Field Label,"
    '"Choices, Calculations, OR Slider Labels",Text Validation Type OR Show Slider Number,Identifier?'
)
FIELDS = [
    ("record_id", "base", "text", "Number", "", "", ""),
    ("surname", "base", "text", "Surname", "", "", "y"),
    ("mail", "base", "text", "E-mail", "", "email", ""),
    ("phone", "base", "text", "Telephone", "", "phone_usa", ""),
    ("mrn", "base", "text", "Record", "", "mrn_10d", ""),
    ("zip", "base", "text", "<b>Postcode</b>", "", "zipcode", ""),
    ("sex", "base", "radio", "Sex", "1, male | 2, female | -9, not told", "", ""),
    ("smokes", "base", "yesno", "Smokes", "", "", ""),
    ("signs", "visit", "checkbox", "Signs", "1, cough | -2, fever, high", "", ""),
    ("words", "visit", "notes", "Remarks", "", "", ""),
    ("scan", "visit", "file", "Scan", "", "", ""),
]
LEFT = {"surname", "mail", "phone", "mrn", "words", "scan"}


def write(path: Path, rows: list[list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    lines = [",".join(f'"{cell}"' for cell in field) for field in FIELDS]
    (folder / "dictionary.csv").write_text("\ufeff" + "\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    names = ["record_id", "surname", "mail", "phone", "mrn", "zip", "sex", "smokes", "signs___1", "signs____2", "words", "scan"]
    rows = [[i + 1, "canary", "canary@x.org", "canary", "canary", f"0{1200 + i % 3}", 1 + i % 2, i % 2, 0, 1, "canary", "canary"]
            for i in range(60)]  # fmt: skip
    write(folder / "data.csv", [names, *rows])
    return folder


class TestRedcap:
    def test_labels_arrive_and_what_names_a_person_does_not(self, project, tmp_path):
        found = from_redcap(project, tmp_path / "out", k=4)
        frame, about = pyreadstat.read_sav(str(tmp_path / "out" / "data.sav"))
        assert not LEFT & set(frame.columns)
        assert "canary" not in (tmp_path / "out" / "data.sav").read_bytes().decode("latin-1")
        assert frame["zip"].tolist()[:3] == ["01200", "01201", "01202"]  # the zero in front stays
        assert about.variable_value_labels["sex"] == {1.0: "male", 2.0: "female", -9.0: "not told"}
        assert about.variable_value_labels["smokes"] == {1.0: "Yes", 0.0: "No"}
        assert about.variable_value_labels["signs____2"] == {1.0: "Checked", 0.0: "Unchecked"}
        labels = dict(zip(about.column_names, about.column_labels, strict=True))
        assert (labels["zip"], labels["signs____2"]) == ("Postcode", "Signs: fever, high")
        assert found.tables == {"data": 60}
        assert found.left == {
            "columns that name a person": 4,
            "columns of free text or files": 2,
            "columns of the codebook that are not in the data": 2,  # both …_complete
        }
        assert "require: {k: 4}   # everybody is like at least 3 others" in (tmp_path / "out" / "policy.yml").read_text()

    def test_the_draft_makes_a_release_with_a_codebook(self, project, tmp_path, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["import", "redcap", str(project), "--out", str(tmp_path / "out")])
        assert ended.value.code in (0, None)
        assert "Not imported: columns that name a person (4)." in capsys.readouterr().out
        release = shoal.anonymize(tmp_path / "out" / "data.sav", tmp_path / "out" / "policy.yml", format="spss")
        release.write(tmp_path / "release")
        with pytest.raises(SystemExit):
            main(["export", "ddi", str(tmp_path / "release"), "--out", str(tmp_path / "book.xml")])
        told = {v.name: v for v in ddi.variables((tmp_path / "book.xml").read_bytes())}
        assert "record_id" not in told
        assert told["sex"].label == "Sex"
        root = ElementTree.parse(tmp_path / "book.xml").getroot()
        space = {"d": ddi.NAMESPACE}
        assert root.find(".//d:confDec", space).text.startswith(f"k = {release.k:,}. Every class has at least 5 members.")
        notes = {v.get("name"): v.find("d:notes", space).text for v in root.iterfind(".//d:var", space)}
        treated = {c.name: c.treatment for c in release.certificate.columns}
        assert notes == {name: treated[name] for name in notes}
        with pytest.raises(OutputError, match="exists already"):
            to_ddi(tmp_path / "release", tmp_path / "book.xml")
        with pytest.raises(SystemExit):
            main(["export", "page", str(tmp_path / "release"), "--out", str(tmp_path / "page.html")])
        page = (tmp_path / "page.html").read_text()
        assert f"Every record hides among at least {release.k:,}" in page
        assert release.certificate.verdict in unescape(page)
        assert release.certificate.key.fingerprint in page
        assert all(a.sentence in unescape(page) for a in release.certificate.attacks if a.verdict == "broken")
        assert "canary" not in page

    def test_a_release_that_does_not_hold_gets_no_codebook(self, project, tmp_path):
        from_redcap(project, tmp_path / "out")
        shoal.anonymize(tmp_path / "out" / "data.sav", tmp_path / "out" / "policy.yml").write(tmp_path / "release")
        with (tmp_path / "release" / "data.csv").open("a") as file:
            file.write("\n")
        for write in (to_ddi, to_signing_page):
            with pytest.raises(TamperError, match="does not hold"):
                write(tmp_path / "release", tmp_path / "book.xml")
            assert not (tmp_path / "book.xml").exists()

    def test_a_folder_without_or_with_two_dictionaries(self, project, tmp_path):
        (project / "again.csv").write_text((project / "dictionary.csv").read_text(encoding="utf-8"), encoding="utf-8")
        with pytest.raises(UnreadableError, match="2 data dictionaries"):
            from_redcap(project, tmp_path / "out")
        with pytest.raises(UnreadableError, match="0 data dictionaries"):
            from_redcap(tmp_path / "nowhere", tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_an_export_of_another_project_is_refused(self, project, tmp_path):
        write(project / "data.csv", [["a", "b"], [1, 2]])
        with pytest.raises(UnreadableError, match=r"no column of 'data\.csv' stands in the codebook"):
            from_redcap(project, tmp_path / "out")

    @pytest.mark.parametrize(
        ("text", "choices"),
        [("1, a | 2, b, c", {"1": "a", "2": "b, c"}), ("", {}), ("no comma", {}), ("x,", {"x": ""}), (", y", {})],
    )
    def test_choices(self, text, choices):
        field = ("v", "f", "radio", "", text, "", "")
        line = ",".join(f'"{cell}"' for cell in field)
        assert codebook.variables(f"{HEAD}\n{line}\n")[0].values == choices


def test_names_are_cut_where_a_number_still_fits_behind():
    assert spss_names(["a" * 56, "a" * 57]) == ["a" * 56, "a" * 56 + "_2"]
    assert spss_names(["", "_x"]) == ["v", "v_x"]


def test_one_file_is_the_codebook_and_others_are_counted(tmp_path):
    with pytest.raises(UnreadableError, match="holds no files that could be the codebook"):
        only(tmp_path, (".xml",), "the codebook")
    (tmp_path / "a.XML").write_text("")
    assert only(tmp_path, (".xml",), "the codebook").name == "a.XML"
    (tmp_path / "b.xml").write_text("")
    with pytest.raises(UnreadableError, match="holds 2 files"):
        only(tmp_path, (".xml",), "the codebook")


BOOK = """<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
<var name="sex" nature="nominal"><labl>Sex of the
 person</labl><catgry><catValu>1</catValu><labl>male</labl></catgry>
<catgry missing="Y"><catValu>9</catValu><labl>unknown</labl></catgry></var>
<var name="weight" nature="ratio"><invalrng><item VALUE="999"/></invalrng></var><var name="town"/></dataDscr></codeBook>"""


class TestDdi:
    def test_what_a_codebook_says(self):
        sex = Variable("sex", "Sex of the person", {"1": "male", "9": "unknown"}, ["9"], "nominal")
        assert ddi.variables(BOOK.encode()) == [sex, Variable("weight", "", {}, ["999"], "scale"), Variable("town", "", {}, [])]

    def test_missing_codes_are_declared(self, tmp_path):
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "book.xml").write_text(BOOK)
        write(
            tmp_path / "in" / "data.csv",
            [["sex", "weight", "town"], *([(1, 9)[i % 2], (70, 999)[i % 2], "x"] for i in range(30))],
        )
        from_ddi(tmp_path / "in", tmp_path / "out")
        _, about = pyreadstat.read_sav(str(tmp_path / "out" / "data.sav"), user_missing=True)
        assert about.missing_ranges == {"sex": [{"lo": 9.0, "hi": 9.0}], "weight": [{"lo": 999.0, "hi": 999.0}]}
        assert about.variable_measure["weight"] == "scale"

    @pytest.mark.parametrize(
        ("raw", "words"),
        [
            (b'<!DOCTYPE x [<!ENTITY a "b">]><codeBook/>', "types of its own"),
            (b"<codeBook", "not readable XML"),
            (b"<codeBook/>", "not a DDI codebook"),
            (b'<other><var name="a"/></other>', "not a DDI codebook"),
            (BOOK.encode("utf-16"), "types of its own"),
        ],
    )
    def test_other_files_are_refused(self, raw, words):
        with pytest.raises(UnreadableError, match=words):
            ddi.variables(raw)


LSS = """<document><questions><rows>
<row><qid>1</qid><parent_qid>0</parent_qid><type>L</type><title>job</title><other>Y</other></row>
<row><qid>2</qid><parent_qid>0</parent_qid><type>M</type><title>pets</title></row>
<row><qid>3</qid><parent_qid>0</parent_qid><type>T</type><title>story</title></row>
<row><qid>4</qid><parent_qid>0</parent_qid><type>G</type><title>sex</title></row></rows></questions>
<subquestions><rows><row><qid>5</qid><parent_qid>2</parent_qid><title>SQ1</title></row></rows></subquestions>
<question_l10ns><rows><row><qid>1</qid><question>Your &lt;i&gt;job&lt;/i&gt;</question></row>
<row><qid>2</qid><question>Pets</question></row>
<row><qid>5</qid><question>Dog</question></row></rows></question_l10ns>
<answers><rows><row><aid>7</aid><qid>1</qid><code>A1</code></row></rows></answers>
<answer_l10ns><rows><row><aid>7</aid><answer>Farmer</answer></row></rows></answer_l10ns></document>"""


class TestLimesurvey:
    def test_what_a_structure_says(self):
        said = {v.name: v for v in limesurvey.variables(LSS.encode())}
        assert said["job"].values == {"A1": "Farmer"}
        assert (said["job"].label, said["pets[SQ1]"].label) == ("Your job", "Pets: Dog")
        assert said["sex"].values == {"F": "Female", "M": "Male"}
        assert {n for n, v in said.items() if v.left} == {*limesurvey.OWN, "story", "job[other]"}

    def test_responses_become_a_labelled_table(self, tmp_path):
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "survey.lss").write_text(LSS)
        names = ["id", "ipaddr", "job", "job[other]", "pets[SQ1]", "story", "sex"]
        rows = [[i, "canary", "A1", "canary", "Y" if i % 2 else "", "canary", "FM"[i % 2]] for i in range(40)]
        write(tmp_path / "in" / "responses.csv", [names, *rows])
        found = from_limesurvey(tmp_path / "in", tmp_path / "out")
        frame, about = pyreadstat.read_sav(str(tmp_path / "out" / "data.sav"))
        assert list(frame.columns) == ["id", "job", "pets_SQ1_", "sex"]
        assert about.variable_value_labels["job"] == {"A1": "Farmer"}
        assert b"canary" not in (tmp_path / "out" / "data.sav").read_bytes()
        assert found.left == {
            "columns that name a person": 1,
            "columns of free text or files": 2,
            "columns of the codebook that are not in the data": 5,
        }
