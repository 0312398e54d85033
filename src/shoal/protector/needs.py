"""Where does a process need identity? A short questionnaire, and for each process of a system what serves instead.

After the study of the Registratiekamer (1995): of authorisation, identification, access control, audit and accounting, a
conventional system uses identity in all; a system that protects privacy sometimes in the first and the last, and else not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from shoal.errors import UsageError, nearest

QUESTIONS: dict[str, dict[str, str]] = {
    "authorisation": {
        "personal": "Does the right follow from who somebody is (age, residence, a licence), and not from a payment?",
        "checked_once": "Is it enough to check that once, at the beginning?",
    },
    "identification": {
        "returning": "Must a user who comes back be recognised as the same?",
        "elsewhere": "Must another service recognise the same user too?",
    },
    "access": {"by_role": "Does access follow from a role or function, no matter who has it?"},
    "audit": {"answerable": "May somebody have to answer for what was done?"},
    "accounting": {
        "billed": "Is something billed after it was used?",
        "defaulters": "Must somebody who does not pay be found?",
    },
}
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
        for name, words in questions.items():
            lines += [f"  # {words}", f"  {name}:"]
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
    return [
        _authorisation(**details["authorisation"]),
        _identification(**details["identification"]),
        _access(**details["access"]),
        _audit(**details["audit"]),
        _accounting(**details["accounting"]),
    ]


def _answers(process: str, given: Any) -> dict[str, bool]:
    asked = QUESTIONS[process]
    if not isinstance(given, Mapping):
        raise UsageError(f"the questions about {process} are not answered.", hint="`shoal vault plan` prints them.")
    if strange := sorted(set(given) - set(asked), key=str):
        raise UsageError(f"{process}: question '{strange[0]}' does not exist.", hint=_close(str(strange[0]), asked))
    details = {name: _YES_NO.get(str(given.get(name)).lower()) for name in asked}
    if open_questions := [name for name, answer in details.items() if answer is None]:
        raise UsageError(f"{process}: '{open_questions[0]}' is answered by yes or no.", hint=asked[open_questions[0]])
    return {name: bool(answer) for name, answer in details.items()}


def _close(word: str, options: Mapping[str, Any]) -> str:
    found = nearest(word, tuple(options))
    return f"Did you mean '{found}'?" if found else f"Known: {', '.join(options)}."


def _authorisation(*, personal: bool, checked_once: bool) -> Need:
    if not personal:
        use = "A pseudonym for each transaction: the right is in what is shown, not in who shows it."
        return Need("authorisation", NO, use, "shoal vault domain add rights --scope transaction")
    if checked_once:
        use = "The person is checked once and registers a pseudonym made by herself; from then on she proves that it is hers."
        return Need("authorisation", ONCE, use, "shoal vault domain add rights --kind self-generated")
    use = "A pseudonym; who may check the person asks for the identity, and another person approves."
    return Need("authorisation", CASES, use, "shoal vault domain add rights")


def _identification(*, returning: bool, elsewhere: bool) -> Need:
    if not returning and not elsewhere:
        use = "A pseudonym for each visit: two visits cannot be connected."
        return Need("identification", NO, use, "shoal vault domain add visits --scope transaction")
    if not elsewhere:
        use = "One pseudonym of the person in this service alone."
        return Need("identification", NO, use, "shoal vault domain add users")
    use = "A domain for each service, and translation between the two that need it: nobody else can join them."
    return Need(
        "identification",
        NO,
        use,
        "shoal vault domain add users; shoal vault domain add other; shoal vault domain allow users other",
    )


def _access(*, by_role: bool) -> Need:
    if by_role:
        use = "Role pseudonyms: the same person is somebody else in another role."
        return Need("access", NO, use, "shoal vault domain add access --scope role")
    return Need("access", NO, "The pseudonym of identification; access lists hold pseudonyms.", "")


def _audit(*, answerable: bool) -> Need:
    if answerable:
        use = "Logs hold pseudonyms; who looks into an incident asks for the identity, and another person approves."
        return Need("audit", CASES, use, "shoal vault domain add log; … | shoal vault filter --domain log --field user")
    use = "Logs hold pseudonyms without a way back: enough to see patterns."
    return Need("audit", NO, use, "shoal vault domain add log --kind keyed; … | shoal vault filter --domain log --field user")


def _accounting(*, billed: bool, defaulters: bool) -> Need:
    if not billed:
        return Need("accounting", NO, "What is paid beforehand needs no account of a person.", "")
    command = "shoal vault domain add bills --scope relationship"
    if not defaulters:
        use = "A pseudonym for each business relation: bills of two firms cannot be joined."
        return Need("accounting", NO, use, command)
    use = "A pseudonym for each business relation; for who does not pay, identity is asked for, and another person approves."
    return Need("accounting", CASES, use, command)
