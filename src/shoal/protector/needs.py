"""Where does a process need identity? A short questionnaire, and for each process of a system what serves instead.

After the study of the Registratiekamer (1995): of authorisation, identification, access control, audit and accounting, a
conventional system uses identity in all; a system that protects privacy sometimes in the first and the last, and else not.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from shoal.errors import UsageError, suggest

_TABLE: dict[str, Any] = tomllib.loads(files(__package__).joinpath("needs.toml").read_text(encoding="utf-8"))
QUESTIONS: dict[str, dict[str, str]] = {process: found["questions"] for process, found in _TABLE.items()}
"""Questions by process; each is answered by yes or no."""

_YES_NO = {"yes": True, "true": True, "no": False, "false": False}
NO, ONCE, CASES = "no", "once, at the beginning", "in named cases"


@dataclass(frozen=True)
class Need:
    """Whether a process needs identity (:data:`NO`, :data:`ONCE`, :data:`CASES`), what serves, and how to make it."""

    process: str
    identity: str
    use: str
    command: str

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def questionnaire() -> str:
    """The questions as a YAML file to fill in."""
    lines = ["# Answer each with yes or no, then: shoal vault plan THIS-FILE"]
    for process, questions in QUESTIONS.items():
        lines.append(f"{process}:")
        for name, text in questions.items():
            lines += [f"  # {text}", f"  {name}:"]
    return "\n".join(lines) + "\n"


def plan(answers: Mapping[str, Any]) -> list[Need]:
    """What each process needs, by the answers; a missing, unknown or unclear one is refused.

    >>> answers = {p: dict.fromkeys(q, False) for p, q in QUESTIONS.items()}
    >>> {need.identity for need in plan(answers)}
    {'no'}
    """
    details = {process: _answers(process, answers.get(process)) for process in QUESTIONS}
    if strange := sorted(set(answers) - set(QUESTIONS), key=str):
        raise UsageError(f"process '{strange[0]}' is not asked about.", hint=_close(str(strange[0]), QUESTIONS))
    needs = []
    for process, given in details.items():  # the first entry of the table whose answers are those given
        need = next(n for n in _TABLE[process]["needs"] if n.get("answers", {}).items() <= given.items())
        needs.append(Need(process, need["identity"], need["use"], need["command"]))
    return needs


def _answers(process: str, given: Any) -> dict[str, bool]:
    questions = QUESTIONS[process]
    if not isinstance(given, Mapping):
        raise UsageError(f"the questions about {process} are not answered.", hint="`shoal vault plan` prints them.")
    if strange := sorted(set(given) - set(questions), key=str):
        raise UsageError(f"{process}: question '{strange[0]}' does not exist.", hint=_close(str(strange[0]), questions))
    details = {name: _YES_NO.get(str(given.get(name)).lower()) for name in questions}
    if open_questions := [name for name, answer in details.items() if answer is None]:
        raise UsageError(f"{process}: '{open_questions[0]}' is answered by yes or no.", hint=questions[open_questions[0]])
    return {name: bool(answer) for name, answer in details.items()}


def _close(word: str, options: Mapping[str, Any]) -> str:
    return suggest(word, options) or f"Known: {', '.join(options)}."
