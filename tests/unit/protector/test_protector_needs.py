"""The questionnaire: every combination of answers has a plan, and identity is used no more than the study of 1995 allows."""

from __future__ import annotations

import itertools
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from protector_support import House
from shoal.cli import main
from shoal.errors import UsageError
from shoal.protector.needs import CASES, NO, ONCE, QUESTIONS, plan, questionnaire
from shoal.protector.pseudonyms.domains import KINDS, SCOPES

NAMES = [(process, name) for process, questions in QUESTIONS.items() for name in questions]
EVERY = [
    {p: {n: told for (q, n), told in zip(NAMES, chosen, strict=True) if q == p} for p in QUESTIONS}
    for chosen in itertools.product((False, True), repeat=len(NAMES))
]


def test_every_answer_has_a_plan_and_only_some_processes_ever_need_identity() -> None:
    for answers in EVERY:
        found = {need.process: need for need in plan(answers)}
        assert list(found) == list(QUESTIONS)
        assert found["identification"].identity == found["access"].identity == NO
        rights, bills = answers["authorisation"], answers["accounting"]
        wanted = (ONCE if rights["checked_once"] else CASES) if rights["personal"] else NO
        assert found["authorisation"].identity == wanted
        assert found["accounting"].identity == (CASES if bills["billed"] and bills["defaulters"] else NO)
        assert found["audit"].identity == (CASES if answers["audit"]["answerable"] else NO)
        assert found["identification"].command.count("domain add") == (2 if answers["identification"]["elsewhere"] else 1)


def test_every_domain_it_names_can_be_made(sqlite_house: House) -> None:
    commands = {part.strip() for a in EVERY for need in plan(a) for part in need.command.split(";") if "domain add" in part}
    for number, command in enumerate(sorted(commands)):
        words = shlex.split(command)
        settings = dict(zip(words[5::2], words[6::2], strict=True))
        told = {name.removeprefix("--"): value for name, value in settings.items()}
        assert set(told) <= {"kind", "scope"}
        made = sqlite_house.owner.create_domain(f"{words[4]}{number}", **told)  # type: ignore[arg-type]
        assert made.kind in KINDS
        assert made.scope in SCOPES
    assert len(commands) == 10


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"audit": {}}, "answerable"),
        ({"audit": {"answerable": "perhaps"}}, "yes or no"),
        ({"audit": {"answerable": 1}}, "yes or no"),
        ({"audit": {"answerable": True, "answreable": True}}, "does not exist"),
        ({"audit": None}, "not answered"),
        ({"audits": {}}, "not asked about"),
    ],
)
def test_unclear_answers_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan({**EVERY[0], **change})


def test_the_printed_questionnaire_is_filled_in_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["vault", "plan", *words])
        return int(ended.value.code or 0), capsys.readouterr().out

    code, text = run()
    assert (code, text) == (0, questionnaire())
    file = tmp_path / "answers.yml"
    file.write_text(text)
    assert run(str(file))[0] == 2, "nothing is answered yet"
    file.write_text(
        "\n".join(line + " yes" if line.endswith(":") and line.startswith("  ") else line for line in text.splitlines())
    )
    code, answer = run(str(file), "--json")
    assert json.loads(answer) == {"needs": [need.to_json() for need in plan(EVERY[-1])]}
    code, answer = run(str(file))
    assert code == 0
    assert "named cases" in answer
    assert run(str(tmp_path / "none.yml"))[0] == 2
