"""Archives of other systems: LimeSurvey's .lsa and ARX's .deid, made here as those programs make them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyreadstat
import pytest

import shoal
from shoal.errors import UnreadableError
from shoal.systems import folder, from_arx, from_limesurvey, limesurvey

LSS = """<document><surveys><rows><row><sid>77</sid></row></rows></surveys><questions><rows>
<row><qid>1</qid><gid>3</gid><parent_qid>0</parent_qid><type>O</type><title>job</title></row>
<row><qid>12</qid><gid>3</gid><parent_qid>0</parent_qid><type>P</type><title>pets</title><other>Y</other></row>
<row><qid>2</qid><gid>3</gid><parent_qid>0</parent_qid><type>:</type><title>grid</title></row>
<row><qid>5</qid><gid>3</gid><parent_qid>0</parent_qid><type>;</type><title>words</title></row>
<row><qid>4</qid><gid>3</gid><parent_qid>0</parent_qid><type>G</type><title>sex</title></row></rows></questions>
<subquestions><rows><row><qid>20</qid><parent_qid>12</parent_qid><title>3</title></row>
<row><qid>21</qid><parent_qid>2</parent_qid><title>A</title><scale_id>0</scale_id></row>
<row><qid>22</qid><parent_qid>2</parent_qid><title>B</title><scale_id>1</scale_id></row>
<row><qid>23</qid><parent_qid>5</parent_qid><title>A</title><scale_id>0</scale_id></row>
<row><qid>24</qid><parent_qid>5</parent_qid><title>B</title><scale_id>1</scale_id></row></rows></subquestions>
<answers><rows><row><aid>7</aid><qid>1</qid><code>A1</code></row></rows></answers>
<answer_l10ns><rows><row><aid>7</aid><answer>Farmer</answer></row></rows></answer_l10ns></document>"""
FREE = ["77X3X1comment", "77X3X123comment", "77X3X12other", "77X3X12othercomment", "77X3X5A_B", "77X3X99secret"]


def responses(n: int) -> str:
    rows = []
    for i in range(n):
        cells = {"id": i + 1, "token": "canary", "_77X3X1": "A1", "_77X3X123": "Y", "_77X3X2A_B": i % 3, "_77X3X4": "FM"[i % 2]}
        cells |= {f"_{name}": "canary" for name in FREE}
        rows.append("<row>" + "".join(f"<{tag}><![CDATA[{text}]]></{tag}>" for tag, text in cells.items()) + "</row>")
    return f"<document><responses><rows>{''.join(rows)}</rows></responses></document>"


def zipped(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    return path


def survey(path: Path, answers: str) -> Path:
    tokens = "<document><tokens><rows><row><email>canary</email></row></rows></tokens></document>"
    return zipped(path, **{"survey_77.lss": LSS, "survey_77_responses.lsr": answers, "survey_77_tokens.lst": tokens})


class TestLimesurveyArchives:
    def test_answers_arrive_under_their_questions_and_free_text_does_not(self, tmp_path: Path) -> None:
        made = survey(tmp_path / "a.lsa", responses(40))
        found = from_limesurvey(made, tmp_path / "out")
        frame, about = pyreadstat.read_sav(str(tmp_path / "out" / "data.sav"))
        assert list(frame.columns) == ["id", "job", "pets_3_", "grid_A_B_", "sex"]
        assert frame["grid_A_B_"].tolist()[:4] == [0, 1, 2, 0]
        assert about.variable_value_labels["job"] == {"A1": "Farmer"}
        assert b"canary" not in (tmp_path / "out" / "data.sav").read_bytes()
        assert found.tables == {"data": 40}
        assert found.left["columns of free text or files"] == 5
        assert found.left[limesurvey.UNEXPLAINED] == 1

    def test_a_folder_with_an_archive(self, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        survey(tmp_path / "in" / "a.lsa", responses(20))
        assert from_limesurvey(tmp_path / "in", tmp_path / "out").tables == {"data": 20}

    def test_comments_of_an_export_stay_behind_too(self) -> None:
        left = {v.name for v in limesurvey.variables(LSS.encode()) if v.left}
        assert left == {
            *limesurvey.OWN, "job[comment]", "pets[3comment]", "pets[other]", "pets[othercomment]", "words[A_B]",
        }  # fmt: skip

    def test_what_is_no_archive_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "b.lsa").write_bytes(b"no zip")
        with pytest.raises(UnreadableError, match="no archive"):
            from_limesurvey(tmp_path / "b.lsa", tmp_path / "out")
        with pytest.raises(UnreadableError, match="no responses"):
            from_limesurvey(survey(tmp_path / "c.lsa", responses(0)), tmp_path / "out")
        bomb = '<!DOCTYPE x [<!ENTITY a "b">]><document/>'
        with pytest.raises(UnreadableError, match="types of its own"):
            from_limesurvey(survey(tmp_path / "d.lsa", bomb), tmp_path / "out")
        with pytest.raises(UnreadableError, match="0 files that could be its responses"):
            from_limesurvey(zipped(tmp_path / "e.lsa", **{"s.lss": LSS}), tmp_path / "out")
        monkeypatch.setattr(folder, "MOST", len(LSS) - 1)
        with pytest.raises(UnreadableError, match="larger than"):
            from_limesurvey(survey(tmp_path / "f.lsa", responses(1)), tmp_path / "out")
        assert not (tmp_path / "out").exists()


def attribute(name: str, kind: str, more: str = "") -> str:
    return f"<assigment><name>{name}</name><type>{kind}</type><datatype>String</datatype>{more}</assigment>"


DEFINITION = (
    "<definition>"
    + attribute("name", "IDENTIFYING_ATTRIBUTE")
    + attribute("age", "QUASI_IDENTIFYING_ATTRIBUTE", "<ref>hierarchies/age.csv</ref><min>1</min><max>All</max>")
    + attribute("sex", "QUASI_IDENTIFYING_ATTRIBUTE")
    + attribute("ill: ness", "SENSITIVE_ATTRIBUTE")
    + attribute("note", "INSENSITIVE_ATTRIBUTE")
    + "</definition>"
)
CONFIG = """<config><relativeMaxOutliers>0.04</relativeMaxOutliers><criteria><criterion>4-anonymity</criterion>
<criterion>distinct-2-diversity for attribute 'ill: ness'</criterion>
<criterion>0.2-closeness for attribute 'ill: ness'</criterion></criteria></config>"""


def project(path: Path, **files: str) -> Path:
    rows = "".join(f"N{i};{20 + i % 4};{'fm'[i % 2]};{'ab'[i // 4 % 2]};x\n" for i in range(80))
    held = {
        "metadata.xml": "<metadata/>",
        "project.dat": "java",
        "data/input.csv": "name;age;sex;ill: ness;note\n" + rows,
        "input/definition.xml": DEFINITION,
        "input/config.xml": CONFIG,
        "input/hierarchies/age.csv": "20;20-21;*\n21;20-21;*\n22;22-23;*\n23;22-23;*\n",
    }
    return zipped(path, **{name: text for name, text in (held | files).items() if text})


class TestArxProjects:
    def test_roles_hierarchies_and_models_become_a_policy_that_runs(self, tmp_path: Path) -> None:
        found = from_arx(project(tmp_path / "p.deid"), tmp_path / "out")
        assert found.to_json() == {
            "tables": {"data": 80},
            "left": {"privacy models that this draft does not carry over: add them by hand": 1},
        }
        release = shoal.anonymize(tmp_path / "out" / "data.csv", tmp_path / "out" / "policy.yml")
        frame = release.to_pandas()
        assert set(frame.columns) == {"age", "sex", "ill: ness", "note"}
        assert set(frame["age"]) <= {"20-21", "22-23", "*"}  # never below the least level
        assert release.k >= 4
        assert frame.groupby(["age", "sex"])["ill: ness"].nunique().min() >= 2
        assert 'suppress": 0.04' in (tmp_path / "out" / "policy.yml").read_text()

    def test_without_models_the_k_that_is_asked_for(self, tmp_path: Path) -> None:
        from_arx(project(tmp_path / "p.deid", **{"input/config.xml": ""}), tmp_path / "out", k=7)
        assert 'require: {"k": 7}' in (tmp_path / "out" / "policy.yml").read_text()

    def test_projects_that_are_none_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnreadableError, match="not an ARX project"):
            from_arx(project(tmp_path / "a.deid", **{"input/definition.xml": ""}), tmp_path / "out")
        with pytest.raises(UnreadableError, match="type that is not known"):
            from_arx(
                project(tmp_path / "b.deid", **{"input/definition.xml": DEFINITION.replace("INSENSITIVE_", "X_")}),
                tmp_path / "out",
            )
        with pytest.raises(UnreadableError, match="does not have"):
            from_arx(project(tmp_path / "c.deid", **{"data/input.csv": "age;sex\n1;f\n"}), tmp_path / "out")
        with pytest.raises(UnreadableError, match="no archive"):
            from_arx(tmp_path / "none.deid", tmp_path / "out")
        assert not (tmp_path / "out").exists()
